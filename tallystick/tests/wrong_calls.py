"""One table: a wrong call of the library, and the sentence that it gets."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import tallystick
from tallystick import ContextStream, Cursor, Sampler
from tallystick.batch import Database
from tallystick.checkpoint import REQUIRED, decode_cursors, roots_of
from tallystick.queue import check_meta
from tallystick.stream import (
    InteractiveTokens,
    InterleavedTokens,
    IteratorTokens,
    ListedTokens,
    Model,
    ShuffledTokens,
    TokenFile,
    firing_counts,
    huggingface_documents,
    next_token_targets,
    prefetched,
)
from tallystick.telemetry import RunTrace, row_of, run_header

U64 = "18446744073709551615"
FILES = {"tensors/rank=0/shard=0.bin": b"weights"}
HASH = bytes(32)
NAMED = {"dataset_snapshot_id": "mine", "artifact_index_hash": HASH}
STEP = {"t": 7, "replay_token": HASH}


def sampler(**fields: Any) -> Sampler:
    return Sampler(**{"cardinality": 10, "global_batch_size": 4, "seed_token": HASH, **fields})


def header(**fields: Any) -> dict[str, Any]:
    made: dict[str, Any] = {name: HASH if kind == "bytes32" else "mine" for name, kind in REQUIRED.items()}
    versions = {"spec_version": "1.0.0", "checkpoint_schema_version": "1.0.0"}
    return {**made, "t": 7, **versions, **roots_of(FILES), **fields}


def write(name: Any = "new", root: Any = ".", **changed: Any) -> Any:
    given = {"header": header(), "files": FILES, "manifest": NAMED, **changed}
    return tallystick.write_container(root, name, **given)


def read(name: Any = "7", **changed: Any) -> Any:
    return tallystick.read_container(".", name, **{"stage": "eval", **changed})


def commit(root: Any = "fresh", **changed: Any) -> Any:
    given = {"tenant_id": "me", "run_id": "one", "trace": b"", "checkpoint": b"", "lineage": b"", "signing_key": HASH}
    return tallystick.commit_run(root, **{**given, **STEP, **changed})


class Provider(tallystick.DataProvider):
    """A dataset whose batches may be wrong."""

    wrong: Any = None

    def build_meta(self) -> dict[str, Any]:
        schema = [{"name": "x", "dtype": "int64", "shape": [2], "role": "input"}]
        sizes = {"vocab_size": 9, "block_size": 2, "target_size": 2}
        splits: dict[str, Any] = {"train": {}, "val": {}}
        return {"dataset_name": "d", "training_type": "LM", **sizes, "batch_schema": schema, "split_info": splits}

    def sample_batch(self, split: str, rng: Any) -> dict[str, Any]:
        return {"x": np.zeros((2, 2), np.int64)} if self.wrong is None else self.wrong


def provider(root: Any = "queue", **fields: Any) -> Provider:
    return Provider(root, **{"batch_size": 2, "batches_per_file": 1, **fields})


def consumer(**fields: Any) -> tallystick.DatasetConsumer:
    return tallystick.DatasetConsumer("queue", **fields)


def produced(wrong: Any) -> None:
    made = provider("other")
    made.wrong = wrong
    made.run(["train"], until=lambda: made.produced == 1)


def again_with_another_size() -> None:
    for size in (2, 3):
        provider("again", batch_size=size).run(["train"], until=lambda: True)


def stream(rank: Any = 0, world_size: Any = 1, frequencies: Any = (4,), source: Any = None) -> ContextStream:
    source = ListedTokens(range(50)) if source is None else source
    return ContextStream(source, rank=rank, world_size=world_size, cms_frequencies=frequencies)


def mid_step() -> ContextStream:
    made = stream()
    made.next_chunk(4)
    return made


def save(name: Any = "s", folder: Any = ".", made: Any = None, model: Any = None) -> None:
    given = stream() if made is None else made
    tallystick.save_checkpoint(given, folder, name, Model(0, b"") if model is None else model)


def restore(source: Any = None, name: Any = "saved", **changed: Any) -> Any:
    source = ListedTokens(range(50)) if source is None else source
    return tallystick.restore_checkpoint(source, ".", name, **{"cms_frequencies": [4], **changed})


def pushed_late() -> None:
    typed = InteractiveTokens()
    typed.end_input()
    typed.push([1], boundary=False)


def shop() -> Database:
    return tallystick.open_database("shop.db")


def builder(table: Any = "orders", column: Any = "total", **fields: Any) -> tallystick.BatchBuilder:
    return tallystick.BatchBuilder(shop(), table, column, **{"sequence_length": 4, **fields})


def ahead(**fields: Any) -> Any:
    with ThreadPoolExecutor(1) as executor:
        return tallystick.prefetched(**{"sampler": sampler(), "executor": executor, **fields})


def rows_of(*rows: dict[str, Any] | None) -> None:
    Path("run.jsonl").unlink(missing_ok=True)
    trace = RunTrace("run.jsonl", {})
    for row in rows:
        if row is None:
            trace.close()
        else:
            trace.write(row)


WRONG: list[tuple[Callable[[], object], str]] = [
    # The sampler.
    (lambda: sampler(rank=3, world_size=2), "rank must be below world_size: got 3 of 2 (CONTRACT_VIOLATION)"),
    (lambda: sampler(seed_token=b"x"), "seed_token must be exactly 32 bytes: got 1 byte; hashlib.sha256(b'...')"),
    (lambda: sampler(seed_token="x" * 32), "seed_token must be exactly 32 bytes: got 'xxxx"),
    (lambda: sampler(manifest_hash=bytes(31)), "manifest_hash must be exactly 32 bytes: got 31 bytes"),
    (lambda: sampler(cardinality=0), f"cardinality must be an integer from 1 to {U64}: got 0 (CARDINALITY_MISMATCH)"),
    (lambda: sampler(cardinality=2**64), f"from 1 to {U64}: got {2**64} (CARDINALITY_MISMATCH)"),
    (lambda: sampler(cardinality=10**5000), "got a number of more than 24 digits (CARDINALITY_MISMATCH)"),
    (lambda: sampler(cardinality=True), f"cardinality must be an integer from 1 to {U64}: got True"),
    (lambda: sampler(cardinality=np.arange(3)), f"cardinality must be an integer from 1 to {U64}: got a ndarray"),
    (lambda: sampler(dataset_key=7), "dataset_key must be a str: got 7 (CONTRACT_VIOLATION)"),
    (lambda: sampler(dataset_key="\ud800"), "dataset_key must be Unicode text: got '\\ud800' (CONTRACT_VIOLATION)"),
    (lambda: sampler(global_batch_size=5, world_size=2), "must be a multiple of world_size 2: got 5; choose another"),
    (lambda: sampler(global_batch_size=np.int64(0)), f"global_batch_size must be an integer from 1 to {U64}: got 0"),
    (lambda: sampler(world_size=0), "world_size must be an integer from 1 to 4294967295: got 0 (CONTRACT_VIOLATION)"),
    (lambda: sampler(stage_type="trian"), "must be 'train', 'eval' or 'infer': got 'trian'; did you mean 'train'?"),
    (lambda: sampler(block_size=0), f"block_size must be an integer from 1 to {U64}: got 0 (BATCH_SIZE_INCONSISTENT)"),
    (lambda: sampler(block_size=2**33, cardinality=2**34), "block_size must be at most 4294967296 for a dataset with"),
    (lambda: sampler(drop_last="no"), "drop_last must be True or False: got 'no' (CONTRACT_VIOLATION)"),
    (lambda: sampler(drop_last=True, global_batch_size=11), "must be at most the cardinality 10 with drop_last: got 11"),
    (lambda: sampler(cursor=(0, 4)), "cursor must be a Cursor: got a tuple (CONTRACT_VIOLATION)"),
    (lambda: sampler(cursor=Cursor(0, 10)), "the cursor's global_index must be below the cardinality 10: got 10; is it"),
    (lambda: sampler().batch_at(Cursor(0, 11)), "must be below the cardinality 10: got 11; is it a cursor of another"),
    (lambda: sampler().batch_at(Cursor(2**64 - 1, 0)), "the cursor's next place must have 64 bits: got Cursor(epoch=184"),
    (lambda: sampler().batches(epochs=-1), f"epochs must be an integer from 0 to {U64}: got -1; None does not limit it"),
    (lambda: Cursor(-1, 0), f"epoch must be an integer from 0 to {U64}: got -1 (CONTRACT_VIOLATION)"),
    (lambda: Cursor(0, "4"), f"global_index must be an integer from 0 to {U64}: got '4'"),  # type: ignore[arg-type]
    (lambda: ahead(executor=4), "executor must be an Executor of concurrent.futures: got 4 (CONTRACT_VIOLATION)"),
    (lambda: ahead(sampler=[1]), "sampler must be a Sampler: got a list (CONTRACT_VIOLATION)"),
    (lambda: ahead(ahead=-1), f"ahead must be an integer from 0 to {U64}: got -1 (CONTRACT_VIOLATION)"),
    (lambda: decode_cursors(cursors_cbor=b"\xa1"), "as encode_cursors writes them: got 1 byte of another kind"),
    # Streams.
    (lambda: stream(3, 2), "rank must be below world_size: got 3 of 2 (CONTRACT_VIOLATION)"),
    (lambda: stream(rank="0"), "rank must be an integer from 0 to 4294967295: got '0' (CONTRACT_VIOLATION)"),
    (lambda: stream(frequencies=[]), "cms_frequencies must name one level or more: got none; [1] fires after every"),
    (lambda: stream(frequencies=[1, 0]), f"cms_frequencies[1] must be an integer from 1 to {U64}: got 0"),
    (lambda: stream(frequencies=8), "cms_frequencies must be a list of integers: got 8 (CONTRACT_VIOLATION)"),
    (lambda: stream(source=[1, 2]), "source must be a token source, such as tallystick.stream.TokenFile(path) or Li"),
    (lambda: stream().next_chunk(3), "chunk_size must be at least the first of cms_frequencies, 4: got 3 (CHUNK_TOO_S"),
    (lambda: stream().next_chunk(-1), f"chunk_size must be an integer from 0 to {U64}: got -1 (CONTRACT_VIOLATION)"),
    (lambda: mid_step().next_chunk(4), "got an open step; call advance(pulse_id) first (STEP_OPEN)"),
    (lambda: stream().advance(None), f"pulse_id must be an integer from 0 to {U64}: got None"),  # type: ignore[arg-type]
    (lambda: save(made=mid_step()), "in the middle; call stream.advance(pulse_id) first (CHECKPOINT_MID_STEP)"),
    (lambda: save(folder="nowhere"), "folder must be an existing folder: got 'nowhere', where there is none; make it f"),
    (lambda: save(folder="words.bin"), "folder must be an existing folder: got 'words.bin', where there is something el"),
    (lambda: save(folder=7), "folder must be a str or a Path: got 7 (CONTRACT_VIOLATION)"),
    (lambda: save("a/b"), "name must be one file name of 1 to 240 bytes without '/', and no folder's: got 'a/b'"),
    (lambda: save(model=b"weights"), "model must be a tallystick.stream.Model: got 7 bytes (CONTRACT_VIOLATION)"),
    (lambda: Model(0, "weights"), "state must be bytes: got 'weights' (CONTRACT_VIOLATION)"),  # type: ignore[arg-type]
    (lambda: restore(name="none"), "got 'none', and there is no such file (CONTRACT_VIOLATION)"),
    (lambda: restore(name="words.bin"), "the checkpoint must be whole: got "),
    (lambda: restore(ListedTokens(range(51))), "source must have as many tokens as the saved one, 50: got 51; for other"),
    (lambda: restore(ListedTokens([7] * 50)), "the tokens 0 to 4 of source must be those of the last chunk: got others"),
    (lambda: restore(rank=1, world_size=2), "must be those of the checkpoint, 0 of 1: got 1 of 2; restore with as many"),
    (lambda: restore(ShuffledTokens(ListedTokens(range(50)), bytes(16))), "source must have the order of the saved one"),
    (lambda: ListedTokens([-1]), "tokens[0] must be an integer from 0 to 4294967295: got -1 (CONTRACT_VIOLATION)"),
    (lambda: ListedTokens(np.array([0, 2**32])), "tokens[1] must be an integer from 0 to 4294967295: got 4294967296"),
    (lambda: ListedTokens("abc"), "tokens must be a list of integers: got 'abc'"),  # type: ignore[arg-type]
    (lambda: ListedTokens([1], boundaries=[3, 1]), "boundaries must ascend: got a list that does not; sort them"),
    (lambda: ListedTokens([1], on_end="never"), "on_end must be 'wrap' or 'stop': got 'never'"),  # type: ignore[arg-type]
    (lambda: TokenFile("none.npy"), "none.npy', No such file or directory (CONTRACT_VIOLATION)"),
    (lambda: TokenFile("signed.npy"), "u16 or u32; convert it, or give numpy.load(path) to ListedTokens (CONTRACT_VIOLATION)"),
    (lambda: TokenFile("words.bin"), "a raw file does not say how wide its words are; give dtype 'u16' or 'u32'"),
    (lambda: TokenFile("words.bin", "u8"), "dtype must be 'u16' or 'u32': got 'u8'"),  # type: ignore[arg-type]
    (lambda: TokenFile("words.bin", "u32"), "ends within a word (CONTRACT_VIOLATION)"),
    (lambda: InterleavedTokens([], [0]), "parts must be one source or more: got none (CONTRACT_VIOLATION)"),
    (lambda: InterleavedTokens([ListedTokens([1])], [1]), "pattern[0] must be an integer from 0 to 0: got 1"),
    (lambda: InterleavedTokens([InteractiveTokens()], [0]), "parts[0] must be a finite source: got an InteractiveTok"),
    (lambda: ShuffledTokens(ListedTokens([1]), b"x"), "seed must be exactly 16 bytes: got 1 byte (CONTRACT_VIOLATION)"),
    (lambda: restore(start="cold"), "start must be 'continue', 'warm' or 'foreign': got 'cold' (CONTRACT_VIOLATION)"),
    (lambda: restore(ListedTokens([1]), start="foreign"), "must be a place in source, which has 1 tokens: got 4"),
    (lambda: restore(name="huge"), "the checkpoint must have at most 4294967296 bytes: got "),
    (lambda: ListedTokens(np.zeros((2, 2), int)), "tokens must have one dimension: got the shape (2, 2) (CONTRACT_VIOL"),
    (lambda: IteratorTokens([[1]]), "open_documents must be a function that begins"),  # type: ignore[arg-type]
    (lambda: prefetched([[1]], 5), "for a list write `lambda: iter(documents)`"),  # type: ignore[arg-type]
    (lambda: prefetched(lambda: [[1]], 0), f"most_tokens must be an integer from 1 to {U64}: got 0 (CONTRACT_VIOLATION)"),
    (lambda: huggingface_documents(7), "path must be a str: got 7 (CONTRACT_VIOLATION)"),  # type: ignore[arg-type]
    (lambda: next_token_targets([1], last_rule="keep"), "last_rule must be 'ignore', 'drop' or 'carry': got 'keep'"),  # type: ignore[arg-type]
    (lambda: next_token_targets([1], last_rule="drop", before=2), "before must be absent where last_rule is 'drop': g"),
    (lambda: next_token_targets([], last_rule="drop"), "tokens must be one or more: got none; a stream never serves"),
    (pushed_late, "tokens must come before end_input: got 1 after it; open another InteractiveTokens (CONTRACT_VIOLATION)"),
    (lambda: firing_counts(clock=0, chunk_size=0, cms_frequencies=[1]), f"from 1 to {U64}: got 0 (CHUNK_TOO_SMALL)"),
    (lambda: firing_counts(clock=2**64 - 1, chunk_size=1, cms_frequencies=[1]), "must have 64 bits: got 184467440737"),
    # The queue.
    (lambda: provider(batch_size=0), f"batch_size must be an integer from 1 to {U64}: got 0 (CONFIG_INVALID)"),
    (lambda: provider(seed=-1), f"seed must be an integer from 0 to {U64}: got -1 (CONFIG_INVALID)"),
    (lambda: provider(sleep_seconds=float("nan")), "sleep_seconds must be a finite number above 0: got nan (CONFIG_INV"),
    (lambda: provider(codec="npy"), "codec must be 'pt' or 'npz': got 'npy'; did you mean 'npz'? (CONFIG_INVALID)"),
    (lambda: provider(7), "data_dir must be a str or a Path: got 7 (CONFIG_INVALID)"),
    (lambda: provider().run(["test"]), "split must be 'train', 'val', or one of them with '_rank' and a number: got 'te"),
    (lambda: provider().run("train"), "splits must be a list of splits: got 'train'; write ['train'] (CONFIG_INVALID)"),
    (lambda: produced({"y": 1}), "sample_batch must give x, as batch_schema says: got y (SCHEMA_MISMATCH)"),
    (lambda: produced({"x": np.zeros((2, 2))}), "x must have the dtype int64 and the shape (2, 2): got float64 and (2, 2)"),
    (lambda: produced({}), "sample_batch must give x, as batch_schema says: got nothing (SCHEMA_MISMATCH)"),
    (again_with_another_size, "another configuration (batch_size: 2, 3): give the same, or another folder, or begin anew"),
    (lambda: tallystick.DatasetConsumer("nowhere"), "has no meta.pkl: no provider has started there (META_MISSING)"),
    (lambda: consumer(cache_files=0), f"cache_files must be an integer from 1 to {U64}: got 0 (CONFIG_INVALID)"),
    (lambda: consumer(high_watermark="2"), f"high_watermark must be an integer from 0 to {U64}: got '2'"),
    (lambda: consumer().get_batch("test"), "split must be 'train', 'val', or one of them with '_rank' and a number"),
    (lambda: consumer().get_batch("val", timeout=0.0), "no batch file for val arrived in 0.0 seconds (QUEUE_TIMEOUT)"),
    (lambda: consumer().get_batch("val", timeout=float("nan")), "timeout must be a finite number"),
    (lambda: consumer().set_batch_size(0), f"batch_size must be an integer from 1 to {U64}: got 0 (CONFIG_INVALID)"),
    (lambda: check_meta({}), "(META_INVALID)"),
    # Checkpoints.
    (lambda: write(root="nowhere"), "root must be an existing folder: got 'nowhere', where there is none; make it first"),
    (lambda: write(".hidden"), "name must be one name of 1 to 200 bytes without '/', NUL or a leading dot: got '.hidden'"),
    (lambda: write("7"), "name must be free: got '7'; nothing is overwritten; choose another name or root (CONTRACT_V"),
    (lambda: write(header=header(t="7")), "t must be an integer from 0 to 2^64 - 1: got '7' (CONTRACT_VIOLATION)"),
    (lambda: write(header=header(run_id=None)), "run_id must be a str: got None; a field without a value is left out"),
    (lambda: write(header=header(colour="red")), "colour must be absent: no schema of this reader has it: got 'red'"),
    (lambda: write(header={"t": 7}), "must be there: got none; add the field (CONTRACT_VIOLATION)"),
    (lambda: write(header=[1]), "header must be a mapping: got a list (CONTRACT_VIOLATION)"),
    (lambda: write(header=header(tensors_root_hash=bytes(32))), "must be the root over the files: got 0000000000000000"),
    (lambda: write(files={"weights.bin": b""}), "weights.bin must be the path of a shard, such as 'tensors/rank=0/shard"),
    (lambda: write(files={"tmmu/plan.cbor": b"\xff"}), "tmmu/plan.cbor must be canonical CBOR: got 1 byte; tallystick.c"),
    (lambda: write(files={"a": "b"}), "files['a'] must be bytes: got 'b' (CONTRACT_VIOLATION)"),
    (lambda: write(manifest={}), "manifest must have dataset_snapshot_id: got []; add it (CONTRACT_VIOLATION)"),
    (lambda: write(manifest={**NAMED, "dp_enable": 1}), "got 'dp_enable'; did you mean 'dp_enabled'?"),
    (lambda: write(manifest={**NAMED, "artifact_index_hash": b""}), "must be exactly 32 bytes: got 0 bytes (CONTRACT"),
    (lambda: read("8"), "checkpoint_manifest.cbor must be a file of the container: got "),
    (lambda: read(stage="test"), "stage must be 'train', 'eval' or 'infer': got 'test' (CONTRACT_VIOLATION)"),
    (lambda: read(stage="train"), "artifacts/artifact_index.cbor must be among what is restored: the stage needs it: got none; add"),
    (lambda: read(expected={"run_id": "other"}), "run_id must be that of the checkpoint: got 'other'; is it a checkpoint"),
    (lambda: read(expected={"replay_token": b"x"}), "expected.replay_token must be exactly 32 bytes: got 1 byte"),
    (lambda: read(expected={"checkpoint_hash": HASH}), "checkpoint_hash must be the hash of what is there: got 00000000"),
    (lambda: read(shards="all"), "shards must be a list of paths: got 'all'; write ['all'] (CONTRACT_VIOLATION)"),
    (lambda: read(shards=["tensors/rank=0/shard=0.bin"]), "must be declared in partial_restore of the manifest: got "),
    (lambda: commit(signing_key=b"x"), "signing_key must be exactly 32 bytes: got 1 byte (CONTRACT_VIOLATION)"),
    (lambda: commit(run_id=1), "run_id must be a str: got 1 (CONTRACT_VIOLATION)"),
    (lambda: commit(tenant_id="x" * 4097), "tenant_id must have at most 4096 bytes: got 4097 (CONTRACT_VIOLATION)"),
    (lambda: commit("committed"), "COMMITTED must be free: got none; nothing is overwritten; choose another name or roo"),
    (lambda: tallystick.recover_run(".", public_key=b""), "public_key must be exactly 32 bytes: got 0 bytes"),
    (lambda: tallystick.recover_run("committed", public_key=HASH), "must be signed with the given key: got "),
    # Batches.
    (lambda: tallystick.open_database("none.db"), "file must be an existing SQLite or DuckDB file: got 'none.db', where"),
    (lambda: tallystick.open_database("words.bin"), "file must be a SQLite or DuckDB file: got 'words.bin', which is ne"),
    (lambda: tallystick.open_database(None), "file must be a str or a Path: got None"),  # type: ignore[arg-type]
    (lambda: tallystick.open_database("shop.db", {"order": {}}), "declaration must name tables and columns of the file"),
    (lambda: tallystick.open_database("shop.db", {"orders": {"total": "number"}}), "got 'number'"),
    (lambda: tallystick.open_database("doubt.db"), "people.sure must have a semantic type: got values that leave it"),
    (lambda: builder("order"), "table must be in the database: got 'order'; did you mean 'orders'? (UNKNOWN_TABLE)"),
    (lambda: builder(column="cost"), "column must be in the database: got 'cost'; there are id, total (UNKNOWN_TABLE)"),
    (lambda: builder(sequence_length=0), f"sequence_length must be an integer from 1 to {U64}: got 0 (CONTRACT_VIOL"),
    (lambda: builder(sequence_length=65_537), "sequence_length must be at most 65536: got 65537 (LIMIT_EXCEEDED)"),
    (lambda: builder(sequence_length=1), "must be at least 2, up to the target orders.total: got 1 (TARGET_TRUNCATED)"),
    (lambda: builder(max_hops=-1), "max_hops must be an integer from 0 to 4294967295: got -1; None does not limit it"),
    (lambda: builder(cutoff="strickt"), "cutoff must be 'children' or 'strict': got 'strickt'; did you mean 'strict'?"),
    (lambda: builder().batch([3]), "rows[0] must be below the 3 rows of the table: got 3 (ROW_NOT_FOUND)"),
    (lambda: builder().batch([]), "rows must be one row number or more: got none (CONTRACT_VIOLATION)"),
    (lambda: builder().batch([0], [1, 2]), "times must have one time for each of the 1 rows: got 2 (CONTRACT_VIOLATION)"),
    (lambda: builder().batch([0], ["now"]), "got 'now'; microseconds UTC (CONTRACT_VIOLATION)"),  # type: ignore[list-item]
    # Telemetry.
    (lambda: RunTrace("run.csv", {}), "file must end in .jsonl or .parquet: got 'run.csv'"),
    (lambda: row_of(7), "a row is made of a batch, a dataclass or a mapping: got 7"),
    (lambda: row_of({"x": object()}), "x must be a bool, a number of 64 bits, a text, bytes or an array"),
    (lambda: row_of({"x": 2**64}), "got 18446744073709551616; leave it out"),
    (lambda: row_of({"x": [object()]}), "x is a list that is no JSON"),
    (lambda: row_of({"x": 1}, x=2), "two columns have the name x; give one of them another name"),
    (lambda: row_of({"a": {"b": 1}, "a_b": 2}), "two columns have the name a_b"),
    (lambda: row_of({"x": "\ud800"}), "x must be Unicode text"),
    (lambda: row_of({"x": np.array([object()])}), "x must be an array of numbers, bools or texts that NumPy"),
    (lambda: RunTrace("run.jsonl", {"x": object()}), "header must be a mapping of values of JSON"),
    (lambda: rows_of({"a": 1}, {"a": -1}), "a must be an integer from 0 to 18446744073709551615, as in"),
    (lambda: rows_of({"a": 1.5}, {"a": "x"}), "a must be a float, as in the first row: got 'x'"),
    (lambda: run_header(sampler(), dataset_hash=b"x"), "dataset_hash must be exactly 32 bytes: got 1 byte"),
    (lambda: run_header(None), "sampler must be a tallystick.Sampler: got None"),  # type: ignore[arg-type]
    (lambda: rows_of({"a": 1}, {"b": 1}), "a row has other columns than the first: a, b"),
    (lambda: rows_of({"a": 1}, None, {"a": 1}), "the trace is closed"),
]
