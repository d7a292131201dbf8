"""What the YAML parser's errors mean: the place of the mistake, which is often above the reported one, and the fix."""

from __future__ import annotations

import re
from typing import Final

Mark = tuple[int, int]  # line and column from 0
_QUOTE: Final = "put text with ': ', '#', ',', '{' or '[' in it in quotes"


def yaml_mistake(text: str, problem: str, context: str, at: Mark, began: Mark) -> tuple[Mark, str, str]:
    """The place, the message and the hint for an error at `at` in what began at `began`."""
    lines = text.splitlines()
    row = _row(lines, at[0])
    if tab := _tab(lines, at):
        return tab, "a tab, and YAML is indented with spaces", "replace the tab by spaces"
    if "quoted scalar" in context:
        quote = _row(lines, began[0])[began[1] : began[1] + 1]
        return began, "this quote is never closed", f"add {quote} behind the text"
    if "':'" in problem:
        return _without_colon(lines, at, began)
    if mark := re.search(r": (!)", row[: at[1]]):
        return (at[0], mark.start(1)), "text cannot begin with '!' here", 'put the text in quotes: "..."'
    if "cannot start any token" in problem:
        letter = row[at[1] : at[1] + 1]
        return at, f"text cannot begin with {letter!r} here", 'put the text in quotes: "..."'
    if "flow" in context:
        begins = f"in what begins at line {began[0] + 1}, column {began[1] + 1}"
        message = f"{problem.replace('did not find expected', 'expected')} {begins}"
        return at, message, f"close the bracket or the quote, or {_QUOTE}"
    if "mapping values are not allowed" in problem:
        if row[: at[1]].count(": ") or re.match(r"\s*(- )?[\w-]+: ", row[: at[1]]):
            return at, "a second ': ' in one line", 'put the text in quotes: "..."'
        return at, "a key where the value of the line above goes on", "indent it like the key above"
    if "expected key" in problem or "block end" in problem or "'-' indicator" in problem:
        return _indented(lines, at, began)
    if "tag" in context and "tag" not in problem:
        return began, "text cannot begin with '!' here", 'put the text in quotes: "..."'
    return at, problem or "the text is not YAML", f"{_QUOTE}; indent with spaces"


def _row(lines: list[str], number: int) -> str:
    return lines[number] if 0 <= number < len(lines) else ""


def _tab(lines: list[str], at: Mark) -> Mark | None:
    """The first tab in the indentation of the reported line or of the one above."""
    for number in (at[0], at[0] - 1):
        row = _row(lines, number)
        if "\t" in row[: len(row) - len(row.lstrip())]:
            return number, row.index("\t")
    return None


def _without_colon(lines: list[str], at: Mark, began: Mark) -> tuple[Mark, str, str]:
    """A line that has a key and no `: `."""
    row = _row(lines, began[0])[began[1] :]
    key = re.match(r"([\w-]+):?\s*(.*)", row)
    if key is None:
        return at, "no ': ' behind a key", "write `key: value`"
    message = "no blank behind the ':'" if row.startswith(f"{key[1]}:") else f"no ': ' behind {key[1]!r}"
    return began, message, f"write `{key[1]}: {key[2]}`".replace(": `", ":`")


def _indented(lines: list[str], at: Mark, began: Mark) -> tuple[Mark, str, str]:
    """A line that begins neither where the keys of its map begin nor where those of a map around it do."""
    row = _row(lines, at[0])
    if re.match(r"\s*[\"']", row[: at[1]][-2:]) or (row[: at[1]].strip() and not row[: at[1]].strip().endswith("-")):
        return at, f"{row[at[1] :].strip()!r:.40} follows a value that has ended", 'put the whole text in quotes: "..."'
    message = f"this line begins in column {at[1] + 1}, and its map at line {began[0] + 1} in column {began[1] + 1}"
    return at, message, f"indent it with {began[1]} spaces, like the lines that it belongs to"
