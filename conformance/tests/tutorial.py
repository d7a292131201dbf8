"""The blocks of a tutorial page as actions: write a file, replace a text in one, run a command and compare."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt

_STATUS: Final = re.compile(r"  # exit status (\d+)\Z")
StateCounts = Callable[[Sequence[str], Path], tuple[int, str, str]]  # the words of a command, and where; what it says


def no_tally(words: Sequence[str], folder: Path) -> tuple[int, str, str]:
    """For a page that does not run `tally`."""
    raise AssertionError(words)


@dataclass(slots=True)
class Reader:
    """Follows a page in a folder as a reader does, who types what it shows; `differences` is what went otherwise."""

    folder: Path
    tally: StateCounts = no_tally
    path: str = ""  # the file that was named last
    differences: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)  # what was run, and what it printed

    def follow(self, page: str) -> None:
        """Do what the page says, in its order; stops at the first command whose output is another."""
        before, old = "", ""
        for token in MarkdownIt().parse(page):
            if token.type == "inline":
                before = token.content
            elif token.type == "fence" and not self.differences:
                if token.info == "console":
                    self.differences += self.commands(token.content)
                elif re.search(r"\breplace\Z", before):
                    old = token.content
                    self.path = _named(before) or self.path
                elif re.match(r"by\b", before):
                    self.replace(self.path, old, token.content)
                elif (verb := re.search(r"(Write|Append to) `([^`]+)`:\Z", before)) is not None:
                    self.write(verb[2], token.content, append=verb[1] != "Write")
                else:
                    self.differences.append(f"a block that nothing introduces: {before!r}")

    def write(self, name: str, text: str, append: bool) -> None:
        """Write or lengthen a file."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text((file.read_text("utf-8") if append else "") + text, "utf-8")

    def replace(self, name: str, old: str, new: str) -> None:
        """Replace a text, which is in the file once."""
        file = self.folder / name
        text = file.read_text("utf-8")
        if text.count(old.rstrip("\n")) != 1:
            self.differences.append(f"{name} has {text.count(old)} times: {old}")
        file.write_text(text.replace(old.rstrip("\n"), new.rstrip("\n")), "utf-8")

    def commands(self, block: str) -> Iterator[str]:
        """Run the commands of a block; what was printed otherwise."""
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, shown = part.partition("\n")
            wanted = _STATUS.search(line)
            if line.startswith("cd "):
                self.folder /= line.removeprefix("cd ")
                continue
            status, printed, complaint = self.ran(line)
            self.told.append(f"$ {line}\n{printed}")
            if status != (int(wanted[1]) if wanted else 0):
                yield f"$ {line}\nexit status {status}\n{printed}{complaint}"
                return
            if not matches(shown, printed):
                yield f"$ {line}\nshown:\n{shown}\nprinted:\n{printed}{complaint}"
                return

    def ran(self, line: str) -> tuple[int, str, str]:
        """The status, stdout and stderr of a command: of a shell, or of `tally`, whose stdout may go into a file."""
        words = shlex.split(line, comments=True)
        if words[:1] != ["tally"]:
            done = subprocess.run(["bash", "-c", line], cwd=self.folder, capture_output=True, text=True, check=False)
            return done.returncode, done.stdout, done.stderr
        *command, arrow, name = words if words[-2] in (">", ">>") else (*words, "", "")
        status, printed, complaint = self.tally(command[1:], self.folder)
        if not arrow:
            return status, printed, complaint
        with (self.folder / name).open("a" if arrow == ">>" else "w", encoding="utf-8") as file:
            file.write(printed)
        return status, "", complaint


def _named(sentence: str) -> str:
    found = re.findall(r"[Ii]n `([^`]+)`", sentence)
    return found[-1] if found else ""


def matches(shown: str, printed: str) -> bool:
    """Whether the shown lines are the printed ones; a line `...` is any lines."""
    wanted = "".join(".*?" if line == "...\n" else re.escape(line) for line in shown.splitlines(keepends=True))
    return re.fullmatch(wanted, printed, re.DOTALL) is not None
