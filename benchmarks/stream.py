"""Measure a context stream over a file against copying its tokens: `python benchmarks/stream.py`.

A file of 2^22 words of 16 bits is read in chunks of 1,024. The yardstick is the copy alone: the same words as a list.
A cursor is asked for after every chunk in another run, because only there the content is hashed. The last run is that
of the library, whose chunks are arrays; it keeps a copy of each.
"""

import sys
import tempfile
import time
from array import array
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from impl.library import stream as library
from impl.library.token_sources import TokenFile as LibraryFile
from impl.reference.stream.context_stream import ContextStream
from impl.reference.stream.token_file import TokenFile

WORDS, CHUNK, ROUNDS = 1 << 22, 1024, 7
TARGET = 10  # microseconds for a chunk, beside the copy


def best(action: Callable[[], None], times: int) -> float:
    """Return the processor microseconds of one of so many actions, in the best of several rounds."""
    found = float("inf")
    for _ in range(ROUNDS):
        since = time.process_time()
        for _ in range(times):
            action()
        found = min(found, time.process_time() - since)
    return 1e6 * found / times


def main() -> int:
    """Measure and print every figure; with --check 1 where a chunk costs more than the target beside the copy."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "words.bin"
        file.write_bytes(array("H", [k % 50_021 for k in range(WORDS)]).tobytes())
        source = TokenFile(file, "u16")
        stream = ContextStream(source)
        times = WORDS // CHUNK
        words = file.read_bytes()[: 2 * CHUNK]
        copy = best(lambda: _copy(words), times)
        chunk = best(lambda: _step(stream), times)
        hashed = best(lambda: _hashed(stream), times // 64)
        arrays = library.ContextStream(LibraryFile(file, "u16"))
        array_chunk = best(lambda: _step(arrays), times)
    print(f"copy         {copy:8.2f} us for {CHUNK} tokens")
    print(f"next-chunk   {chunk:8.2f} us, copy + {chunk - copy:.2f} us (at most copy + {TARGET}), {chunk / copy:.2f}x")
    print(f"with cursor  {hashed:8.2f} us, the content hashed for each")
    print(f"array-chunk  {array_chunk:8.2f} us, copy {array_chunk - copy:+.2f} us (at most copy + {TARGET})")
    return 0 if max(chunk, array_chunk) - copy <= TARGET or "--check" not in sys.argv[1:] else 1


def _copy(words: bytes) -> None:
    tokens = array("H")
    tokens.frombytes(words)
    tokens.tolist()


def _step(stream: ContextStream) -> None:
    stream.next_chunk(CHUNK)
    stream.advance(1)


def _hashed(stream: ContextStream) -> None:
    _step(stream)
    stream.cursor()


if __name__ == "__main__":
    sys.exit(main())
