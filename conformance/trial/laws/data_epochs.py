"""Laws of whole epochs and of the two seeded helpers, which are bijections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise
from typing import Any, Final

from conformance.backend.driver import Call
from conformance.contract.model import Contract, LawUse
from conformance.trial.laws.data_shards import (
    DATASET_KEYS,
    NEXT_BATCH,
    START,
    SamplerRun,
    Step,
    ask_epoch,
    ask_steps,
    indices_of,
    shown,
)
from conformance.trial.laws.law import (
    Axes,
    Instance,
    Law,
    LawTalk,
    Point,
    Tools,
    axes,
    derived_bytes,
    grid,
    must,
    must_be_permutation,
    must_equal,
    slug,
)

BLOCK_PERMUTE: Final = "UML_OS.Data.SeededBlockPermute_v1"
INTRA_BLOCK_MAP: Final = "UML_OS.Data.SeededIntraBlockMap_v1"
_TELLING_BLOCKS: Final = 8  # fewer blocks have so few orders that several seeds may well share one


def derived_seed(number: int) -> bytes:
    """The epoch seed that a number stands for."""
    return derived_bytes(f"epoch seed {number}", 16)


def block_orders(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {num_blocks: sizes, seeds: how many derived seeds}`; one instance per size."""
    chosen = axes(use, {"num_blocks": [1, 2, 3, 5, 8, 64, 1000], "seeds": 8})
    for num_blocks in chosen["num_blocks"]:
        talk = partial(_block_order_bijection, tools, num_blocks, chosen["seeds"][0])
        yield Instance(slug({"num_blocks": num_blocks}), talk)


def _block_order_bijection(tools: Tools, num_blocks: int, seeds: int) -> LawTalk:
    calls = [
        tools.call(BLOCK_PERMUTE, {"num_blocks": num_blocks, "epoch_seed": derived_seed(number)})
        for number in range(seeds)
    ]
    *answers, again = yield from tools.ask([*calls, calls[0]])
    orders = [answer["block_order"] for answer in answers]
    for call, order in zip(calls, orders, strict=True):
        must_be_permutation(order, 0, num_blocks, "the block order", call)
    must(again["block_order"] == orders[0], "the same seed was asked for twice and gave two block orders", calls[0])
    if num_blocks >= _TELLING_BLOCKS and seeds > 1:
        differ = any(order != orders[0] for order in orders)
        must(differ, f"{seeds} different seeds all put {num_blocks} blocks in the same order", calls[1])


