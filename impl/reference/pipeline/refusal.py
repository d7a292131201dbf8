"""What the file queue refuses, with the code of the registry and a sentence for the user."""


class Refusal(Exception):
    """A refusal that the contract declares: `code` from the registry; the text says what was wrong and where."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class QueueTimeout(Refusal, TimeoutError):
    """No batch arrived in time (ruling QA24)."""

    def __init__(self, sentence: str) -> None:
        super().__init__("QUEUE_TIMEOUT", sentence)


class Corrupt(Exception):
    """The content of a batch file is not one (ruling QA14)."""


class Foreign(Exception):
    """A batch file is whole, but something in it is not this queue's; says which key (ruling QA35)."""
