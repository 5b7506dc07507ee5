"""The prompts of judges that are models: versioned files, and the fences around the text to be judged.

A prompt's version holds a hash of its text, so that an edit makes another version even where its number was forgotten.
Material comes from traces and models. It stands between lines with a code that is computed from the material itself: no
text can contain the end of its own fence, so nothing in it can pass for an instruction's place.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

import msgspec

_PLACE = re.compile(r"^\{\{([a-z_]+)\}\}$", re.MULTILINE)
_MATERIAL = "\n## Material\n"
_CODE = 8  # hex digits
HEDGING = "hedging-1"
TURNS = "turns-1"
CLAIMS = "claims-1"


class PromptFile(msgspec.Struct, frozen=True):
    """A prompt file: its instructions, and the names of the texts that it takes."""

    name: str  # hedging
    version: str  # hedging-1-0123abcd: the file's name and eight hex digits of the SHA-256 of its text
    instructions: str
    places: tuple[str, ...]

    def material(self, inputs: Mapping[str, str]) -> str:
        """The texts in their fences, in the order that the prompt names them."""
        if set(inputs) != set(self.places):
            raise ValueError(f"the prompt {self.version} takes {self.places}, not {tuple(inputs)}")
        code = _code(inputs)
        return "\n".join(f"<<<{name} {code}\n{inputs[name]}\n{name} {code}>>>" for name in self.places)


@cache
def load_prompt(file: str) -> PromptFile:
    """The prompt in `prompts/FILE.md`, for example `hedging-1`."""
    data = resources.files("knowbound.judge").joinpath("prompts", f"{file}.md").read_bytes()
    instructions, _, material = data.decode("utf-8").partition(_MATERIAL)
    name = file.rpartition("-")[0]
    version = f"{file}-{hashlib.sha256(data).hexdigest()[:8]}"
    return PromptFile(name, version, instructions.strip(), tuple(_PLACE.findall(material)))


def input_hash(inputs: Mapping[str, str]) -> str:
    """A hash of the texts: equal texts have equal hashes."""
    digest = hashlib.sha256()
    for name in sorted(inputs):
        for part in (name, inputs[name]):
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def _code(inputs: Mapping[str, str]) -> str:
    """A code that does not occur in the texts: taken from their hash, and changed until that is so."""
    digest = input_hash(inputs)
    while any(digest[:_CODE] in text for text in inputs.values()):
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return digest[:_CODE]
