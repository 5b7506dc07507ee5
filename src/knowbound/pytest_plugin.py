"""`pytest --knowbound samples.yaml`: samples as tests, gates as the end of the session.

A sample fails as in JUnit reports (docs/ci.md): an open gap signal, or an assertion that failed. All samples that
pytest selected are run together, at the first of them, by the executor of the config. The run is stored like that of
`eval`; a part of the samples is a test set of its own, and no gate decides on it. pytest loads this module in every
environment that has knowbound, so the rest of the package is imported only with the option.
"""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.evals.samples.values import EvalSample, SampleSet
    from knowbound.report.formats.ci import JunitCase
    from knowbound.stats.evaluation import Evaluation
    from knowbound.stats.gate import GateResult


def _limit(text: str) -> Fraction:
    from knowbound.stats.gate import limit  # noqa: PLC0415

    try:
        return limit(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options. The limits are those of `knowbound eval`."""
    group = parser.getgroup("knowbound", "test what agents know (knowbound)")
    group.addoption("--knowbound", metavar="SAMPLES", help="Run the samples of this file or folder as tests.")
    group.addoption("--knowbound-root", metavar="DIR", help="The knowledge base (default: the current folder).")
    group.addoption("--knowbound-executor", default="", help="Who answers (default: that of the config).")
    group.addoption("--knowbound-judge", default="", help="Who scores rubrics.")
    group.addoption("--knowbound-repeat", type=int, default=1, metavar="N", help="Run every sample N times.")
    group.addoption("--knowbound-max-gap-rate", type=_limit, metavar="F", help="Fail above this gap rate.")
    group.addoption("--knowbound-regression", type=_limit, metavar="F", help="Fail when the gap rate rose by more.")


def pytest_configure(config: pytest.Config) -> None:
    """Collect the samples, and nothing else unless the command line names other tests."""
    named = config.getoption("--knowbound")
    if not named:
        return
    if getattr(config.option, "numprocesses", None) or hasattr(config, "workerinput"):
        raise pytest.UsageError("--knowbound runs its samples side by side itself: leave -n out.")
    path = Path(named).absolute()
    if not path.exists():
        raise pytest.UsageError(f"--knowbound {named}: there is no such file or folder.")
    run = SampleRuns(config, path)
    config.pluginmanager.register(run, "knowbound-samples")
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = []  # not the test paths of its config
    if path not in (Path(argument.partition("::")[0]).absolute() for argument in config.args):
        config.args.append(str(path))


@dataclass
class SampleRuns:
    """The samples of one session of pytest: collected, run once together, gated at the end."""

    config: pytest.Config
    path: Path
    selected: list[str] = field(default_factory=list)
    outcomes: dict[str, JunitCase] | None = None
    evaluation: Evaluation | None = None
    gates: tuple[GateResult, ...] = ()

    def __post_init__(self) -> None:
        root = self.config.getoption("--knowbound-root")
        self._root = Path(root or ".").resolve()

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect the samples file."""
        if file_path != self.path or self.path.is_dir():  # a folder is collected below
            return None
        return SampleFile.from_parent(parent, path=file_path, runs=self)

    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect a folder of samples files as one test set."""
        if path != self.path:
            return None
        return SampleFile.from_parent(parent, path=path, runs=self)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Note the samples that -k, -m and other options selected."""
        self.selected = [item.sample.id for item in items if isinstance(item, SampleItem)]

    def load(self) -> SampleSet:
        """Read the samples, or raise an error that names every mistake with its line."""
        from knowbound.evals.samples.load import load_samples  # noqa: PLC0415

        return load_samples(self.path, self._root)

    def outcome(self, sample: str) -> JunitCase:
        """Return what came of a sample; all selected samples are run with the first that is asked for."""
        if self.outcomes is None:
            self.outcomes = self._run()
        return self.outcomes[sample]

    def _run(self) -> dict[str, JunitCase]:
        """Run the selected samples, gate the whole test set, and return what came of each sample."""
        from knowbound.config import ModelTask, load  # noqa: PLC0415
        from knowbound.evals.evaluate import EvalPlan, evaluate  # noqa: PLC0415
        from knowbound.evals.history import note_gates  # noqa: PLC0415
        from knowbound.judge.choice import model_for  # noqa: PLC0415
        from knowbound.report.evals.samples import sample_rows  # noqa: PLC0415
        from knowbound.report.formats.ci import sample_outcome  # noqa: PLC0415

        settings, whole = load(self._root), self.load()
        part = _part(whole, self.selected)
        judge = self.config.getoption("--knowbound-judge") or model_for(settings, ModelTask.RUBRICS)
        plan = EvalPlan(
            part,
            repeat=self.config.getoption("--knowbound-repeat"),
            executor=self.config.getoption("--knowbound-executor") or settings.eval_executor,
            model=settings.eval_model,
            judges=(judge,) if judge else (),
        )
        self.evaluation = evaluate(plan, settings).evaluation
        if part is whole:  # gates are about the whole test set
            self.gates = tuple(self._gates(settings, self.evaluation))
            note_gates(settings, self.evaluation, self.gates)
        return {row.sample: sample_outcome(row, plan.repeat > 1) for row in sample_rows(self.evaluation)}

    def _gates(self, settings: Settings, evaluation: Evaluation) -> list[GateResult]:
        from knowbound.cli.options import Gates  # noqa: PLC0415
        from knowbound.evals.history import baseline_of  # noqa: PLC0415
        from knowbound.stats.gate import evaluation_gates  # noqa: PLC0415

        option = self.config.getoption
        limits = Gates(option("--knowbound-max-gap-rate"), option("--knowbound-regression")).limits(settings)
        return evaluation_gates(limits, evaluation, baseline_of(settings, evaluation, limits.kind))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the session where a gate fails."""
        if any(gate.failed for gate in self.gates) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the rate with its watermark, and the gates."""
        if self.evaluation is None:
            return
        from knowbound.report.evals.samples import counted_unit  # noqa: PLC0415
        from knowbound.report.words import gate_line, headline  # noqa: PLC0415

        evaluation = self.evaluation
        terminalreporter.section("knowbound")
        terminalreporter.line(str(headline(evaluation.gap, evaluation.coverage, counted_unit(evaluation))))
        terminalreporter.line(str(evaluation.watermark))
        for gate in self.gates:
            terminalreporter.line(gate_line(gate, evaluation.watermark), red=gate.failed)
        if not self.gates and len(self.selected) < len(self.load().samples):
            terminalreporter.line("Only a part of the samples was run: no gate decides on it.")


class SampleFile(pytest.File):
    """A samples file, or a folder of them."""

    def __init__(self, *, runs: SampleRuns, **node: Any) -> None:
        super().__init__(**node)
        self.runs = runs

    def collect(self) -> Iterator[SampleItem]:
        """Yield one test for each sample."""
        from knowbound.errors import KnowboundError  # noqa: PLC0415

        try:
            samples = self.runs.load().samples
        except KnowboundError as error:
            raise self.CollectError(str(error)) from error
        for sample in samples:
            yield SampleItem.from_parent(self, name=sample.id, sample=sample, runs=self.runs)


class SampleItem(pytest.Item):
    """One sample."""

    def __init__(self, *, sample: EvalSample, runs: SampleRuns, **node: Any) -> None:
        super().__init__(**node)
        self.sample, self._runs = sample, runs

    def runtest(self) -> None:
        """Raise what the outcome says."""
        case = self._runs.outcome(self.sample.id)
        if case.outcome == "skipped":
            pytest.skip(case.message)
        if case.outcome:
            raise SampleFailedError(case)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the message and the signals, without a traceback of ours."""
        from knowbound.errors import KnowboundError  # noqa: PLC0415

        if isinstance(excinfo.value, SampleFailedError):
            case = excinfo.value.case
            return "\n".join(filter(None, (f"{case.outcome}: {case.message}", case.details)))
        if isinstance(excinfo.value, KnowboundError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the place of the sample in its file."""
        file = Path(self.sample.file) if self.sample.file else self.path
        return file, max(0, self.sample.line - 1), self.sample.id


class SampleFailedError(Exception):
    """A sample that failed, or that no run completed."""

    def __init__(self, case: JunitCase) -> None:
        super().__init__(case.message)
        self.case = case


def _part(whole: SampleSet, ids: list[str]) -> SampleSet:
    """Return the chosen samples: the set itself, or a set with a watermark of its own."""
    import hashlib  # noqa: PLC0415

    import msgspec  # noqa: PLC0415

    if len(ids) == len(whole.samples):
        return whole
    chosen = tuple(sample for sample in whole.samples if sample.id in set(ids))
    identity = "\n".join((whole.sha256, *(sample.id for sample in chosen)))
    path = f"{whole.path} ({len(chosen)} of {len(whole.samples)})"
    sha256 = hashlib.sha256(identity.encode()).hexdigest()
    return msgspec.structs.replace(whole, samples=chosen, path=path, sha256=sha256)
