"""`tally init`: a new suite whose operator, reference, law, mutants and CI files work at once; CI files of another."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import click

from conformance import __version__
from conformance.cli.console import CommandError, say, writing
from conformance.cli.suite import use_suite
from conformance.contract.suite import Suite
from conformance.contract.suite_file import bundled_suite, find_suite, is_own, read_suite

SKELETONS: Final = Path(__file__).with_name("skeletons")
_REFERENCES: Final[Mapping[str, str]] = {  # the command of the reference in each language
    "python": "python:reference.operators:backend",
    "javascript": "node reference/backend.js",
}
_ENDING: Final = ".txt"
_LAST: Final = "reports/floor.json"  # what `tally init` writes last
CI: Final = "ci"
PROVIDERS: Final[Mapping[str, str]] = {  # the path of the file that each reads
    "github": ".github/workflows/tally.yml",
    "gitlab": ".gitlab-ci.yml",
    "pre-commit": ".pre-commit-config.yaml",
}
_SAFE: Final = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_. +-]*(/[A-Za-z0-9_.][A-Za-z0-9_. +-]*)*\Z")


def filled(name: str, values: Mapping[str, str]) -> str:
    """The text of a skeleton with values for its @WORD@ places."""
    text = (SKELETONS / f"{name}{_ENDING}").read_text("utf-8")
    return re.sub("@([A-Z]+)@", lambda match: values[match[1]], text)


def require_new(files: Iterable[Path], hint: str = "name a new folder") -> None:
    """Refuse existing files; raises CommandError."""
    for file in files:
        if os.path.lexists(file):
            raise CommandError(str(file), "T005", "this file exists already", f"nothing was written; {hint}")


def _is(file: Path, text: str) -> bool:
    """Whether a file has this text."""
    return file.is_file() and file.read_bytes() == text.encode()


def write_files(texts: Mapping[Path, str], root: Path | None = None) -> None:
    """Write whole files and their folders, and print their paths from `root` or from here; raises CommandError."""
    from conformance.vectors.jsontext import write_whole

    for file, text in texts.items():
        with writing(str(file), "make the folder writable, or name another"):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, text)
        say(f"wrote {os.path.relpath(file, root)}")


def repository_of(suite: Path) -> Path:
    """The top of the repository of a suite: the nearest folder above it with a `.git`; else the suite itself.

    The search ends at the user's home and at a folder of another user.
    """
    suite = suite.resolve()
    home = os.environ.get("HOME", "")
    for folder in (suite, *suite.parents):
        if os.path.lexists(folder / ".git"):
            return folder
        if str(folder.parent) == home or not is_own(folder.parent):
            break
    return suite


def ci_files(provider: str, repository: Path, suite: Path) -> dict[Path, str]:
    """The text of every file for a provider, by its path; raises CommandError if the suite's path is unsafe."""
    place = suite.resolve().relative_to(repository).as_posix()
    if not _SAFE.match(place):
        hint = "rename the folder: letters, digits, `_`, `.`, `+`, `-` and blanks are safe in a shell and in YAML"
        raise CommandError(repr(str(suite)), "T003", "the path of the suite cannot be written into a CI file", hint)
    words = {"SUITE": place, "VERSION": __version__}
    file = repository / PROVIDERS[provider]
    name = file.name.lstrip(".") if provider != "github" else "github.yml"
    return {file: filled(f"ci/{name}", words)}


def suite_files(name: str, language: str) -> Mapping[str, str]:
    """The text of every file of a new suite with a reference in some language, by its path."""
    texts = _below(SKELETONS / "suite")
    if language != "python":
        texts = {path: text for path, text in texts.items() if not path.startswith("reference/")}
        texts["tally.toml"] = texts["tally.toml"].replace(_REFERENCES["python"], _REFERENCES[language])
        texts["reference/backend.js"] = (SKELETONS / language / f"backend.js{_ENDING}").read_text(encoding="utf-8")
        texts |= _below(SKELETONS / f"suite-{language}")
    return {path: text.replace("@NAME@", name) for path, text in sorted(texts.items())}


def _below(folder: Path) -> dict[str, str]:
    files = sorted(folder.rglob(f"*{_ENDING}"))
    return {
        file.relative_to(folder).as_posix().removesuffix(_ENDING): file.read_text(encoding="utf-8") for file in files
    }


