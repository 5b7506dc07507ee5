"""Reports and help in Chinese: the catalogue has every sentence of the first two groups of verbs, and nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from msgspec import Struct
from msgspec.structs import fields

from knowbound import language
from knowbound.cli.main import BILINGUAL, VERBS, knowbound, language_of
from knowbound.report.formats import in_language
from knowbound.report.lines import FOREIGN, Span
from knowbound.report.observe import NEXT_COMMANDS, Detail, _page
from knowbound.report.sections import Column, columns
from knowbound.web.pages import studio_pages
from tests import warm_process
from tests.report_examples import everyday_report
from tests.transcripts import Transcript

SOURCE = Path(language.__file__).parent
ZH = language.catalogue("zh")
# Where sentences of the bilingual verbs are made.
MODULES = tuple(
    f"{module}.py"
    for module in (
        "report/words report/figures report/topics report/observe "
        "report/review report/knowledge "
        "report/formats/text report/formats/markdown report/formats/html stats/printing "
        "stats/rate text/printable cli/start cli/observe cli/review cli/knowledge "
        "audit/stored cli/evals/eval cli/connect web/rendering web/markdown "
        "web/app"
    ).split()
    + [f"web/pages/{page.name}" for page in studio_pages()]
)
_IN_TEMPLATE = re.compile(r"""\b(?:t|say)\((?:"([^"]+)"|'([^']+)')|counted\([^"']*"(\w+)"\)""")
# Calls whose words are not printed for people, and functions that print for programs.
_NO_WORDS = {
    "InputError",
    "UsageError",
    "fields",
    "_inside",
    "option",
    "argument",
    "compile",
    "end_agents_on_interrupt",
    "command",
}
_FOR_PROGRAMS = {"_document", "_fields", "_row", "_github", "_sarif", "_wrong_lines", "__post_init__", "_skill_fields"}
_TABLES_FOR_PROGRAMS = {"_FAMILIES", "_NAMES_OF_FAMILY", "_ITEM"}
# Verbs of these modules that speak English alone, with what they alone call.
_ENGLISH_ONLY = set(
    "init_command _set_up _own_shell _print_completion explain_command serve_command report_command export_command "
    "_write_telemetry _send _newest probe_command hook_command mcp_command statusline_command on_command off_command "
    "wrong_command eval_command find_test_set audit_command investigate_command render_team _team_lines _actions "
    "_breaking_changes".split()
)
_SENTENCE = re.compile(r"[A-Za-z]{2,} \S|[A-Za-z]{2,}[:,.]? $")
# Keys of a document, commands, and a class of HTML.
_NOT_OURS = re.compile(r"(?:[a-z_=.?()]+[\s,]+){5,}[a-z_=.?()]+$|knowbound |`?--format|entries brief")
_FIXED = re.compile(r"knowbound [\w ]+|--?\w[\w-]*|\btoken\b|sha256|DIR|ID|toolu_\w+|[a-z_]+\.[a-z_]+|claude-code")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")


def words_of(tree: ast.AST) -> Iterator[str]:
    """Yield the sentences of a module: constants that are printed, arguments of say and translated, counted nouns."""
    if isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
        if isinstance(tree, ast.FunctionDef) and tree.name in _FOR_PROGRAMS | _ENGLISH_ONLY:
            return
        has_docstring = tree.body and isinstance(tree.body[0], ast.Expr)
        for child in tree.body[1:] if has_docstring else tree.body:
            yield from words_of(child)
        return
    if isinstance(tree, ast.Assign) and ast.unparse(tree.targets[0]) in _TABLES_FOR_PROGRAMS:
        return
    if isinstance(tree, ast.JoinedStr):
        for call in (one for one in ast.walk(tree) if isinstance(one, ast.Call)):
            yield from words_of(call)
    if isinstance(tree, ast.Raise | ast.JoinedStr):
        return
    if isinstance(tree, ast.Call):
        name = getattr(tree.func, "id", getattr(tree.func, "attr", ""))
        if name in _NO_WORDS:
            return
        if name in ("say", "translated") and isinstance(tree.args[0], ast.Constant):
            yield str(tree.args[0].value)
        if name == "table" and isinstance(tree.args[0], ast.Constant):
            yield from (column for column in columns_of(str(tree.args[0].value)) if _SENTENCE.search(column))
            for part in tree.args[1:]:
                yield from words_of(part)
            return
        if name == "counted" and isinstance(tree.args[1], ast.Constant):
            yield f"{{:,}} {tree.args[1].value!s}s"
            return
    words = tree.value if isinstance(tree, ast.Constant) and isinstance(tree.value, str) else ""
    if _SENTENCE.search(words) and not _NOT_OURS.match(words):
        yield words
    for node in ast.iter_child_nodes(tree):
        yield from words_of(node)


def columns_of(names: str) -> list[str]:
    """Return the names of a table's columns."""
    return [column.name for column in columns(names)]


def sentences() -> dict[str, str]:
    """Return the sentences of the modules and of the studio's templates, each with its module."""
    found = {page.title: "web/pages" for page in studio_pages()}
    for template in sorted((SOURCE / "web" / "templates").glob("*.html")):
        for double, single, noun in _IN_TEMPLATE.findall(template.read_text("utf-8")):
            found[double or single or f"{{:,}} {noun}s"] = template.name
    for module in MODULES:
        for words in words_of(ast.parse((SOURCE / module).read_text("utf-8"))):
            found[words] = module
    return found


