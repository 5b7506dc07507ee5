"""Custom assertions: a program beside the samples decides, where the person who runs the evaluation allows it.

The program gets {output, sample, assertion} as JSON on standard input and prints {pass, message}. A JavaScript module
whose default export (or `check`) is a function is called with (output, {sample, assertion}), as the samples format has
it. Whatever goes wrong leaves the assertion unscored.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

from knowbound.evals.assertions import SAID, AgentAnswer, CheckResult, short
from knowbound.evals.samples.values import Assertion, EvalSample
from knowbound.process import find_program, run

SECONDS = 30.0  # the samples format

# Calls the module's function; a module without one has read its input and printed by itself.
_DRIVER = """
import { pathToFileURL } from 'node:url';
const module = await import(pathToFileURL(process.argv[1]));
const check = [module.default, module.check, module.default?.check].find((one) => typeof one === 'function');
if (check) {
  const parts = [];
  for await (const part of process.stdin) parts.push(part);
  const { output, sample, assertion } = JSON.parse(Buffer.concat(parts).toString('utf8'));
  console.log(JSON.stringify(await check(output, { sample, assertion })));
}
"""


_OF_SAMPLE = ("sample_id", "prompt", "context", "capability", "difficulty", "construct", "provenance", "metadata")
_OF_ASSERTION = ("type", "fn", "value", "values", "reference", "threshold", "weight")


class ProgramOutput(msgspec.Struct, frozen=True):
    """The JSON object that a program must print."""

    passed: bool = msgspec.field(name="pass")
    message: str = ""


def run_custom(assertion: Assertion, sample: EvalSample, answered: AgentAnswer, folder: Path) -> CheckResult:
    """Ask the program; `folder` is where the samples file is."""
    program = (folder / assertion.fn).resolve()
    if not program.is_relative_to(folder.resolve()):
        return CheckResult(None, f"{assertion.fn} is outside the samples' folder")
    if not program.is_file():
        return CheckResult(None, f"there is no file {assertion.fn} beside the samples")
    command = _command(program, folder)
    if isinstance(command, CheckResult):
        return command
    output = _ran(command, folder, _question(assertion, sample, answered))
    return output if isinstance(output, CheckResult) else _result(output)


def _command(program: Path, folder: Path) -> list[str] | CheckResult:
    """Return the command by the file's extension; a file without a known extension must be executable."""
    if program.suffix == ".py":
        return [sys.executable, str(program)]
    if program.suffix in (".js", ".mjs", ".cjs"):
        node = find_program("node", folder)
        return (
            [node, "--input-type=module", "-e", _DRIVER, str(program)]
            if node
            else CheckResult(None, "node is not here")
        )
    if os.access(program, os.X_OK):
        return [str(program)]
    return CheckResult(None, f"{program.name} is neither .py nor .js nor .mjs, and is not executable")


def _question(assertion: Assertion, sample: EvalSample, answered: AgentAnswer) -> bytes:
    """Return the JSON for the program's standard input, with the keys of the samples format."""
    about = {"sample": (sample, _OF_SAMPLE), "assertion": (assertion, _OF_ASSERTION)}
    given = {
        name: {key: value for key, value in msgspec.to_builtins(one).items() if key in keys and value}
        for name, (one, keys) in about.items()
    }
    return msgspec.json.encode({"output": answered.answer, **given})


def _ran(command: list[str], folder: Path, question: bytes) -> bytes | CheckResult:
    """Run the program; return its output, or an undecided result if it failed."""
    ran = run(command, folder, SECONDS, stdin=question)
    said = ran.err.decode("utf-8", "replace").strip().rpartition("\n")[2]
    if ran.timed_out:
        return CheckResult(None, f"the program took more than {SECONDS:g} seconds")
    if ran.cut:
        return CheckResult(None, "the program printed too much")
    if ran.code is None:
        return CheckResult(None, f"the program cannot be started: {said}")
    return ran.out if ran.code == 0 else CheckResult(None, f"the program failed with {ran.code}: {short(said, SAID)}")


def _result(output: bytes) -> CheckResult:
    """The last line, so that a program may print what it likes before; or all of it."""
    text = output.strip()
    for part in (text.rpartition(b"\n")[2], text):
        try:
            given = msgspec.json.decode(part, type=ProgramOutput)
        except msgspec.DecodeError:
            continue
        return CheckResult(given.passed, short(given.message, SAID))
    return CheckResult(None, 'the program did not print {"pass": true or false}')