@click.command("init")
@click.argument("folder", type=click.Path(), metavar="DIR|ci")
@click.option(
    "--language", type=click.Choice([*_REFERENCES]), help="The language of the reference.  [default: python]"
)
@click.option("--provider", type=click.Choice([*PROVIDERS]), help="With `ci`: the service to write the files for.")
@click.option(
    "--suite", type=click.Path(), metavar="DIR", help="With `ci`: the suite; the default is that of the folder."
)
@click.option("--force", is_flag=True, help="With `ci`: overwrite an existing file.")
def command(folder: str, language: str | None, provider: str | None, suite: str | None, force: bool) -> int:
    """Write a new suite into DIR, or with `ci` the CI files of a suite.

    A suite gets contracts, a reference, a law, mutants, vectors, a .gitignore and CI files. Inside DIR, `tally lint`,
    `tally vectors check` and `tally run` succeed at once. `ci` writes files for one service at the top of the
    repository: they lint, check the vectors, test the backend, upload JUnit and SARIF, publish the page and the badge,
    and verify the suite's certificates. Existing files are never overwritten without --force. Exit status: 0 written,
    2 a file is in the way or cannot be written.

    \b
    Examples:
      tally init contracts --language javascript
      tally init ci --provider github --suite contracts
    """
    if folder == CI and not provider:
        hint = f"add --provider {'|'.join(PROVIDERS)}; a new suite in a folder of this name is `tally init ./ci`"
        raise CommandError("tally init ci", "T006", "no service is named", hint)
    if folder == CI and language:
        raise CommandError("--language", "T006", "it is only for a new suite", "leave it out")
    if folder == CI:
        return _ci(str(provider), find_suite(suite or os.environ.get("TALLY_SUITE", ""), Path.cwd()), force)
    if provider or suite or force:
        option = next(f"--{name}" for name in ("provider", "suite", "force") if locals()[name])
        raise CommandError(
            option, "T006", "it is only for `tally init ci`", "a new suite gets the files of all services"
        )
    return _suite(Path(folder), language or "python")


def _ci(provider: str, suite: Suite, force: bool) -> int:
    if suite.root == bundled_suite().root:
        hint = "name one with --suite DIR; `tally init DIR` makes one"
        raise CommandError("tally init ci", "T003", "there is no suite of your own here", hint)
    files = ci_files(provider, repository_of(suite.root), suite.root)
    if not force:
        require_new(files, "--force overwrites it, or move your file away and merge the two")
    write_files(files)
    return 0


def _suite(folder: Path, language: str) -> int:
    from conformance.cli.mutants import KINDS, judge_mutants
    from conformance.contract.library import load_library
    from conformance.vectors.frozen.build import build

    files = suite_files(re.sub(r"[^\w.-]", "-", folder.resolve().name) or "suite", language)
    finished = os.path.lexists(folder / _LAST)  # else an interrupted `tally init` may have left some of the files
    require_new(folder / name for name, text in files.items() if finished or not _is(folder / name, text))
    program = _REFERENCES[language].partition(" ")
    if program[1] and shutil.which(program[0]) is None:
        hint = f"nothing was written; install {program[0]}, or leave out --language"
        raise CommandError(f"--language {language}", "T001", f"there is no program {program[0]!r}", hint)
    write_files({folder / name: text for name, text in files.items()})
    suite = read_suite(folder)
    built, touched = build(load_library(suite))
    assert not built.problems, built.problems
    for name in touched:
        say(f"wrote {folder / name}")
    _write_missing({folder / ".gitignore": filled("gitignore", {})}, "the suite's tools leave __pycache__/ and others")
    _ci_files_of(suite)
    use_suite(suite)
    status = judge_mutants((), KINDS, 2, changed=False, write=True)
    say(f"\nnext, in {folder}: `tally run`; then `tally new-operator NAME`; see docs/suites.md")
    return status


def _ci_files_of(suite: Suite) -> None:
    """Write the missing CI files of a new suite; none for a path that they cannot contain."""
    repository = repository_of(suite.root)
    for provider in PROVIDERS:
        try:
            files = ci_files(provider, repository, suite.root)
        except CommandError as complaint:
            say(f"no CI files: {complaint}", err=True)
            return
        _write_missing(files, "see `tally init ci --help`")


def _write_missing(texts: Mapping[Path, str], advice: str) -> None:
    """Write the files that are not there; say of the others that they stay."""
    for file, text in texts.items():
        if os.path.lexists(file):
            say(f"left as it is: {file}; {advice}")
        else:
            write_files({file: text})