def help_texts() -> dict[str, str]:
    """Return every paragraph, option and heading of help in the bilingual verbs, each with its verb."""
    found = dict.fromkeys(("Usage: ", "Options", "Commands", *(line for _, line in VERBS.values())), "help")
    context = click.Context(knowbound)
    for verb in ("", *BILINGUAL):
        command = knowbound.get_command(context, verb) if verb else knowbound
        assert command is not None
        for paragraph in (command.help or "").replace("\f", "").split("\n\n"):
            block = paragraph.strip().splitlines()
            if block and block[0].strip() == "\b":
                found |= {line.rpartition("   ")[2]: verb for line in block[1:]}
            elif block:
                found[" ".join(paragraph.split())] = verb
        found |= {one.help: verb for one in command.get_params(context) if isinstance(one, click.Option) and one.help}
    return found


def test_every_sentence_has_a_translation() -> None:
    helped = help_texts()
    assert {words: where for words, where in helped.items() if words not in ZH} == {}
    missing = {words: where for words, where in sentences().items() if words not in ZH}
    in_errors_and_help = ("was never carried out", *helped)
    assert {one: where for one, where in missing.items() if not any(one in text for text in in_errors_and_help)} == {}


def test_the_catalogue_has_no_sentence_that_nothing_prints() -> None:
    constants = {
        node.value
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    constants |= {column for one in constants if "|" in one for column in columns_of(one)}
    templates = "".join(one.read_text("utf-8") for one in (SOURCE / "web" / "templates").glob("*.html"))
    constants |= {one for one in ZH if f'"{one}"' in templates or f"'{one}'" in templates}
    names = {word for one in constants for word in (one.replace("_", " "), one.replace("_", " ").lower())}
    nouns = {f"{{:,}} {one}s" for one in constants}  # of counted units
    assert sorted(set(ZH) - constants - names - nouns - set(help_texts()) - set(sentences())) == []


def test_each_translation_is_chinese_and_has_the_places_of_its_original() -> None:
    assert {english: chinese for english, chinese in ZH.items() if not is_translation(english, chinese)} == {}


def is_translation(english: str, chinese: str) -> bool:
    """Report whether a text is Chinese, or the original has nothing to translate, and both have the same places."""
    if not _CHINESE.search(chinese) and re.search("[A-Za-z]{4}", english.replace("knowbound observe", "")):
        return False
    specs = re.findall(r"\{(?:\d*)(!\w)?(:[^}]*)?\}", english)
    used = re.findall(r"\{(\d+)(!\w)?(:[^}]*)?\}", chinese)
    return sorted((int(at), *spec) for at, *spec in used) == [(at, *spec) for at, spec in enumerate(specs)]


@pytest.mark.parametrize(
    ("args", "variable", "chosen"),
    [
        (["observe"], "", "en"),
        (["observe"], "zh", "zh"),
        (["observe", "--lang", "zh"], "", "zh"),
        (["observe", "--lang=en"], "zh", "en"),
        (["--lang", "zh"], "", "zh"),
        (["--lang", "zh", "--help"], "", "zh"),
        (["observe", "--lang", "zh", "--format", "json"], "", "en"),
        (["observe", "--lang", "zh", "--format=sarif"], "", "en"),
        (["observe", "--lang", "zh", "--format", "html"], "", "zh"),
        (["kms", "list"], "zh", "en"),
        (["observe", "--lang", "fr"], "", "en"),  # which click refuses
    ],
)
def test_the_language_of_a_command(args: list[str], variable: str, chosen: str) -> None:
    assert language_of(args, {"KNOWBOUND_LANG": variable} if variable else {}) == chosen


@pytest.fixture
def chinese() -> Iterator[None]:
    language.use("zh")
    yield
    language.use("en")


def test_no_word_of_ours_stays_english_on_a_chinese_page(chinese: None) -> None:
    page = in_language(_page(everyday_report(), NEXT_COMMANDS, "", Detail.FULL))
    assert [one for one in ours(page) if re.search("[A-Za-z]{3}", _FIXED.sub("", one))] == []


def ours(part: object) -> Iterator[str]:
    """Yield the words of a page that are not text of traces, and no names for programs."""
    match part:
        case str():
            yield part
        case Span(tone=tone) if tone in FOREIGN:
            return
        case tuple():
            for one in part:
                yield from ours(one)
        case Column(name):
            yield name
        case Struct():
            names = "anchor filters folded_in hint link name tone verb version watermark commands origin texts".split()
            for field in fields(part):
                if field.name not in names:
                    yield from ours(getattr(part, field.name))


def test_json_is_the_same_in_every_language(tmp_path: Path) -> None:
    Transcript().user("Where is it?").grep("revenue_schema").says("I'm not sure.").write(tmp_path / "traces")
    shown = []
    for name in ("en", "zh"):
        ran = warm_process.knowbound("observe", "traces", "--format", "json", "--lang", name, cwd=tmp_path)
        shown.append(re.sub(r'"(?:made|last_look)": "[^"]*"', "", ran.stdout))
    assert shown[0] == shown[1]
    assert "缺口率" in warm_process.knowbound("observe", "traces", "--lang", "zh", cwd=tmp_path).stdout


def test_help_is_chinese_and_wrapped_without_a_closing_mark_in_front(tmp_path: Path) -> None:
    shown = warm_process.knowbound("observe", "--lang", "zh", "--help", cwd=tmp_path).stdout
    assert "报告代理找过却没有找到的内容。" in shown
    assert "选项：" in shown
    assert not [line for line in shown.splitlines() if line.strip().startswith(tuple("，。；：、）"))]
    assert "Report what agents" in warm_process.knowbound("observe", "--help", cwd=tmp_path).stdout
