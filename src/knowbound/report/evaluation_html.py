"""An evaluation as one HTML file, with the look of every gap report: from each number a link leads to its samples."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from knowbound.report import svg
from knowbound.report.evaluation_model import (
    EvaluationReport,
    Group,
    SampleRow,
    by_capability,
    by_difficulty,
    counted_unit,
    entries_of,
    left_out,
    rows_to_read_first,
    sample_place,
    sample_rows,
    unscored,
)
from knowbound.report.evaluation_words import (
    BESIDE_MEANING,
    NEXT_COMMANDS,
    TITLE,
    UNCOVERED_MEANING,
    assertion_words,
    ending_cell,
    gap_cell,
    gate_name,
    gate_outcome,
    knowledge_words,
    left_out_words,
    mean_cell,
    money_cell,
    retold,
    score_cell,
    seconds_cell,
    totals_words,
    types_cell,
    who_words,
)
from knowbound.report.html import (
    Section,
    card,
    folded_list,
    gap_cards,
    inventory,
    page,
    reading,
    shown,
    sources,
    table,
    table_row,
    topics,
    uncovered,
    watermark_note,
    with_bar,
)
from knowbound.report.words import Entry, counted, coverage_figure, interval_words
from knowbound.stats.evaluation import Evaluation
from knowbound.stats.gate import GateResult
from knowbound.stats.rate import Mean

_LOWEST, _HIGHEST = 1.0, 5.0  # of a composite
_BRIEF = 200  # characters of a prompt in sight


def render_html(report: EvaluationReport) -> str:
    """The whole page."""
    evaluation = report.evaluation
    unit = counted_unit(evaluation)
    coverage = card(coverage_figure(evaluation.coverage, evaluation.root))
    return page(
        title=TITLE,
        lead="What the agent looked for and did not find, question by question.",
        totals=totals_words(evaluation),
        origin=[who_words(evaluation), knowledge_words(evaluation)],
        watermark=evaluation.watermark,
        cards=[*gap_cards(evaluation.gap, unit), coverage, *_composite_card(evaluation.composite)],
        reading=reading(evaluation.gap, unit) + "".join(_gates(report.gates)) + _nudge(report.nudge),
        sections=list(_sections(report)),
        commands=NEXT_COMMANDS[1:],
        version=evaluation.version,
    )


def _composite_card(mean: Mean) -> Iterator[str]:
    if mean.value is None:
        return
    drawing = ""
    if mean.low is not None and mean.high is not None:
        drawing = svg.interval(_on_scale(mean.low), _on_scale(mean.value), _on_scale(mean.high))
    between = f"95% {mean.low:.2f}–{mean.high:.2f}" if drawing and mean.low != mean.high else ""
    yield (
        f'<div class="card"><h3>Composite</h3><p class="figure">{mean.value:.2f} <small>of 5</small></p>{drawing}'
        f'<p class="counts">over {counted(mean.n, "answer")}<span>{between}</span></p>'
        '<p class="meaning">the mean of what was graded</p></div>'
    )


def _on_scale(score: float) -> float:
    return (score - _LOWEST) / (_HIGHEST - _LOWEST)


def _gates(gates: tuple[GateResult, ...]) -> Iterator[str]:
    for gate in gates:
        badge = f'<span class="gate {gate.outcome}">{escape(gate_outcome(gate))}</span>'
        words = "<br>".join(shown(words) for words in (gate.words, gate.note) if words)
        told = f"{badge} <code>{shown(gate_name(gate))}</code><br><small>{words}</small>"
        yield f"<div><dt>Gate</dt><dd>{told}</dd></div>"


def _nudge(text: str) -> str:
    return f"<div><dt>Note</dt><dd>{shown(text)}</dd></div>" if text else ""


def _sections(report: EvaluationReport) -> Iterator[Section]:
    """The sections that have something to say."""
    evaluation = report.evaluation
    rows, entries = sample_rows(evaluation), entries_of(evaluation)
    yield Section("sources", "By source", retold(sources(evaluation.gap), evaluation))
    if evaluation.topics:
        unit = counted_unit(evaluation)
        yield topics(evaluation.topics, entries, lambda topic: counted(topic.samples, unit))
    if rows:
        yield Section("samples", "By sample", _samples(rows, entries))
    if groups := "".join(_groups(evaluation)):
        yield Section("groups", "By capability and difficulty", groups)
    if report.beside:
        yield _beside(report.beside)
    if paths := evaluation.coverage.uncovered:
        listed = uncovered(paths)
        yield listed._replace(body=f'<p class="note">{UNCOVERED_MEANING}</p>{listed.body}')
    if entries:
        yield inventory(entries, len(entries), "Run")
    if failed := "".join(_failed(row) for row in rows if row.failed):
        yield Section("failed", "Failed assertions", f'<ol class="signals">{failed}</ol>')
    if rest := "".join(_left_out(evaluation)):
        yield Section("left-out", "Left out, and why", rest)


def _samples(rows: list[SampleRow], entries: list[Entry]) -> str:
    first: dict[str, int] = {}
    for number, entry in enumerate(entries, 1):
        first.setdefault(entry.anchor, number)
    head = ("Sample", "Gap", "Signals", "Composite", "Cost", "Seconds", "Ending")
    return table(
        "skills samples", head, "".join(_sample(row, first.get(row.anchor)) for row in rows_to_read_first(rows))
    )


def _sample(row: SampleRow, first: int | None) -> str:
    signals = escape(types_cell(row)) or "–"
    done = len(row.complete) == len(row.runs)
    cells = (
        ("Gap", f'<span class="has-gap {_gap_kind(row)}">{gap_cell(row)}</span>'),
        ("Signals", f'<a href="#gap-{first}">{signals}</a>' if first else signals),
        ("Composite", _composite(row)),
        ("Cost", money_cell(row.usd)),
        ("Seconds", seconds_cell(row.seconds)),
        ("Ending", ending_cell(row) if done else f'<span class="status open">{ending_cell(row)}</span>'),
    )
    named = (
        f'{shown(row.sample)} <small class="place"><code>{shown(row.place)}</code></small>{_asked_and_answered(row)}'
    )
    return table_row(named, cells, row.anchor)


def _asked_and_answered(row: SampleRow) -> str:
    """The prompt in sight, shortened; all of it with what was answered behind a fold, as it was written."""
    prompt = row.runs[0].prompt
    answers = dict.fromkeys(run.answer for run in row.runs if run.answer)
    if not prompt and not answers:
        return ""
    brief = prompt if len(prompt) <= _BRIEF else prompt[: _BRIEF - 1] + "…"
    whole = f"<pre>{shown(prompt)}</pre>" if brief != prompt else ""
    said = "".join(f"<pre>{shown(answer)}</pre>" for answer in answers) or "<p>no answer</p>"
    return f'<details class="asked"><summary>{shown(brief) or "answer"}</summary>{whole}{said}</details>'


def _composite(row: SampleRow) -> str:
    if not row.failed:
        return score_cell(row.composite)
    return f'{score_cell(row.composite)} <small><a href="#failed-{row.anchor}">{len(row.failed)} failed</a></small>'


def _gap_kind(row: SampleRow) -> str:
    return "unknown" if not row.complete else "open" if row.open_signals else "closed" if row.signals else "none"


def _groups(evaluation: Evaluation) -> Iterator[str]:
    for name, groups in (("Capability", by_capability(evaluation)), ("Difficulty", by_difficulty(evaluation))):
        if groups:
            head = (name, "Samples", "Gap rate", "Composite")
            yield table("skills", head, "".join(_group(group) for group in groups))


def _group(group: Group) -> str:
    rate = with_bar(group.gap.value, "gap") + f" <small>{interval_words(group.gap.interval)}</small>"
    cells = (("Samples", f"{group.samples:,}"), ("Gap rate", rate), ("Composite", mean_cell(group.composite)))
    return table_row(shown(group.name), cells)


def _beside(probed: Evaluation) -> Section:
    cards = [*gap_cards(probed.gap, counted_unit(probed)), card(coverage_figure(probed.coverage, probed.root))]
    body = (
        f'<p class="note">{BESIDE_MEANING}</p>'
        f'<div class="watermark" role="note">{watermark_note(probed.watermark)}</div>'
        f'<div class="cards">{"".join(cards)}</div>'
    )
    return Section("beside", "Competency questions", body)


def _failed(row: SampleRow) -> str:
    asked = "".join(
        f"<p><code>{shown(assertion_words(grade))}</code>{f' {shown(grade.reason)}' if grade.reason else ''}</p>"
        for grade in row.failed
    )
    answers = dict.fromkeys(run.answer for run in row.complete if run.answer)
    said = "".join(f"<p>answer: <q>{shown(answer)}</q></p>" for answer in answers)
    return (
        f'<li id="failed-{row.anchor}"><h3><a href="#{row.anchor}">{shown(row.sample)}</a></h3>{asked}{said}'
        f'<p class="place"><code>{shown(row.place)}</code></p></li>'
    )


def _left_out(evaluation: Evaluation) -> Iterator[str]:
    """Everything that is not in the rates, so that nothing is lost silently."""
    runs, repeats = left_out(evaluation), evaluation.repeat > 1
    lines = [f"{shown(left_out_words(run, repeats))} <code>{shown(sample_place(run))}</code>" for run in runs]
    yield folded_list(f"{counted(len(runs), 'run')} not in the rates", lines, opened=True)
    reasons = unscored(evaluation)
    yield folded_list(
        f"{counted(sum(reasons.values()), 'grade')} unscored, counted neither for nor against",
        [f"{number:,} {shown(reason)}" for reason, number in reasons.items()],
    )
    warnings = [shown(warning) for warning in evaluation.warnings]
    yield folded_list(counted(len(warnings), "warning"), warnings, opened=True)
