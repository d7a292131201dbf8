"""Laws of whole epochs and of the two seeded helpers, and the sampler runs that they ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, repeat
from typing import Any, Final

from conformance.backend.driver import Call
from conformance.trial.law import (
    Asking,
    Axes,
    Law,
    LawBroken,
    LawTalk,
    Point,
    Split,
    Tools,
    derived_bytes,
    must,
    must_be_permutation,
    must_equal,
    slug,
)

NEXT_BATCH: Final = "UML_OS.Data.NextBatch_v2"
BLOCK_PERMUTE: Final = "UML_OS.Data.SeededBlockPermute_v1"
INTRA_BLOCK_MAP: Final = "UML_OS.Data.SeededIntraBlockMap_v1"
DATASET_KEYS: Final = ("d", "e")
Cursor = Mapping[str, int]
START: Final[Cursor] = {"epoch": 0, "global_index": 0}
_TELLING_BLOCKS: Final = 8  # fewer blocks have so few orders that several seeds may well share one
_MOST_DRAWS: Final = 20_000  # of an epoch; the reference takes 8 microseconds for one
_MOST_STEPS: Final = 1_000


@dataclass(frozen=True, slots=True)
class SamplerRun:
    """The inputs that are the same in all calls of a run; `seed` names the replay token, `snapshot` the manifest hash.

    The manifest contains both DATASET_KEYS with the same cardinality, so that only the key tells them apart.
    """

    cardinality: int
    batch: int
    block: int
    stage: str = "train"
    drop_last: bool = False
    seed: int = 0
    snapshot: int = 0
    dataset_key: str = DATASET_KEYS[0]

    @property
    def epoch_limit(self) -> int:
        """The samples of one epoch (seed 000 §I.C)."""
        dropped = self.cardinality % self.batch if self.stage == "train" and self.drop_last else 0
        return self.cardinality - dropped

    @property
    def refused(self) -> bool:
        """Whether a guard refuses the run: with drop_last no batch of train may exceed the data (requirement N06)."""
        return self.epoch_limit == 0

    @property
    def affordable(self) -> bool:
        """Whether no guard refuses the run and an epoch takes few steps and draws.

        A backend may order the blocks anew in every call; the draws are the steps times the blocks.
        """
        steps = len(self.cursors(0))
        blocks = self.cardinality // self.block if self.stage == "train" else 0
        return not self.refused and steps <= _MOST_STEPS and steps * (1 + blocks) <= _MOST_DRAWS

    def cursors(self, epoch: int) -> list[Cursor]:
        """The cursors at which the batches of an epoch begin."""
        return [{"epoch": epoch, "global_index": index} for index in range(0, self.epoch_limit, self.batch)]

    def call(self, tools: Tools, cursor: Cursor, world_size: int = 1, rank: int = 0, t: int = 0) -> Call:
        """The call of one rank at a cursor."""
        manifest = {
            "datasets": {key: _dataset(key, self.cardinality) for key in DATASET_KEYS},
            "global_batch_size": self.batch,
            "data": {"sampler_block_size": self.block, "drop_last": self.drop_last},
        }
        inputs = {
            "manifest": manifest,
            "dataset_key": self.dataset_key,
            "world_size": world_size,
            "rank": rank,
            "stage_type": self.stage,
            "cursor_in": dict(cursor),
            "kernel_replay_token": derived_bytes(f"token {self.seed}", 32),
            "manifest_hash": derived_bytes(f"manifest {self.snapshot}", 32),
            "t": t,
        }
        return tools.call(NEXT_BATCH, inputs)


def _dataset(key: str, cardinality: int) -> dict[str, Any]:
    content = derived_bytes(f"dataset {key}", 32)
    return {"id": f"dataset-{key}", "version": "1", "hash": content, "cardinality": cardinality}


@dataclass(frozen=True, slots=True)
class Step:
    """One global batch: its cursor, and the call and the answer of each rank."""

    cursor: Cursor
    calls: tuple[Call, ...]
    answers: tuple[Mapping[str, Any], ...]

    @property
    def indices(self) -> list[int]:
        """The ranks' indices, concatenated in the order of the ranks."""
        return [index for answer in self.answers for index in answer["batch_sample_indices"]]

    @property
    def cursor_next(self) -> Cursor:
        """The cursor that the last rank answered."""
        found: Cursor = self.answers[-1]["cursor_next"]
        return found


