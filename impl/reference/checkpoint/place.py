"""The place of a container or a run: a root that the caller names, and what may go wrong with it."""

from collections.abc import Iterator
from contextlib import contextmanager

from impl.reference.checkpoint import disk
from impl.reference.checkpoint.path import is_container_name
from impl.reference.checkpoint.reason import Fault, refuse


def root_faults(root: str) -> Iterator[Fault]:
    """Yield a fault where the root is not the absolute path of a folder."""
    if not disk.is_root(root):
        yield Fault("root", "BAD_PATH")


def name_faults(name: str) -> Iterator[Fault]:
    """Yield a fault where a container's name could leave the root or hide in it (ruling CA24)."""
    if not is_container_name(name):
        yield Fault("name", "BAD_PATH")


@contextmanager
def usable(operator: str) -> Iterator[None]:
    """Refuse with BAD_PATH where the root cannot be used; any other error of the machine passes through."""
    try:
        yield
    except OSError as error:
        if error.errno not in disk.UNUSABLE:
            raise
        refuse(operator, [Fault("root", "BAD_PATH")])
