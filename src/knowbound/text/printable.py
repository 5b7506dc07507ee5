"""Text for people: shortened, on one line, counted. The hook shortens text too, so this module imports little."""

from __future__ import annotations

LONGEST = 160  # characters of foreign text in a note


def shorten(text: str, most: int) -> str:
    """Return the text, or its beginning with an ellipsis, in at most `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def short_line(text: str, most: int) -> str:
    """Return the text on one line, shortened to `most` characters."""
    return shorten(" ".join(text.split()), most)


def whole_words(text: str, most: int) -> str:
    """Return the text, or its first words in at most `most` characters; a longer first word is cut."""
    return text if len(text) <= most else text[:most].rpartition(" ")[0] or text[:most]


def both_ends(text: str, most: int, between: str = " ") -> str:
    """Return the text, or its first and its last `most // 2` characters."""
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}{between}{text[-half:]}"


def printable_line(text: str) -> str:
    """Return the text on one line, with a space for each run of unprintable characters."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def one_line(text: str, longest: int = LONGEST) -> str:
    """Return foreign text as one short printable line, without the secrets that logs and error messages may have."""
    from knowbound.text.redact import excerpt  # noqa: PLC0415  (loads the patterns of secrets)

    line = printable_line(excerpt(text, longest * 8))
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def listed(names: list[str], most: int = 5) -> str:
    """Return the first few names, and the number of the other names."""
    from knowbound.language import say  # noqa: PLC0415

    shown = ", ".join(one_line(name, 60) for name in names[:most])
    return say("{} and {} more", shown, len(names) - most) if len(names) > most else shown


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: 1 commit, 2 commits."""
    from knowbound.language import is_english, say  # noqa: PLC0415

    nouns = plural or noun + "s"
    return f"1 {noun}" if number == 1 and is_english() else say("{:,} " + nouns, number)


def estimated_tokens(text: str) -> int:
    """Estimate tokens without a tokenizer, rather too many than too few.

    English prose has about 4 characters per token and code about 3.3; outside of ASCII a character is about one token.
    """
    others = len(text) - len(text.encode("ascii", "ignore"))
    return -(-(len(text) - others) * 10 // 33) + others