def ask_steps(
    tools: Tools, run: SamplerRun, cursors: Sequence[Cursor], world_size: int = 1, t: int = 0
) -> Asking[list[Step]]:
    """The global batches at several cursors, all asked at once; `t` counts them."""
    calls = [
        run.call(tools, cursor, world_size, rank, t + number)
        for number, cursor in enumerate(cursors)
        for rank in range(world_size)
    ]
    answers = yield from tools.ask(calls)
    parts = [slice(start, start + world_size) for start in range(0, len(calls), world_size)]
    return [Step(cursor, tuple(calls[p]), tuple(answers[p])) for cursor, p in zip(cursors, parts, strict=True)]


def ask_epoch(tools: Tools, run: SamplerRun, epoch: int = 0) -> Asking[list[Step]]:
    """The steps of an epoch, all asked at once; raises LawBroken where a cursor does not lead to the next step."""
    steps = yield from ask_steps(tools, run, run.cursors(epoch))
    following = [*(step.cursor for step in steps[1:]), {"epoch": epoch + 1, "global_index": 0}]
    for step, after in zip(steps, following, strict=True):
        if step.cursor_next != after:
            moved = f"the cursor moved from {shown(step.cursor)} to {shown(step.cursor_next)}, not to {shown(after)}"
            raise LawBroken(moved, step.calls[0])
    return steps


def walk(tools: Tools, run: SamplerRun, count: int, world_sizes: Iterable[int] = repeat(1)) -> Asking[list[Step]]:
    """`count` steps from the start, each at the cursor that the previous one answered."""
    steps: list[Step] = []
    cursor = START
    for t, world_size in zip(range(count), world_sizes, strict=False):
        steps += yield from ask_steps(tools, run, [cursor], world_size, t)
        cursor = steps[-1].cursor_next
    return steps


def indices_of(steps: Sequence[Step]) -> list[int]:
    """The indices of several steps, in their order."""
    return [index for step in steps for index in step.indices]


def shown(cursor: Cursor) -> str:
    """A cursor as messages show it: {epoch,global_index}."""
    return f"{{{cursor['epoch']},{cursor['global_index']}}}"


def _derived_seed(number: int) -> bytes:
    """The epoch seed with a number."""
    return derived_bytes(f"epoch seed {number}", 16)


def _block_order_bijection(tools: Tools, num_blocks: int, seeds: Sequence[int]) -> LawTalk:
    (count,) = seeds
    inputs = [{"num_blocks": num_blocks, "epoch_seed": _derived_seed(number)} for number in range(count)]
    calls = [tools.call(BLOCK_PERMUTE, one) for one in inputs]
    *answers, again = yield from tools.ask([*calls, calls[0]])
    orders = [answer["block_order"] for answer in answers]
    for call, order in zip(calls, orders, strict=True):
        must_be_permutation(order, 0, num_blocks, "the block order", call)
    must(again["block_order"] == orders[0], "the same seed was asked for twice and gave two block orders", calls[0])
    if num_blocks >= _TELLING_BLOCKS and count > 1:
        differ = any(order != orders[0] for order in orders)
        must(differ, f"{count} different seeds all put {num_blocks} blocks in the same order", calls[1])


def _tails(chosen: Axes) -> Iterator[tuple[str, Point]]:
    """One instance per size and seed; one more for every tail that is shorter than the size."""
    for block_size in chosen["block_size"]:
        for tail in (None, *(tail for tail in chosen["tail"] if tail < block_size)):
            for seed in range(chosen["seeds"][0]):
                named = {"block_size": block_size, **({} if tail is None else {"tail": tail}), "seed": seed}
                yield slug(named), {"tail": None, **named, "block_ids": chosen["block_id"]}


