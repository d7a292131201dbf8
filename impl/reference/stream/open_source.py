"""From the declaration of a source to the source."""

from pathlib import Path
from typing import Final

from impl.reference.stream.declaration import AnyDeclaration, SourceDeclaration
from impl.reference.stream.fixed_tokens import ListedTokens
from impl.reference.stream.interactive_tokens import InteractiveTokens
from impl.reference.stream.interleaved_tokens import InterleavedTokens
from impl.reference.stream.shuffled_tokens import ShuffledTokens
from impl.reference.stream.token_file import ARRAY, TokenFile, UnusableFile
from impl.reference.stream.token_source import OnEnd, TokenSource

DEFAULT_ON_END: Final[OnEnd] = "wrap"


def open_source(source: SourceDeclaration, root: str | None) -> TokenSource:
    """Open a complete source, whose files stand below the root; UnusableFile."""
    on_end = source.on_end or DEFAULT_ON_END
    match source.kind:
        case "interactive":
            return InteractiveTokens()
        case "interleaved":
            parts = [_open_part(part, root) for part in source.parts or []]
            return InterleavedTokens(parts, source.pattern or [], on_end)
        case "shuffled":
            (part,) = source.parts or []
            return ShuffledTokens(_open_part(part, root), source.seed or b"", on_end)
    return _open_part(source, root)


def _open_part(source: AnyDeclaration, root: str | None) -> TokenSource:
    on_end = source.on_end or DEFAULT_ON_END
    boundaries = source.boundaries or []
    if source.kind == "file":
        path = source.path or ""
        return TokenFile(_below(root, path), source.dtype, boundaries, on_end, is_array=path.endswith(ARRAY))
    return ListedTokens(source.tokens or [], boundaries, on_end)


def _below(root: str | None, path: str) -> Path:
    """Return a path below the root; UnusableFile for one that is not plain or that leads out."""
    if root is None or "\x00" in path or any(part in ("", ".", "..") for part in path.split("/")):
        raise UnusableFile("not a path below a root")
    try:
        found = Path(root, path).resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise UnusableFile(str(error)) from None
    if not found.is_relative_to(Path(root).resolve()):
        raise UnusableFile("the path leads out of the root")
    return found
