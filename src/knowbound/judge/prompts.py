"""The prompts of judges that are models: versioned files, and the fences around the text to be judged.

The version of a prompt has a hash of its text, so an edit makes another version even with the same number. Material
comes from traces and models. It is between two lines with a code that is computed from the material itself: no text can
have the end of its own fence, so nothing in it can pass for an instruction.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

import msgspec

_PLACEHOLDER = re.compile(r"^\{\{([a-z_]+)\}\}$", re.MULTILINE)
_MATERIAL_HEADING = "\n## Material\n"
_CODE_DIGITS = 8  # hex digits of the code of a fence


class PromptFile(msgspec.Struct, frozen=True):
    """A prompt file: its instructions, and the names of its texts."""

    name: str  # hedging
    version: str  # hedging-1-0123abcd: the file's name and eight hex digits of the SHA-256 of its text
    instructions: str
    places: tuple[str, ...]

    def material(self, inputs: Mapping[str, str]) -> str:
        """Return the texts in their fences, in the order of the prompt."""
        if set(inputs) != set(self.places):
            raise ValueError(f"the prompt {self.version} takes {self.places}, not {tuple(inputs)}")
        code = _fence_code(inputs)
        return "\n".join(f"<<<{name} {code}\n{inputs[name]}\n{name} {code}>>>" for name in self.places)


@cache
def load_prompt(name: str) -> PromptFile:
    """Read the prompt of that name: `prompts/NAME-VERSION.md`."""
    folder = resources.files("knowbound.judge").joinpath("prompts")
    (file,) = (path for path in folder.iterdir() if path.name.rpartition("-")[0] == name)
    data = file.read_bytes()
    instructions, _, material = data.decode("utf-8").partition(_MATERIAL_HEADING)
    version = f"{file.name.removesuffix('.md')}-{hashlib.sha256(data).hexdigest()[:8]}"
    return PromptFile(name, version, instructions.strip(), tuple(_PLACEHOLDER.findall(material)))


def input_hash(inputs: Mapping[str, str]) -> str:
    """Return a hash of the texts and their names."""
    digest = hashlib.sha256()
    for name in sorted(inputs):
        for part in (name, inputs[name]):
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)  # the length keeps the parts apart
    return digest.hexdigest()


def _fence_code(inputs: Mapping[str, str]) -> str:
    """Return a code that no text has: taken from the hash of the texts, and hashed again until that is true."""
    digest = input_hash(inputs)
    while any(digest[:_CODE_DIGITS] in text for text in inputs.values()):
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return digest[:_CODE_DIGITS]
