"""Documents read ahead in a thread, within a bound of tokens."""

from collections import deque
from collections.abc import Iterator, Sequence
from threading import Condition, Thread

from impl.reference.stream.iterator_tokens import OpenDocuments


def prefetched(open_documents: OpenDocuments, most_tokens: int) -> OpenDocuments:
    """Return the same documents, read ahead in a thread of their own (requirement S34).

    The thread rests while it holds `most_tokens` or more, so that it never holds more than that and one document. An
    error of the iterator is raised where its document would have come.
    """

    def documents() -> Iterator[Sequence[int]]:
        reader = _Reader(open_documents, most_tokens)
        try:
            yield from iter(reader.next_document, None)
        finally:
            reader.stop()

    return documents


class _Reader:
    def __init__(self, open_documents: OpenDocuments, most_tokens: int) -> None:
        self._open = open_documents
        self._most = most_tokens
        self._ready: deque[Sequence[int]] = deque()
        self._tokens = 0
        self._error: BaseException | None = None
        self._is_over = self._is_stopped = False
        self._changed = Condition()
        Thread(target=self._run, name="stream-prefetch", daemon=True).start()

    def next_document(self) -> Sequence[int] | None:
        """Return the next document, None after the last; waits for the thread."""
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._is_over)
            if self._ready:
                document = self._ready.popleft()
                self._tokens -= len(document)
                self._changed.notify_all()
                return document
            if self._error is not None:
                raise self._error
            return None

    def stop(self) -> None:
        """Let the thread end and forget what it holds."""
        with self._changed:
            self._is_stopped = True
            self._ready.clear()
            self._changed.notify_all()

    def _run(self) -> None:
        error: BaseException | None = None
        try:
            for document in self._open():
                if not self._take(document):
                    return
        except BaseException as raised:  # SystemExit, too: whoever waits would wait for ever
            error = raised
        with self._changed:
            self._error, self._is_over = error, True
            self._changed.notify_all()

    def _take(self, document: Sequence[int]) -> bool:
        with self._changed:
            self._ready.append(document)
            self._tokens += len(document)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._tokens < self._most or self._is_stopped)
            return not self._is_stopped
