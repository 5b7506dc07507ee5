"""The page Knowledge: files as text with marks in the margin, and items with what they cost and whether they help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, suppress
from difflib import SequenceMatcher
from typing import NamedTuple
from urllib.parse import urlencode

from knowbound.config import Settings
from knowbound.core.item import Item
from knowbound.core.quality import Counts
from knowbound.core.statement import CheckedStatement, Truth
from knowbound.errors import InputError, KnowboundError
from knowbound.files import read_below
from knowbound.kms.index.database import Index
from knowbound.kms.index.entry import effective_of
from knowbound.kms.listing import ItemFilter, items_page, predecessors_of
from knowbound.kms.opening import open_quality_log
from knowbound.knowledge.lint import ITEM
from knowbound.knowledge.rules import RulesFound
from knowbound.language import say, translated
from knowbound.report.figures import rate_figure
from knowbound.report.knowledge import RuleSummary, summaries
from knowbound.review.review import SCREEN, Reviewed
from knowbound.stats.rate import Rate
from knowbound.store.data_dir import INDEX
from knowbound.store.decisions import Screens
from knowbound.text.printable import counted, estimated_tokens
from knowbound.web.pages import Asked, Shown, Studio, StudioPage

_ITEMS_OF_PAGE = 30
_MOST_LINES = 3_000  # of a file
_LONGEST_LINE = 1_000


class KnowledgeFile(NamedTuple):
    """A file in the list."""

    path: str
    statements: int
    wrong: int
    ignored: int  # rules that were violated or partly obeyed
    address: str


class MarkedLine(NamedTuple):
    """A line of a file with the marks in its margin."""

    number: int
    text: str
    wrong: tuple[CheckedStatement, ...]
    is_confirmed: bool
    rules: tuple[RuleSummary, ...]
    action: str  # address of the action that repairs the line, if there is one


class KnowledgeItem(NamedTuple):
    """An item with what is known of its use."""

    item: Item
    served: bool
    effective: float | None
    counts: Counts
    tokens: int  # of all its injections
    wrong: tuple[CheckedStatement, ...]
    replaces: tuple[str, ...]


def show(asked: Asked) -> Shown:
    """Return the list of files with one of them, or the list of items."""
    studio = asked.studio
    checked, rules = _stored_checks(studio)
    files = list(_knowledge_files(checked, rules))
    wrong = sum(statement.truth is Truth.CONTRADICTED for statement in checked)
    values = {
        "headline": _headline(checked, wrong),
        "figure": rate_figure("Contradicted", Rate(wrong, len(checked)), "statement", "") if checked else None,
        "files": files,
        "tab": "items" if "items" in asked.query else "files",
        "has_items": (studio.settings.home / INDEX).exists(),
        "items_address": "/knowledge?items=all",
    }
    if values["tab"] == "items":
        return Shown("knowledge.html", values | _item_values(asked, checked))
    return Shown("knowledge.html", values | _file_values(asked, files, checked, rules))


def _file_values(
    asked: Asked,
    files: Sequence[KnowledgeFile],
    checked: Sequence[CheckedStatement],
    rules: Sequence[RuleSummary],
) -> dict[str, object]:
    """Return the values of the tab of files: the file that the query names, else the one with the most to do."""
    wanted = asked.query.get("file", "")
    chosen = next((file for file in files if file.path == wanted), files[0] if files and not wanted else None)
    if wanted and chosen is None:
        raise InputError("no-such-path", f"{wanted} is no knowledge file of this project.")
    lines, problem = list[MarkedLine](), ""
    if chosen is not None:
        try:
            lines = list(_marked_lines(asked.studio, chosen.path, checked, rules))
        except InputError as error:
            problem = str(error.args[0])
    return {"chosen": chosen, "lines": lines, "problem": problem}


def _stored_checks(studio: Studio) -> tuple[list[CheckedStatement], list[RuleSummary]]:
    """Return the statements and rules that the newest `lint` and `rules` have stored."""
    with closing(Screens(studio.settings.home)) as screens:
        checked = screens.newest("lint", list[CheckedStatement]) or []
        rules = screens.newest("rules", RulesFound)
    return checked, summaries(rules.checks) if rules else []


def _headline(checked: Sequence[CheckedStatement], wrong: int) -> str:
    if not checked:
        return translated("No knowledge file was read yet.")
    if not wrong:
        return say("The tree contradicts none of {}.", counted(len(checked), "statement"))
    return say("The tree contradicts {}.", counted(wrong, "statement"))


def _knowledge_files(checked: Sequence[CheckedStatement], rules: Sequence[RuleSummary]) -> Iterator[KnowledgeFile]:
    """Yield the files, those with the most to do first."""
    statements = [statement for statement in checked if not statement.statement.file.startswith(ITEM)]
    total = Counter(statement.statement.file for statement in statements)
    wrong = Counter(statement.statement.file for statement in statements if statement.truth is Truth.CONTRADICTED)
    ignored = Counter(rule.rule.file for rule in rules if rule.harm > (0, 0))  # violated, reminded of, or partly obeyed
    for path in sorted(total, key=lambda path: (-wrong[path], -ignored[path], path.count("/"), path)):
        address = f"/knowledge?{urlencode({'file': path})}"
        yield KnowledgeFile(path, total[path], wrong[path], ignored[path], address)


def _marked_lines(
    studio: Studio, path: str, checked: Sequence[CheckedStatement], rules: Sequence[RuleSummary]
) -> Iterator[MarkedLine]:
    """Yield the lines of a file, with contradictions at the end of a statement and confirmations at its beginning."""
    statements = [statement for statement in checked if statement.statement.file == path]
    wrong: dict[int, list[CheckedStatement]] = {}
    confirmed = set[int]()
    for statement in statements:
        if statement.truth is Truth.CONTRADICTED:
            wrong.setdefault(statement.statement.end_line, []).append(statement)
        elif statement.truth is Truth.CONFIRMED:
            confirmed.add(statement.statement.line)
    rules_of_line: dict[int, list[RuleSummary]] = {}
    for rule in rules:
        if rule.rule.file == path and (rule.obeyed.n or rule.harm > (0, 0)):
            rules_of_line.setdefault(rule.rule.line, []).append(rule)
    actions = _repairs(studio, path)
    text = read_below(studio.settings.root, path).decode("utf-8", "replace").splitlines()
    for number, line in enumerate(text[:_MOST_LINES], 1):
        marks = (tuple(wrong.get(number, ())), number in confirmed, tuple(rules_of_line.get(number, ())))
        yield MarkedLine(number, line[:_LONGEST_LINE], *marks, action=actions.get(number, ""))


def _repairs(studio: Studio, path: str) -> dict[int, str]:
    """Return the addresses of the actions that change lines of a file, by line."""
    with closing(Screens(studio.settings.home)) as screens:
        reviewed = screens.newest(SCREEN, Reviewed)
    found = dict[int, str]()
    for id_, fix in reviewed.fixes.items() if reviewed else ():
        for patch in fix.patches:
            if patch.path == path:
                old, new = patch.before.splitlines(), patch.after.splitlines()
                changes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
                for tag, start, end, _, _ in changes:
                    if tag in ("replace", "delete"):
                        found |= {number + 1: f"/#action-{id_}" for number in range(start, end)}
    return found


# Items


def _item_values(asked: Asked, checked: Sequence[CheckedStatement]) -> dict[str, object]:
    """Return the values of the tab of items: a page of those that the filter and the words of the query select."""
    wanted, text = asked.query.get("items", ""), asked.query.get("text", "").strip()
    settings = asked.studio.settings
    filter_ = ItemFilter(wanted) if wanted in set(ItemFilter) else ItemFilter.ALL
    contradicted: dict[str, list[CheckedStatement]] = {}
    for statement in checked:
        if statement.statement.file.startswith(ITEM) and statement.truth is Truth.CONTRADICTED:
            contradicted.setdefault(statement.statement.file.removeprefix(ITEM), []).append(statement)
    shown = list[KnowledgeItem]()
    after = ""
    if (settings.home / INDEX).exists():
        with closing(Index(settings.home)) as index, index.reading() as connection:
            page = items_page(connection, filter_, text, asked.query.get("after", ""), _ITEMS_OF_PAGE)
            counts = _counts_by_item(settings, {listed.item.id for listed in page.items})
            for listed in page.items:
                item = listed.item
                of_item = counts.get(item.id, Counts())
                tokens = estimated_tokens(item.content) * (of_item.judged + of_item.unjudged)
                wrong, replaces = tuple(contradicted.get(item.id, ())), tuple(predecessors_of(connection, item.id))
                effective = effective_of(item)
                shown.append(KnowledgeItem(item, listed.served, effective, of_item, tokens, wrong, replaces))
        after = page.after
    query = {"items": filter_.value} | ({"text": text} if text else {})
    return {
        "filter": filter_,
        "filters": list(ItemFilter),
        "text": text,
        "shown": shown,
        "first": bool(asked.query.get("after")),
        "more": f"/knowledge?{urlencode(query | {'after': after})}" if after else "",
        "newest": f"/knowledge?{urlencode(query)}",
    }


def _counts_by_item(settings: Settings, items: Collection[str]) -> dict[str, Counts]:
    """Return the judged injections of these items over all days; none from a log that does not answer."""
    with suppress(KnowboundError), closing(open_quality_log(settings)) as log:
        return log.verdicts_on(items)
    return {}


PAGE = StudioPage("Knowledge", place=3, views={"/knowledge": show})
