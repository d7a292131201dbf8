"""One file of the specification as a source that is known to fit its schema."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from conformance.contract.companion import companion_of, joined
from conformance.contract.finder import Layout
from conformance.contract.memo import NOTHING, Memo, digest_of_files, digest_of_texts
from conformance.contract.places import packed, unpacked
from conformance.contract.position import MalformedContract, Problem
from conformance.contract.snapshot import Snapshot
from conformance.contract.source import Source, parse, read


class Reader:
    """Reads the files of a specification as they were when it began; `problems` is what was wrong with them."""

    def __init__(self, layout: Layout, snapshot: Snapshot, memo: Memo) -> None:
        self.layout, self.snapshot, self.memo = layout, snapshot, memo
        self.problems: list[Problem] = []
        self._schemas = digest_of_files(snapshot.below("schema"))

    def checked(self, file: Path, schema: str) -> Source | None:
        """The parsed file if it exists and fits its schema; problems are noted, not raised."""
        if not os.path.lexists(file):
            return None
        beside = companion_of(file) if schema == "contract" else None
        files = [one for one in (file, beside) if one is not None and (one == file or one.exists())]
        made_from = self._digest(schema, files)
        plain = self.memo.get("source", made_from)
        if plain is not NOTHING:
            text = "".join(self.snapshot[one].decode("utf-8") for one in files)
            return unpacked(plain, self.layout.shown(file), text)
        source = self._fit(schema, files)
        if source is not None and made_from:
            self.memo.put("source", made_from, packed(source))
        return source

    def _digest(self, schema: str, files: list[Path]) -> str:
        """What the source of these files is made from; empty where they are not in the snapshot."""
        if not all(one in self.snapshot for one in files):
            return ""
        contents = [hashlib.sha256(self.snapshot[one]).hexdigest() for one in files]
        return digest_of_texts((self._schemas, schema, *map(self.layout.shown, files), *contents))

    def _fit(self, schema: str, files: list[Path]) -> Source | None:
        try:
            source, *cases = map(self._parsed, files)
            if schema == "contract":
                for one in cases:
                    source = joined(source, one)
                # Imported here, and the schemas below: what is known already needs neither.
                from conformance.contract.shorthand import written_out

                source = written_out(source)
        except MalformedContract as error:
            self.problems += error.problems
            return None
        if schema == "contract" and isinstance(source.value, dict) and "machine" in source.value:
            schema = "machine"
        from conformance.contract.schema import violations

        found = list(violations(source, self.layout.spec / "schema" / f"{schema}.schema.json"))
        self.problems += found
        return None if found else source

    def _parsed(self, file: Path) -> Source:
        shown = self.layout.shown(file)
        if file in self.snapshot:
            try:
                return parse(self.snapshot[file].decode("utf-8"), shown)
            except UnicodeDecodeError:
                pass
        return read(file, shown)
