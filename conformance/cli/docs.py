"""`tally docs`: the pages of this version; an installed package has them too."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.cli.console import require_known, say
from conformance.contract.suite_file import bundled_suite


def pages() -> dict[str, Path]:
    """The pages by name, in their order."""
    root = bundled_suite().root
    found = [root / "README.md", *sorted((root / "docs").glob("*.md")), root / "spec" / "README.md"]
    there = [file for file in found if file.is_file()]
    return {file.stem.lower() if file.parent.name != "spec" else "specification": file for file in there}


@click.command("docs")
@click.argument("page", required=False)
@click.option("--path", "as_path", is_flag=True, help="Print where the page is, instead of the page.")
def command(page: str | None, as_path: bool) -> int:
    """List the pages of the documentation, or print one as Markdown.

    `help(tallystick.Sampler)` in Python shows the reference of one name; `nox -s docs` in a checkout makes the whole.

    \b
    Examples:
      tally docs
      tally docs context-streams
    """
    known = pages()
    if page is None:
        for name, file in known.items():
            with file.open(encoding="utf-8") as lines:
                title = next(lines, "").lstrip("# ").strip()
            say(f"{name:<20} {file if as_path else title}")
        return 0
    name = page.lower().removesuffix(".md").rpartition("/")[2]
    require_known(f"page {page!r}", name, known, "no page has this name", "`tally docs` lists the pages")
    say(str(known[name]) if as_path else known[name].read_text("utf-8").rstrip("\n"))
    return 0
