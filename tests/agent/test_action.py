"""The GitHub Action and the pre-commit hooks: well-formed, and their shell run for real."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from knowbound.stats.figures import WARNING
from tests import warm_process

ROOT = Path(__file__).resolve().parents[2]
KNOWBOUND = Path(sys.executable).with_name("knowbound")
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
RUN = next(step for step in STEPS if step.get("id") == "run")
SHARES_A_RUN = pytest.mark.xdist_group("action")

SAMPLES = """\
- sample_id: refunds
  prompt: When are gift cards refunded to the card?
- sample_id: revenue
  prompt: Which kafka topic carries the revenue_schema events?
"""
DOCUMENT = """\
# Billing

## Refund policy for gift cards

Gift cards are refunded to the card that paid for them, within 30 days.
"""


class Ran(NamedTuple):
    code: int
    log: str
    summary: str
    outputs: str


def made_base(folder: Path) -> Path:
    """A knowledge base that answers one of two questions, and a runner's folders."""
    (folder / "runner" / "knowbound" / "bin").mkdir(parents=True)
    (folder / "runner" / "knowbound" / "bin" / "knowbound").symlink_to(KNOWBOUND)
    (folder / "work" / "docs").mkdir(parents=True)
    (folder / "work" / "docs" / "billing.md").write_text(DOCUMENT, encoding="utf-8")
    (folder / "work" / "eval-samples.yaml").write_text(SAMPLES, encoding="utf-8")
    return folder


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return made_base(tmp_path)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ran]:
    """A run with no inputs in a checkout that brings a data folder, and what it left."""
    base = made_base(tmp_path_factory.mktemp("action"))
    (base / "work" / ".knowbound").mkdir()
    (base / "work" / ".knowbound" / "knowbound.db").write_bytes(b"crafted")
    return base, run_step(base)


