"""Numbers and quoted expressions in sentences."""

from __future__ import annotations

import re


def counted(number: int, word: str) -> str:
    """A number and a word in the singular or the plural: `1 case`, `2 cases`, `2 entries`."""
    return f"{number} {word if number == 1 else plural(word)}"


def plural(word: str) -> str:
    """The plural of a regular word; of several words, the last one changes."""
    if word.isupper():
        return f"{word}S"
    return re.sub(r"(?<=[^aeiou])y\Z", "ie", word) + "s"


def excerpt(text: str, most: int = 200) -> str:
    """A text in quotes; of a longer one only the beginning, because a message is one line."""
    return repr(text if len(text) <= most else f"{text[: most - 3]}...")
