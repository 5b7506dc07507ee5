"""The language of reports and help: English, or Chinese by `catalogue/zh.toml`, whose keys are the English sentences.

`say` fills the places of a sentence, `translated` takes one without places; what the catalogue lacks stays English.
Places are `{}` in English and numbered in Chinese, whose order of words is another one. Formats for programs are
English always. Hooks import this module, so it imports nothing but contextvars, which is compiled in.
"""

from __future__ import annotations

from _contextvars import ContextVar

LANGUAGES = ("en", "zh")
VARIABLE = "KNOWBOUND_LANG"
_ENGLISH: dict[str, str] = {}
_catalogue = _ENGLISH
_catalogue_of_request: ContextVar[dict[str, str] | None] = ContextVar("of_request", default=None)


def use(language: str) -> None:
    """Print in this language from now on."""
    global _catalogue  # noqa: PLW0603  (a command prints in one language)
    _catalogue = _ENGLISH if language == "en" else catalogue(language)


def use_here(sentences: dict[str, str]) -> None:
    """Print by this catalogue in the present context: a server answers each request in its own language."""
    _catalogue_of_request.set(sentences or _ENGLISH)


def _sentences() -> dict[str, str]:
    of_request = _catalogue_of_request.get()
    return _catalogue if of_request is None else of_request


def language() -> str:
    """Return the chosen language."""
    return "en" if is_english() else "zh"


def is_english() -> bool:
    """Report whether nothing has to be translated."""
    return _sentences() is _ENGLISH


def translated(english: str) -> str:
    """Return a sentence in the chosen language."""
    return _sentences().get(english, english)


def say(english: str, /, *values: object) -> str:
    """Return a sentence in the chosen language, its places filled as `str.format` fills them."""
    return _sentences().get(english, english).format(*values)


def catalogue(language: str) -> dict[str, str]:
    """Return the sentences of a language by their English originals."""
    import tomllib  # noqa: PLC0415  (English needs no catalogue)
    from pathlib import Path  # noqa: PLC0415

    folder = Path(__file__).parent / "catalogue"
    sentences, codes = (tomllib.loads((folder / f"{name}.toml").read_text("utf-8")) for name in (language, "codes"))
    for texts in codes["signal"].values():
        sentences |= texts[f"in_{language}"]
    return sentences