def _block_bijection(tools: Tools, block_size: int, tail: int | None, seed: int, block_ids: Sequence[int]) -> LawTalk:
    """With a tail, each block is a short last one behind as many full blocks as its id says."""
    length = block_size if tail is None else tail
    for block_id in block_ids:
        # Full blocks: the last one ends with the data, the others have data behind them.
        end = (max(block_ids) + 1) * block_size if tail is None else block_id * block_size + tail
        shared = {"block_id": block_id, "block_size": block_size, "epoch_seed": _derived_seed(seed), "cardinality": end}
        calls = [tools.call(INTRA_BLOCK_MAP, {**shared, "local_pos": local_pos}) for local_pos in range(length)]
        answers = yield from tools.ask(calls)
        indices = [answer["original_index"] for answer in answers]
        start, what = block_id * block_size, f"block {block_id} of {length} samples"
        must_be_permutation(indices, start, start + length, what, calls[0])
        _must_be_affine(indices, length, what)


def _must_be_affine(indices: Sequence[int], length: int, what: str) -> None:
    strides = [(after - before) % length for before, after in pairwise(indices)]
    for position, stride in enumerate(strides):
        must(
            stride == strides[0],
            f"{what}: from position {position} to the next the index moves by {stride} modulo {length}, "
            f"but by {strides[0]} from position 0",
        )


def _affordable(**fixed: Any) -> Callable[[Point], bool]:
    """Whether the run of a point is affordable."""

    def fits(point: Point) -> bool:
        block = point.get("block", point["cardinality"])
        return SamplerRun(point["cardinality"], point["batch"], block, **fixed).affordable

    return fits