def blocks(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {block_size: sizes, block_id: ids, tail: lengths of a short last block, seeds: how many derived seeds}`.

    One instance per size and seed; one more for every tail that is shorter than the size, behind that many full blocks
    as each id says.
    """
    defaults = {"block_size": [1, 2, 3, 7, 64, 210, 1000], "block_id": [0, 1, 5], "tail": [1, 2, 40], "seeds": 3}
    chosen = axes(use, defaults)
    for block_size in chosen["block_size"]:
        for tail in (None, *(tail for tail in chosen["tail"] if tail < block_size)):
            for seed in range(chosen["seeds"][0]):
                named = {"block_size": block_size, **({} if tail is None else {"tail": tail}), "seed": seed}
                talk = partial(_block_bijection, tools, block_size, chosen["block_id"], tail, seed)
                yield Instance(slug(named), talk)


def _block_bijection(tools: Tools, block_size: int, block_ids: Sequence[int], tail: int | None, seed: int) -> LawTalk:
    length = block_size if tail is None else tail
    questions = []
    for block_id in block_ids:
        # Full blocks: the last one ends with the data, the others have data behind them.
        end = (max(block_ids) + 1) * block_size if tail is None else block_id * block_size + tail
        shared = {"block_id": block_id, "block_size": block_size, "epoch_seed": derived_seed(seed), "cardinality": end}
        questions += [tools.call(INTRA_BLOCK_MAP, {**shared, "local_pos": local_pos}) for local_pos in range(length)]
    answers = yield from tools.ask(questions)
    indices = [answer["original_index"] for answer in answers]
    for number, block_id in enumerate(block_ids):
        own = slice(number * length, (number + 1) * length)
        start, what = block_id * block_size, f"block {block_id} of {length} samples"
        must_be_permutation(indices[own], start, start + length, what, questions[own.start])
        _must_be_affine(indices[own], length, what)


def _must_be_affine(indices: Sequence[int], length: int, what: str) -> None:
    strides = [(after - before) % length for before, after in pairwise(indices)]
    for position, stride in enumerate(strides):
        must(
            stride == strides[0],
            f"{what}: from position {position} to the next the index moves by {stride} modulo {length}, "
            f"but by {strides[0]} from position 0",
        )


_MOST_DRAWS: Final = 20_000  # of an epoch; the reference takes 8 microseconds for one
_MOST_STEPS: Final = 1_000
_SIZES: Final = {"cardinality": [1, 10, 97], "batch": [1, 4, 48], "block": [1, 3, 64]}


def runs(chosen: Axes, **fixed: Any) -> Iterator[tuple[Point, SamplerRun]]:
    """The runs of every combination, but those that a guard refuses or that would take too long."""
    for point in grid(chosen):
        run = SamplerRun(point["cardinality"], point["batch"], point.get("block", point["cardinality"]), **fixed)
        if not run.refused and run.draws <= _MOST_DRAWS and len(run.cursors(0)) <= _MOST_STEPS:
            yield point, run


def epochs(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {cardinality, batch, block, seeds: how many derived tokens}`; token k is asked for epoch k.

    Left out are combinations of more than 1,000 steps, or of more than 20,000 blocks over all steps.
    """
    chosen = axes(use, {**_SIZES, "seeds": 2})
    (seeds,) = chosen.pop("seeds")
    for point, run in runs(chosen):
        for seed in range(seeds):
            talk = partial(_epoch_bijection, tools, replace(run, seed=seed), seed)
            yield Instance(slug({**point, "seed": seed}), talk)


def _epoch_bijection(tools: Tools, run: SamplerRun, epoch: int) -> LawTalk:
    steps = yield from ask_epoch(tools, run, epoch)
    indices, size = indices_of(steps), run.sampler_block_size
    must_be_permutation(indices, 0, run.cardinality, f"epoch {epoch}", steps[-1].calls[0])
    # Full blocks come whole, and a short tail block last (requirement N12).
    for start in range(0, run.cardinality, size):
        blocks = {index // size for index in indices[start : start + size]}
        must(len(blocks) == 1, f"epoch {epoch}: the positions from {start} on mix several blocks", steps[0].calls[0])


def drop_last_epochs(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {cardinality, batch, block}`; left out is what epoch-bijection leaves out, and a batch above the data."""
    for point, run in runs(axes(use, _SIZES), drop_last=True):
        yield Instance(slug(point), partial(_drop_last_epoch, tools, run))


def _drop_last_epoch(tools: Tools, run: SamplerRun) -> LawTalk:
    steps = yield from ask_epoch(tools, run)
    # What is dropped is the rest of the kept epoch's order; the order itself is not a shorter one.
    kept = yield from ask_steps(tools, replace(run, drop_last=False), run.cursors(0))
    for step, whole in zip(steps, kept, strict=True):
        came = len(step.indices)
        must(came == run.global_batch_size, f"a batch of {came} samples from {shown(step.cursor)}", step.calls[0])
        what = f"the batch at {shown(step.cursor)}, held to the kept epoch's"
        must_equal(whole.indices, step.indices, what, step.calls[0])
    indices = indices_of(steps)
    must(len(set(indices)) == run.epoch_limit, "the epoch repeats a sample", steps[-1].calls[0])
    # A cursor that was saved while nothing was dropped may stand behind the limit (ruling NA11).
    behind = sorted({run.epoch_limit, run.cardinality - 1} if run.epoch_limit < run.cardinality else ())
    for step in (yield from ask_steps(tools, run, [{"epoch": 0, "global_index": index} for index in behind])):
        must(not step.indices, f"samples came from {shown(step.cursor)}, behind the epoch's limit", step.calls[0])
        must_equal({"epoch": 1, "global_index": 0}, step.cursor_next, "the cursor behind the limit", step.calls[0])


def eval_sequences(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {cardinality, batch, stages, drop_last}`; an instance holds every stage and setting to the first."""
    defaults = {
        "cardinality": [1, 10, 97],
        "batch": [1, 4, 48],
        "stages": ["eval", "infer"],
        "drop_last": [False, True],
    }
    chosen = axes(use, defaults)
    stages, settings = chosen.pop("stages"), chosen.pop("drop_last")
    for point, run in runs(chosen, stage_type="eval"):
        alike = [replace(run, stage_type=stage, drop_last=drop_last) for drop_last in settings for stage in stages]
        yield Instance(slug(point), partial(_eval_sequence, tools, alike))


def _eval_sequence(tools: Tools, alike: Sequence[SamplerRun]) -> LawTalk:
    first: list[Step] = []
    for run in alike:
        what = f"{run.stage_type} with drop_last {str(run.drop_last).lower()}"
        steps = yield from ask_epoch(tools, run)
        must_equal(list(range(run.cardinality)), indices_of(steps), what, steps[-1].calls[0])
        for step in steps:
            expected = min(run.global_batch_size, run.cardinality - step.cursor["global_index"])
            came = len(step.indices)
            must(came == expected, f"{what}: {came} samples from {shown(step.cursor)}, not {expected}", step.calls[0])
        (again,) = yield from ask_steps(tools, run, [{"epoch": 1, "global_index": 0}])
        must_equal(steps[0].indices, again.indices, f"{what}: the next epoch", again.calls[0])
        # drop_last is part of the configuration's hash; without it eval and infer are the same to the last field.
        if first and run.drop_last == alike[0].drop_last:
            for step, held in zip(first, steps, strict=True):
                must_equal(step.answers[0], held.answers[0], f"{what} at {shown(step.cursor)}", held.calls[0])
        first = first or steps


def reseedings(tools: Tools, contract: Contract, use: LawUse) -> Iterator[Instance]:
    """`over: {cardinality, batch, block, epochs}`; the cardinality large enough that equal orders cannot be chance."""
    chosen = axes(use, {"cardinality": [64, 200], "batch": 64, "block": [1, 16, 2000], "epochs": 4})
    (count,) = chosen.pop("epochs")
    for point, run in runs(chosen):
        yield Instance(slug(point), partial(_epoch_reseeding, tools, run, count))


def _epoch_reseeding(tools: Tools, run: SamplerRun, count: int) -> LawTalk:
    first: dict[str, list[int]] = {}
    calls: dict[str, Call] = {}
    for epoch in range(count):
        steps = yield from ask_epoch(tools, run, epoch)
        must_be_permutation(indices_of(steps), 0, run.cardinality, f"epoch {epoch}", steps[-1].calls[0])
        first[f"epoch {epoch}"], calls[f"epoch {epoch}"] = steps[0].indices, steps[0].calls[0]
    others = {
        "epoch 0 with another replay token": replace(run, seed=run.seed + 1),
        "epoch 0 with another manifest hash": replace(run, snapshot=run.snapshot + 1),
        "epoch 0 of another dataset key": replace(run, dataset_key=DATASET_KEYS[1]),
    }
    for name, other in others.items():
        (step,) = yield from ask_steps(tools, other, [START])
        first[name], calls[name] = step.indices, step.calls[0]
    for left, right in combinations(first, 2):
        must(first[left] != first[right], f"{left} and {right} begin with the same batch", calls[right])
    # Each epoch asked for alone, the last one first: no epoch's order comes out of the one before.
    for epoch in reversed(range(count)):
        (step,) = yield from ask_steps(tools, run, [{"epoch": epoch, "global_index": 0}])
        must_equal(first[f"epoch {epoch}"], step.indices, f"epoch {epoch}, asked for again", step.calls[0])


LAWS: Final = (
    Law("block-order-bijection", "A block order holds every block id exactly once.", (BLOCK_PERMUTE,), block_orders),
    Law(
        "block-bijection",
        "Over all positions of a block the answers are the block's own samples, each once, a constant stride apart.",
        (INTRA_BLOCK_MAP,),
        blocks,
    ),
    Law(
        "epoch-bijection",
        "A train epoch is a permutation of all samples, block by block, a short tail block last.",
        (NEXT_BATCH,),
        epochs,
    ),
    Law(
        "drop-last-epoch",
        "With drop_last a train epoch is the beginning of the kept one, in full batches only.",
        (NEXT_BATCH,),
        drop_last_epochs,
    ),
    Law(
        "eval-sequence",
        "Eval and infer read every sample once in ascending order, the last batch cut, whatever drop_last says.",
        (NEXT_BATCH,),
        eval_sequences,
    ),
    Law(
        "epoch-reseeding",
        "Every epoch, replay token, manifest hash and dataset key has an order of its own.",
        (NEXT_BATCH,),
        reseedings,
    ),
)
