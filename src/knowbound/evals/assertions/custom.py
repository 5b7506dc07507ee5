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

from knowbound.evals.assertions.rules import SAID, Answered, Decision, short
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


class Given(msgspec.Struct, frozen=True):
    """What a program must print."""

    passed: bool = msgspec.field(name="pass")
    message: str = ""


def run_custom(assertion: Assertion, sample: EvalSample, answered: Answered, folder: Path) -> Decision:
    """Ask the program; `folder` is where the samples file is."""
    program = (folder / assertion.fn).resolve()
    if not program.is_relative_to(folder.resolve()):
        return Decision(None, f"{assertion.fn} is outside the samples' folder")
    if not program.is_file():
        return Decision(None, f"there is no file {assertion.fn} beside the samples")
    command = _command(program, folder)
    if isinstance(command, Decision):
        return command
    said = _ran(command, folder, _question(assertion, sample, answered))
    return said if isinstance(said, Decision) else _decision(said)


def _command(program: Path, folder: Path) -> list[str] | Decision:
    """By the ending; what has none of these must be executable."""
    if program.suffix == ".py":
        return [sys.executable, str(program)]
    if program.suffix in (".js", ".mjs", ".cjs"):
        node = find_program("node", folder)
        return (
            [node, "--input-type=module", "-e", _DRIVER, str(program)] if node else Decision(None, "node is not here")
        )
    if os.access(program, os.X_OK):
        return [str(program)]
    return Decision(None, f"{program.name} is neither .py nor .js nor .mjs, and is not executable")


def _question(assertion: Assertion, sample: EvalSample, answered: Answered) -> bytes:
    """In the words of the samples format."""
    about = {
        "sample_id": sample.id,
        "prompt": sample.prompt,
        "context": sample.context,
        "capability": sample.capability,
        "difficulty": sample.difficulty,
        "construct": sample.construct,
        "provenance": sample.provenance,
        "metadata": sample.metadata,
    }
    asked = {
        "type": assertion.type,
        "fn": assertion.fn,
        "value": assertion.value,
        "values": assertion.values,
        "reference": assertion.reference,
        "threshold": assertion.threshold,
        "weight": assertion.weight,
    }
    kept = {
        "sample": {key: one for key, one in about.items() if one},
        "assertion": {k: v for k, v in asked.items() if v},
    }
    return msgspec.json.encode({"output": answered.answer, **kept})


def _ran(command: list[str], folder: Path, question: bytes) -> bytes | Decision:
    """What the program printed."""
    ran = run(command, folder, SECONDS, stdin=question)
    said = ran.err.decode("utf-8", "replace").strip().rpartition("\n")[2]
    if ran.timed_out:
        return Decision(None, f"the program took more than {SECONDS:g} seconds")
    if ran.cut:
        return Decision(None, "the program printed too much")
    if ran.code is None:
        return Decision(None, f"the program cannot be started: {said}")
    return ran.out if ran.code == 0 else Decision(None, f"the program failed with {ran.code}: {short(said, SAID)}")


def _decision(said: bytes) -> Decision:
    """The last line, so that a program may print what it likes before; or all of it."""
    text = said.strip()
    for part in (text.rpartition(b"\n")[2], text):
        try:
            given = msgspec.json.decode(part, type=Given)
        except msgspec.DecodeError:
            continue
        return Decision(given.passed, short(given.message, SAID))
    return Decision(None, 'the program did not print {"pass": true or false}')