def _epoch_bijection(tools: Tools, cardinality: int, batch: int, block: int, seed: int) -> LawTalk:
    """Token k is asked for epoch k."""
    steps = yield from ask_epoch(tools, SamplerRun(cardinality, batch, block, seed=seed), seed)
    indices = indices_of(steps)
    must_be_permutation(indices, 0, cardinality, f"epoch {seed}", steps[-1].calls[0])
    # Full blocks come whole, and a short tail block last (requirement N12).
    for start in range(0, cardinality, block):
        blocks = {index // block for index in indices[start : start + block]}
        must(len(blocks) == 1, f"epoch {seed}: the positions from {start} on mix several blocks", steps[0].calls[0])


def _drop_last_epoch(tools: Tools, cardinality: int, batch: int, block: int) -> LawTalk:
    run = SamplerRun(cardinality, batch, block, drop_last=True)
    steps = yield from ask_epoch(tools, run)
    # What is dropped is the rest of the kept epoch's order; the order itself is not a shorter one.
    kept = yield from ask_steps(tools, replace(run, drop_last=False), run.cursors(0))
    for step, whole in zip(steps, kept, strict=True):
        came = len(step.indices)
        must(came == run.batch, f"a batch of {came} samples from {shown(step.cursor)}", step.calls[0])
        what = f"the batch at {shown(step.cursor)}, compared with the kept epoch's"
        must_equal(whole.indices, step.indices, what, step.calls[0])
    indices = indices_of(steps)
    must(len(set(indices)) == run.epoch_limit, "the epoch repeats a sample", steps[-1].calls[0])
    # A cursor that was saved while nothing was dropped may lie behind the limit (ruling NA11).
    behind = sorted({run.epoch_limit, run.cardinality - 1} if run.epoch_limit < run.cardinality else ())
    for step in (yield from ask_steps(tools, run, [{"epoch": 0, "global_index": index} for index in behind])):
        must(not step.indices, f"samples came from {shown(step.cursor)}, after the epoch's limit", step.calls[0])
        must_equal({"epoch": 1, "global_index": 0}, step.cursor_next, "the cursor after the limit", step.calls[0])


def _eval_sequence(
    tools: Tools, cardinality: int, batch: int, stages: Sequence[str], drop_last: Sequence[bool]
) -> LawTalk:
    """Every stage and setting is compared with the first."""
    first: list[Step] = []
    for drops in drop_last:
        for stage in stages:
            run = SamplerRun(cardinality, batch, cardinality, stage, drops)
            what = f"{stage} with drop_last {str(drops).lower()}"
            steps = yield from ask_epoch(tools, run)
            must_equal(list(range(cardinality)), indices_of(steps), what, steps[-1].calls[0])
            for step in steps:
                expected, came = min(batch, cardinality - step.cursor["global_index"]), len(step.indices)
                where = f"{came} samples from {shown(step.cursor)}"
                must(came == expected, f"{what}: {where}, not {expected}", step.calls[0])
            (again,) = yield from ask_steps(tools, run, [{"epoch": 1, "global_index": 0}])
            must_equal(steps[0].indices, again.indices, f"{what}: the next epoch", again.calls[0])
            # drop_last is part of the configuration's hash; without it eval and infer are the same to the last field.
            if first and drops == drop_last[0]:
                for one, other in zip(first, steps, strict=True):
                    must_equal(one.answers, other.answers, f"{what} at {shown(other.cursor)}", other.calls[0])
            first = first or steps


def _epoch_reseeding(tools: Tools, cardinality: int, batch: int, block: int, epochs: Sequence[int]) -> LawTalk:
    """The cardinality must be large enough that equal orders cannot be chance."""
    run = SamplerRun(cardinality, batch, block)
    first: dict[str, Step] = {}
    for epoch in range(epochs[0]):
        steps = yield from ask_epoch(tools, run, epoch)
        must_be_permutation(indices_of(steps), 0, cardinality, f"epoch {epoch}", steps[-1].calls[0])
        first[f"epoch {epoch}"] = steps[0]
    others = {
        "epoch 0 with another replay token": replace(run, seed=run.seed + 1),
        "epoch 0 with another manifest hash": replace(run, snapshot=run.snapshot + 1),
        "epoch 0 of another dataset key": replace(run, dataset_key=DATASET_KEYS[1]),
    }
    for name, other in others.items():
        (first[name],) = yield from ask_steps(tools, other, [START])
    for (left, one), (right, another) in combinations(first.items(), 2):
        must(one.indices != another.indices, f"{left} and {right} begin with the same batch", another.calls[0])
    # Each epoch is asked for alone, the last one first: no order depends on the epoch before.
    for epoch in reversed(range(epochs[0])):
        (step,) = yield from ask_steps(tools, run, [{"epoch": epoch, "global_index": 0}])
        must_equal(first[f"epoch {epoch}"].indices, step.indices, f"epoch {epoch}, asked for again", step.calls[0])


_SIZES: Final = {"cardinality": [1, 10, 97], "batch": [1, 4, 48], "block": [1, 3, 64]}
LAWS: Final = (
    Law(
        "block-order-bijection",
        _block_order_bijection,
        {"num_blocks": [1, 2, 3, 5, 8, 64, 1000], "seeds": 8},
        Split(whole=("seeds",)),
    ),
    Law(
        "block-bijection",
        _block_bijection,
        {"block_size": [1, 2, 3, 7, 64, 210, 1000], "block_id": [0, 1, 5], "tail": [1, 2, 40], "seeds": 3},
        _tails,
    ),
    Law(
        "epoch-bijection", _epoch_bijection, {**_SIZES, "seeds": 2}, Split(counts={"seeds": "seed"}, fits=_affordable())
    ),
    Law("drop-last-epoch", _drop_last_epoch, _SIZES, Split(fits=_affordable(drop_last=True))),
    Law(
        "eval-sequence",
        _eval_sequence,
        {"cardinality": [1, 10, 97], "batch": [1, 4, 48], "stages": ["eval", "infer"], "drop_last": [False, True]},
        Split(whole=("stages", "drop_last"), fits=_affordable(stage="eval")),
    ),
    Law(
        "epoch-reseeding",
        _epoch_reseeding,
        {"cardinality": [64, 200], "batch": 64, "block": [1, 16, 2000], "epochs": 4},
        Split(whole=("epochs",), fits=_affordable()),
    ),
)
