"""Derivations of single output elements, in lines for a human reader."""

from collections.abc import Mapping
from itertools import islice
from typing import Any

from impl.reference.data.batch_request import (
    BatchRequest,
    Manifest,
    first_fault,
    is_shuffled,
    resolve_block_size,
    resolve_drop_last,
)
from impl.reference.data.seeded_intra_block_map import derive_coefficients
from impl.reference.data.summarize_run import derive_epoch_seed
from impl.reference.data.virtual_order import locate, plan_blocks
from impl.reference.philox import block_draws, draws, read_seed

INDICES = "batch_sample_indices"
ORDER = "block_order"


def explain_next_batch(arguments: Mapping[str, Any], path: str, index: int | None) -> list[str]:
    """Derive one sample index of a batch, from the virtual position to the affine map."""
    manifest: Manifest = arguments["manifest"]
    cursor = arguments["cursor_in"]
    fault = first_fault(
        BatchRequest(
            manifest,
            arguments["dataset_key"],
            arguments["world_size"],
            arguments["rank"],
            arguments["stage_type"],
            cursor,
            arguments.get("dataset_registry"),
            arguments.get("accountant_subsampling_mode"),
        )
    )
    if fault is not None:
        return [f"the call is refused: {fault}"]
    if not _is_element(path, INDICES) or index is None:
        return [f"{path}: only elements of {INDICES} are derived"]

    n = manifest.datasets[arguments["dataset_key"]].cardinality
    batch_size = manifest.global_batch_size
    micro_batch_size = batch_size // arguments["world_size"]
    shuffled = is_shuffled(arguments["stage_type"])
    epoch_limit = n // batch_size * batch_size if shuffled and resolve_drop_last(manifest) else n
    rank_start = cursor.global_index + arguments["rank"] * micro_batch_size
    position = rank_start + index
    lines = [
        f"micro batch size = {batch_size} / {arguments['world_size']} = {micro_batch_size}",
        f"virtual position = {cursor.global_index} + {arguments['rank']} * {micro_batch_size} + {index} = {position}",
    ]
    if index >= micro_batch_size:
        return [*lines, f"the slice of this rank ends before element {index}"]
    if position >= epoch_limit:
        return [*lines, f"the epoch ends at {epoch_limit}: there is no such element"]
    if not shuffled:
        return [*lines, f"the stage {arguments['stage_type']} is sequential: index = {position}"]

    epoch_seed = derive_epoch_seed(
        arguments["kernel_replay_token"], arguments["manifest_hash"], arguments["dataset_key"], cursor.epoch
    )
    plan = plan_blocks(n, resolve_block_size(manifest), epoch_seed)
    place = locate(plan, position)
    stays = " (the short tail, which stays last)" if place.ordinal == plan.num_full_blocks else ""
    return [
        *lines,
        f"epoch seed of epoch {cursor.epoch} = {epoch_seed.hex()}",
        f"block in order = {position} div {plan.block_size} = {place.ordinal} of {plan.num_full_blocks} full blocks",
        f"block at that place = {place.block_id}{stays}",
        *_explain_map(place.block_id, place.local_pos, plan.block_size, epoch_seed, n),
    ]


def explain_seeded_intra_block_map(arguments: Mapping[str, Any], path: str, index: int | None) -> list[str]:
    """Derive the sample index of one position inside a block."""
    return _explain_map(
        arguments["block_id"],
        arguments["local_pos"],
        arguments["block_size"],
        arguments["epoch_seed"],
        arguments["cardinality"],
    )


def explain_seeded_block_permute(arguments: Mapping[str, Any], path: str, index: int | None) -> list[str]:
    """Derive one element of a block order; an element is final after the step of its own number."""
    num_blocks, epoch_seed = arguments["num_blocks"], arguments["epoch_seed"]
    if num_blocks == 0:
        return ["the call is refused: num_blocks = 0"]
    if not _is_element(path, ORDER) or index is None or index >= num_blocks:
        return [f"{path}: only the elements 0 to {num_blocks - 1} of {ORDER} are derived"]
    seed = read_seed(epoch_seed)
    lines = [
        f"key = {_words(seed.key)}, counter base = {_words(seed.base)} 0 0",
    ]
    order = list(range(num_blocks))
    for i, draw in enumerate(islice(draws(epoch_seed), min(index + 1, num_blocks - 1))):
        j = i + draw % (num_blocks - i)
        if i == index:
            lines.append(f"draw {i} = {draw:016x}, counter base + {i + 1}")
            lines.append(f"j = {i} + {draw} mod ({num_blocks} - {i}) = {j}")
            lines.append(f"swap of places {i} and {j}: {order[i]} and {order[j]}")
        order[i], order[j] = order[j], order[i]
    if index == num_blocks - 1:
        lines.append(f"the last place has no step of its own; {num_blocks - 1} steps went before")
    return [*lines, f"{ORDER}[{index}] = {order[index]}"]


def _explain_map(block_id: int, local_pos: int, block_size: int, epoch_seed: bytes, cardinality: int) -> list[str]:
    if block_size == 0:
        return ["the call is refused: block_size = 0"]
    block_start = block_id * block_size
    if block_start >= cardinality:
        return [f"the call is refused: block start {block_start} is not below {cardinality}"]
    m = min(block_size, cardinality - block_start)
    lines = [
        f"block start = {block_id} * {block_size} = {block_start}",
        f"m = min({block_size}, {cardinality} - {block_start}) = {m}",
        f"local position = {local_pos}",
    ]
    if m > 2**32 or local_pos >= m:
        return [*lines, "the call is refused: m is above 2^32, or the position is not below m"]
    if m == 1:
        return [*lines, f"m = 1: index = block start = {block_start}"]
    seed = read_seed(epoch_seed)
    counter = (*seed.base, block_id & 0xFFFFFFFF, block_id >> 32)
    k0, k1 = block_draws(epoch_seed, block_id)
    a, c = derive_coefficients(epoch_seed, block_id, m)
    start = 1 + k0 % (m - 1)
    j = (a * local_pos + c) % m
    return [
        *lines,
        f"key = {_words(seed.key)}, counter = {_words(counter)}",
        f"k0 = {k0}, k1 = {k1}",
        f"a = {a}: the first candidate from 1 + k0 mod (m - 1) = {start} on that is coprime to m",
        f"c = k1 mod m = {c}",
        f"j = ({a} * {local_pos} + {c}) mod {m} = {j}",
        f"index = {block_start} + {j} = {block_start + j}",
    ]


def _is_element(path: str, name: str) -> bool:
    return path.split("[")[0].lstrip("$./") == name


def _words(words: tuple[int, ...]) -> str:
    return " ".join(f"{word:08x}" for word in words)
