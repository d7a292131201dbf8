"""Foreign text made safe to print: text of a backend cannot control a terminal or imitate a line of the report."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with every character but line ends escaped that a terminal does not show as itself.

    Control characters, marks that turn the direction of text round, line separators and half surrogates are escaped.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def one_line(text: str) -> str:
    """The text made printable with its line ends escaped too."""
    return printable(text).replace("\n", "\\n")