def run_step(base: Path, /, **inputs: str) -> Ran:
    """The step's own shell text with the environment that a runner gives, as the runner starts it."""
    summary, output = base / "summary.md", base / "output.txt"
    for file in (summary, output):
        file.write_text("")
    given = {name: _default(text["default"]) for name, text in ACTION["inputs"].items()} | {"command": "eval"} | inputs
    environ = {name: _filled(value, given) for name, value in RUN["env"].items()}
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("KNOWBOUND", "GITHUB"))}
    done = subprocess.run(
        [shutil.which("bash") or "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", RUN["run"]],
        cwd=base / "work",
        env=clean
        | environ
        | {
            "RUNNER_TEMP": str(base / "runner"),
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_PATH": str(base / "path.txt"),
            "GITHUB_ENV": str(base / "env.txt"),
            "GITHUB_ACTIONS": "true",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Ran(done.returncode, done.stdout + done.stderr, summary.read_text("utf-8"), output.read_text())


def _default(text: str) -> str:
    """A default; outside of a pull request the expressions of a runner are empty."""
    return "" if text.startswith("${{") else text


def _filled(expression: str, given: dict[str, str]) -> str:
    found = re.fullmatch(r"\$\{\{ inputs\.([a-z-]+) \}\}", expression)
    assert found, expression
    return given[found[1]]


# As it is written


def test_inputs_reach_the_shell_as_environment_only() -> None:
    for step in STEPS:
        assert "${{" not in step.get("run", "")


def test_every_input_is_used_and_every_used_one_is_declared() -> None:
    used = set(re.findall(r"inputs\.([a-z-]+)", (ROOT / "action.yml").read_text(encoding="utf-8")))
    assert used == set(ACTION["inputs"])


def test_nothing_is_uploaded_and_nothing_foreign_runs_but_the_cache() -> None:
    assert {step["uses"].partition("@")[0] for step in STEPS if "uses" in step} == {
        "actions/cache/restore",
        "actions/cache/save",
    }


def test_the_evaluation_is_kept_also_when_a_gate_failed_and_never_by_a_pull_request() -> None:
    kept = STEPS[-1]
    assert kept["uses"].startswith("actions/cache/save")
    assert "always()" in kept["if"]
    assert "github.event_name != 'pull_request'" in kept["if"]
    restored = next(step for step in STEPS if step.get("uses", "").startswith("actions/cache/restore"))
    assert restored["with"]["path"] == kept["with"]["path"]


@pytest.mark.parametrize("step", [step for step in STEPS if "run" in step], ids=lambda step: str(step["name"]))
def test_the_shell_is_well_formed(step: dict[str, Any]) -> None:
    subprocess.run(["bash", "-n"], input=step["run"], text=True, check=True)


def test_the_hooks_have_what_pre_commit_needs() -> None:
    assert [hook["id"] for hook in HOOKS] == ["knowbound-lint", "knowbound-samples", "knowbound-check"]
    for hook in HOOKS:
        assert {"id", "name", "entry", "language"} <= set(hook)
        assert hook["language"] == "python"
        assert hook["pass_filenames"] is False
        re.compile(hook.get("files", ""))


def test_the_documentation_names_every_input() -> None:
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    for name in ACTION["inputs"]:
        assert f"`{name}`" in page


# As it runs


@SHARES_A_RUN
def test_a_run_writes_the_summary_and_annotations_and_passes(plain: tuple[Path, Ran]) -> None:
    _, ran = plain
    assert ran.code == 0, ran.log
    assert WARNING in ran.summary
    assert "1 of 2 samples" in ran.summary
    assert re.search(r"^::warning file=eval-samples.yaml,line=3,title=Knowledge gap in sample revenue::", ran.log, re.M)
    assert re.search(r"^::notice title=Knowledge gaps::Gap rate 50%25 ", ran.log, re.M)
    assert ran.outputs == "exit-code=0\n"


def test_a_gate_that_fails_fails_the_step_and_stands_in_the_summary(base: Path) -> None:
    ran = run_step(base, **{"max-gap-rate": "0.4"})
    assert ran.code == 1, ran.log
    assert "max-gap-rate 0.4" in ran.summary
    assert re.search(r"^::error title=Gate max-gap-rate 0.4", ran.log, re.M)
    assert ran.outputs == "exit-code=1\n"


@pytest.mark.long
def test_a_regression_is_against_the_run_that_was_kept(base: Path) -> None:
    gate = {"gap-rate-regression": "0.1"}
    first = run_step(base, **gate)
    assert first.code == 0, first.log
    assert "nothing to compare with" in first.summary
    (base / "work" / "docs" / "billing.md").write_text("# Billing\n\nNothing is written yet.\n", encoding="utf-8")
    assert run_step(base, **gate).code == 1


@pytest.mark.long
def test_strict_exits_3_where_the_data_do_not_settle_it(base: Path) -> None:
    assert run_step(base, **{"max-gap-rate": "0.9", "strict": "true"}).code == 3


@pytest.mark.long
def test_check_gates_what_was_kept_and_runs_nothing(base: Path) -> None:
    assert run_step(base).code == 0
    shutil.rmtree(base / "work" / "docs")
    ran = run_step(base, command="check", **{"max-gap-rate": "0.4"})
    assert ran.code == 1, ran.log
    assert WARNING in ran.summary


def test_wrong_input_fails_and_writes_no_summary(base: Path) -> None:
    ran = run_step(base, samples="missing.yaml")
    assert ran.code == 2
    assert re.search(r"^::error title=knowbound eval::.*missing\.yaml.*\[no-such-path\]$", ran.log, re.M)
    assert ran.summary == ""


def test_several_mistakes_are_one_annotation_and_no_command(base: Path) -> None:
    (base / "work" / "eval-samples.yaml").write_text('- sample_id: a\n  prompt: 5\n- sample_id: "::error::%0A"\n')
    ran = run_step(base)
    assert ran.code == 2
    (error,) = [line for line in ran.log.splitlines() if line.startswith("::error")]
    assert "%0A" in error
    assert "%250A" in error


def test_another_command_is_refused(base: Path) -> None:
    assert run_step(base, command="observe").code == 2


@pytest.mark.parametrize(
    "names",
    [
        ("samples", "executor", "judge", "max-gap-rate", "root", "args", "strict"),
        ("command",),
        *(
            pytest.param((name,), marks=pytest.mark.long)
            for name in ("samples", "executor", "judge", "max-gap-rate", "root", "args", "strict")
        ),
    ],
    ids="+".join,
)
def test_no_input_is_run_by_the_shell(base: Path, names: tuple[str, ...]) -> None:
    marker = base / "work" / "owned"
    hostile = f"$(touch {marker}) `touch {marker}`; touch {marker} \" ' && touch {marker}"
    run_step(base, **dict.fromkeys(names, hostile))
    assert not marker.exists()


@pytest.mark.long
def test_further_arguments_are_one_per_line(base: Path) -> None:
    ran = run_step(base, args="--repeat\n2\n")
    assert ran.code == 0, ran.log
    assert "2 samples · 4 runs" in ran.summary


@pytest.mark.skipif(os.name == "nt", reason="a shell script is the program")
def test_a_program_of_the_checkout_runs_only_where_its_hash_is_given(base: Path) -> None:
    work = base / "work"
    config = '[eval]\nexecutor = "command:sh ./agent.sh"\n'
    (work / "knowbound.toml").write_text(config, encoding="utf-8")
    (work / "agent.sh").write_text(f"touch {base}/ran\necho 'Within 30 days.'\n", encoding="utf-8")
    refused = run_step(base)
    assert refused.code == 2
    assert "config-untrusted" in refused.log
    assert run_step(base, trust="0123456789abcdef").code == 2
    assert not (base / "ran").exists()
    shown = warm_process.knowbound("trust", "--yes", cwd=work).stdout
    assert warm_process.knowbound("trust", "--revoke", cwd=work).returncode == 0
    assert run_step(base, trust=shown.split("--expect ")[1].split()[0]).code == 0
    assert (base / "ran").exists()


@SHARES_A_RUN
def test_a_data_folder_of_the_checkout_is_not_touched(plain: tuple[Path, Ran]) -> None:
    base, ran = plain
    assert ran.code == 0
    crafted = base / "work" / ".knowbound"
    assert [path.name for path in crafted.iterdir()] == ["knowbound.db"]
    assert (crafted / "knowbound.db").read_bytes() == b"crafted"
    assert (base / "runner" / "knowbound-data" / "knowbound.db").exists()


@SHARES_A_RUN
def test_what_agents_say_is_no_command_of_the_runner(plain: tuple[Path, Ran]) -> None:
    """The report is in the log while the runner obeys nothing; only our own commands are obeyed."""
    _, ran = plain
    obeyed, unheard, token = [], [], ""
    for line in ran.log.splitlines():
        if token and line != f"::{token}::":
            unheard.append(line)
        elif line.startswith("::stop-commands::"):
            token = line.removeprefix("::stop-commands::")
        else:
            obeyed.append(line)
            token = ""
    assert any("revenue_schema" in line for line in unheard)
    assert all(re.match(r"::(group|endgroup|warning|notice|[0-9a-f]{32})\b", line) for line in obeyed), obeyed


# The hooks


def test_the_samples_hook_passes_good_samples_and_names_the_line_of_a_bad_one(base: Path) -> None:
    entry = next(hook["entry"] for hook in HOOKS if hook["id"] == "knowbound-samples")
    words = shlex.split(entry)[1:]
    good = warm_process.knowbound(*words, cwd=base / "work")
    assert good.returncode == 0, good.stderr
    (base / "work" / "eval-samples.yaml").write_text(SAMPLES + "- sample_id: refunds\n  prompt: Again?\n")
    bad = warm_process.knowbound(*words, cwd=base / "work")
    assert bad.returncode == 2
    assert "eval-samples.yaml" in bad.stderr
    assert not (base / "work" / ".knowbound" / "evals").exists()


@pytest.mark.parametrize(
    ("path", "fires"),
    [
        ("eval-samples.yaml", True), ("docs/samples.jsonl", True), (".omk/billing/eval.json", True),
        ("package.json", False), (".github/workflows/ci.yml", False), ("docs/oversamples.md", False),
        ("my-samples.txt", False),
    ],
)  # fmt: skip
def test_the_samples_hook_fires_on_samples_only(path: str, fires: bool) -> None:
    pattern = next(hook["files"] for hook in HOOKS if hook["id"] == "knowbound-samples")
    assert bool(re.search(pattern, path)) is fires


def test_the_check_hook_passes_a_fresh_clone_and_says_so(base: Path) -> None:
    entry = next(hook["entry"] for hook in HOOKS if hook["id"] == "knowbound-check")
    done = warm_process.knowbound(*shlex.split(entry)[1:], "--max-gap-rate", "0.1", cwd=base / "work")
    assert done.returncode == 0, done.stderr
    assert "nothing was checked" in done.stderr


def test_later_steps_find_knowbound_and_their_own_python(base: Path) -> None:
    install = next(step for step in STEPS if step["name"] == "Install knowbound")["run"]
    lines = install[install.index("mkdir") :]
    files = {name: str(base / name) for name in ("GITHUB_PATH", "GITHUB_ENV")}
    environ = {"PATH": os.environ["PATH"], "RUNNER_TEMP": str(base / "runner"), **files}
    subprocess.run(["bash", "-eo", "pipefail", "-c", lines], env=environ, check=True)
    (folder,) = (base / "GITHUB_PATH").read_text().splitlines()
    assert (base / "GITHUB_ENV").read_text() == f"KNOWBOUND_HOME={base}/runner/knowbound-data\n"
    assert os.listdir(folder) == ["knowbound"]


def test_the_check_hook_gates_what_was_stored(base: Path) -> None:
    entry = next(hook["entry"] for hook in HOOKS if hook["id"] == "knowbound-check")
    assert warm_process.knowbound("eval", cwd=base / "work").returncode == 0
    for limit, code in (("0.4", 1), ("0.9", 0)):
        done = warm_process.knowbound(*shlex.split(entry)[1:], "--max-gap-rate", limit, cwd=base / "work")
        assert done.returncode == code, done.stderr


# lint


def _git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


@pytest.fixture
def pull_request(base: Path) -> Path:
    """A checkout of a branch that renames a folder which CLAUDE.md names, of a remote with the branch main."""
    origin, work = base / "origin", base / "work"
    shutil.rmtree(work)
    (origin / "src/commands").mkdir(parents=True)
    (origin / "src/commands/export.ts").write_text("export const all = 1;\n" * 5)
    hostile = "Old files are in `src/none/`. ::error::stop %0A::add-mask::x"
    (origin / "CLAUDE.md").write_text(
        f"Commands live in `src/commands/`. ::error title=x::y\n\n{hostile}\n\nState is kept by `Zustand` here.\n"
    )
    _git(origin, "init", "-q")
    _git(origin, "add", "-A")
    _git(origin, "commit", "-qm", "one")
    _git(base, "clone", "-q", "--depth=1", f"file://{origin}", str(work))
    _git(work, "mv", "src/commands", "src/cli")
    _git(work, "commit", "-qm", "two")
    return base


def test_lint_is_the_default_and_names_the_line_that_the_change_makes_wrong(pull_request: Path) -> None:
    assert ACTION["inputs"]["command"]["default"] == "lint"
    ran = run_step(pull_request, command="lint", base="main")
    assert ran.code == 1, ran.log
    warnings = [line for line in ran.log.splitlines() if line.startswith("::warning")]
    assert len(warnings) == 1, ran.log
    assert warnings[0].startswith("::warning file=CLAUDE.md,line=1,")
    assert "src/cli" in warnings[0]
    assert not any(line.startswith(("::error", "::add-mask")) for line in ran.log.splitlines())
    assert "exit-code=1" in ran.outputs


def test_lint_of_a_change_that_breaks_nothing_passes(pull_request: Path) -> None:
    _git(pull_request / "work", "reset", "-q", "--hard", "HEAD~1")
    (pull_request / "work" / "src/commands/more.ts").write_text("export const more = 1;\n")
    assert run_step(pull_request, command="lint", base="main").code == 0


def test_a_fork_cannot_have_a_model_asked(pull_request: Path) -> None:
    asked = pull_request / "asked"
    program = pull_request / "work" / "model.sh"
    program.write_text(f"#!/bin/sh\ntouch {asked}\n")
    program.chmod(0o755)
    args = f"--model\ncommand:{program}\n--yes"
    assert run_step(pull_request, command="lint", args=args, **{"from-fork": "true"}).code in (0, 1)
    assert not asked.exists()
    assert run_step(pull_request, command="lint", args=args).code in (0, 1)
    assert asked.exists()  # named on the command line, it is asked: the switch of the fork is what kept it off


def test_the_lint_hook_sees_what_is_not_committed_yet(pull_request: Path) -> None:
    work = pull_request / "work"
    _git(work, "reset", "-q", "--hard", "HEAD~1")
    hook = next(one for one in HOOKS if one["id"] == "knowbound-lint")
    command = [str(KNOWBOUND), *shlex.split(hook["entry"])[1:]]
    assert subprocess.run(command, cwd=work, capture_output=True, check=False).returncode == 0
    _git(work, "mv", "src/commands", "src/cli")
    failed = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert "CLAUDE.md:1  src/commands/ is not there; src/cli is" in failed.stdout


def test_the_gitlab_job_of_the_page_runs_and_fails_by_its_gate(base: Path) -> None:
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    (job,) = [found for found in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if found.startswith("knowledge:")]
    install, *script = yaml.safe_load(job)["knowledge"]["script"]
    assert install.startswith("pip install ")
    shutil.move(base / "work" / "eval-samples.yaml", base / "work" / "docs" / "eval-samples.yaml")
    home = str(base / "work" / ".cache-knowbound")
    environ = {"PATH": f"{KNOWBOUND.parent}:{os.environ['PATH']}", "KNOWBOUND_HOME": home, "HOME": str(base)}
    command = ["bash", "-eo", "pipefail", "-c", "\n".join(script)]
    ran = subprocess.run(command, cwd=base / "work", env=environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert WARNING in (base / "work" / "knowbound.xml").read_text(encoding="utf-8")
    assert "max-gap-rate 0.3" in ran.stdout
