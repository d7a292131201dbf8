"""Deterministic samplers, queues, token streams, batches and checkpoints, each with a contract and a conformance suite.

Every name is imported when it is first used. Errors are `ContractFailure`: `code` and `data` are those of the contract,
the text says which field is wrong, what is allowed, what was given and what to do. Further names of a family are in
`tallystick.stream`, `tallystick.queue`, `tallystick.batch`, `tallystick.checkpoint`, `tallystick.telemetry`, and
`tallystick.torch` (extra).
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as type checkers know it; `typing` itself would cost most of the time of this import
if TYPE_CHECKING:
    from typing import Any, Final

    from conformance import __version__ as __version__
    from conformance.trial.session import run_trial as run_trial
    from impl.failure import ContractFailure as ContractFailure
    from impl.library.batch import BatchBuilder as BatchBuilder
    from impl.library.batch import describe_database as describe_database
    from impl.library.batch import open_database as open_database
    from impl.library.checkpoint import commit_run as commit_run
    from impl.library.checkpoint import read_container as read_container
    from impl.library.checkpoint import recover_run as recover_run
    from impl.library.checkpoint import write_container as write_container
    from impl.library.queue import DataProvider as DataProvider
    from impl.library.queue import DatasetConsumer as DatasetConsumer
    from impl.library.stream import ContextStream as ContextStream
    from impl.library.stream import restore_checkpoint as restore_checkpoint
    from impl.library.stream import save_checkpoint as save_checkpoint
    from impl.vectorized.records import Cursor as Cursor
    from impl.vectorized.sampler import Sampler as Sampler
    from impl.vectorized.sampler import prefetched as prefetched

__all__ = [
    "BatchBuilder",
    "ContextStream",
    "ContractFailure",
    "Cursor",
    "DataProvider",
    "DatasetConsumer",
    "Sampler",
    "commit_run",
    "describe_database",
    "open_database",
    "prefetched",
    "read_container",
    "recover_run",
    "restore_checkpoint",
    "run_trial",
    "save_checkpoint",
    "write_container",
]

_MODULES: Final = {
    "conformance": ["__version__"],
    "conformance.trial.session": ["run_trial"],
    "impl.failure": ["ContractFailure"],
    "impl.library.batch": ["BatchBuilder", "describe_database", "open_database"],
    "impl.library.checkpoint": ["commit_run", "read_container", "recover_run", "write_container"],
    "impl.library.queue": ["DataProvider", "DatasetConsumer"],
    "impl.library.stream": ["ContextStream", "restore_checkpoint", "save_checkpoint"],
    "impl.vectorized.records": ["Cursor"],
    "impl.vectorized.sampler": ["Sampler", "prefetched"],
}
_PLACES: Final = {name: module for module, names in _MODULES.items() for name in names}
_SUBMODULES: Final = ("batch", "checkpoint", "queue", "stream", "telemetry", "torch")


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"tallystick.{name}")
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=import_module(__name__))
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBMODULES, "__version__"])
