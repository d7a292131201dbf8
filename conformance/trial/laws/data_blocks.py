"""Laws of the two seeded helpers: a block order and a position inside a block are bijections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Final

from conformance.contract.model import Contract, LawUse
from conformance.trial.laws.derived import derived_bytes
from conformance.trial.laws.grid import axes, slug
from conformance.trial.laws.law import Instance, Law, LawTalk, Tools
from conformance.trial.laws.relation import must, must_be_permutation

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


LAWS: Final = (
    Law("block-order-bijection", "A block order holds every block id exactly once.", (BLOCK_PERMUTE,), block_orders),
    Law(
        "block-bijection",
        "Over all positions of a block the answers are the block's own samples, each once, a constant stride apart.",
        (INTRA_BLOCK_MAP,),
        blocks,
    ),
)
