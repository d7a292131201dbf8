"""Several processes that train together: each sends its part of a step to rank 0, which sends the whole back."""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import NoReturn

from model import Sums

Part = tuple[list[int], Sums]


@dataclass(frozen=True)
class Ranks:
    """Hold the place of this process among all, and its lines to the others."""

    rank: int
    world_size: int
    lines: list[Connection]  # of rank 0 to each other rank, of any other rank to rank 0
    processes: list[SpawnProcess] = field(default_factory=list)

    def joined(self, samples: list[int], sums: Sums) -> Part:
        """Return the samples of all ranks, in their order, and the sum of their sums; every rank waits for it."""
        if self.rank > 0:
            self.lines[0].send((samples, sums))
            whole: Part = self.lines[0].recv()
            return whole
        for line in self.lines:
            others, more = line.recv()
            samples, sums = samples + others, sums + more
        for line in self.lines:
            line.send((samples, sums))
        return samples, sums

    def kill(self) -> NoReturn:
        """End every process by SIGKILL, which none of them can notice, this one last."""
        for process in self.processes:
            process.kill()
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("unreachable")


def together(world_size: int, work: Callable[[Ranks], None]) -> None:
    """Do some work in `world_size` processes, of which this one is rank 0, and wait for all."""
    context = get_context("spawn")
    lines, processes = [], []
    for rank in range(1, world_size):
        ours, theirs = context.Pipe()
        processes.append(context.Process(target=_other, args=(Ranks(rank, world_size, [theirs]), work), daemon=True))
        processes[-1].start()
        theirs.close()
        lines.append(ours)
    work(Ranks(0, world_size, lines, processes))
    for process in processes:
        process.join()


def _other(ranks: Ranks, work: Callable[[Ranks], None]) -> None:
    try:
        work(ranks)
    except (EOFError, ConnectionError):
        os._exit(1)  # rank 0 is gone, and has said why
