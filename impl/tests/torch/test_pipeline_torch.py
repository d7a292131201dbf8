"""Batch files through torch: `.pt` files of the queue and of the baseline, hostile ones, and tensors on a device."""

import base64
import io
import re
import subprocess
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from impl.reference.pipeline.codecs import PtCodec
from impl.reference.pipeline.consumer import DatasetConsumer
from impl.reference.pipeline.metadata import FieldSpec, write_meta
from impl.reference.pipeline.provider import DataProviderBase, FileRandom
from impl.reference.pipeline.queue_folder import BatchFile, Metadata
from impl.reference.pipeline.refusal import Corrupt, Foreign, Refusal
from impl.reference.pipeline.tensors import WIDTHS, packed
from impl.tests.javascript.javascript_process import Backend, Value
from impl.tests.pipeline.pipeline_queue import ROW, XY, meta_of, names_in, provider_of
from impl.tests.pipeline.pipeline_sweep import CHECKOUT, ENVIRONMENT

CODEC = PtCodec()


def saved(content: object) -> bytes:
    target = io.BytesIO()
    torch.save(content, target)
    return target.getvalue()


def metadata(**changes: Any) -> dict[str, Any]:
    described = {"batch_size": 1, "num_batches": 2, "file_idx": 0, "split": "train", "produced_at": 0, "schema": ROW}
    return {**described, **changes}


@pytest.mark.parametrize("dtype", WIDTHS)
def test_every_dtype_comes_back_and_torch_reads_it(dtype: str) -> None:
    field = FieldSpec("x", dtype, (2,))
    file = BatchFile(Metadata(3, 1, 7, "val", 99, (field,)), {"x": packed(dtype, [3, 2], range(6))})
    content = CODEC.encode(file)
    assert CODEC.decode(content) == file
    loaded = torch.load(io.BytesIO(content), weights_only=True)
    assert loaded["metadata"] == file.metadata.as_map()  # type: ignore[union-attr]
    assert loaded["tensors"]["x"].dtype == getattr(torch, dtype)
    expected = np.arange(6).reshape(3, 2).astype(dtype)
    np.testing.assert_array_equal(loaded["tensors"]["x"].numpy(), expected)


def test_both_codecs_hand_out_the_same_rows(tmp_path: Path) -> None:
    batches: dict[str, list[Any]] = {}
    for codec in ("npz", "pt"):
        provider = provider_of(tmp_path / codec, codec=codec)
        provider.open()
        path = provider.turn("train", 5)
        assert path is not None
        assert path.name == f"5-000000-2.{codec}"
        consumer = DatasetConsumer(tmp_path / codec)
        batches[codec] = [consumer.get_batch("train", timeout=0) for _ in range(2)]
        assert names_in(tmp_path / codec / "queue/train") == []
    for own, other in zip(batches["npz"], batches["pt"], strict=True):
        for array, tensor in zip(own, other, strict=True):
            assert isinstance(tensor, torch.Tensor)
            assert tensor.device.type == ("cuda" if torch.cuda.is_available() else "cpu")
            np.testing.assert_array_equal(array, tensor.cpu().numpy())


def test_a_named_device_gives_torch_tensors_with_either_codec(tmp_path: Path) -> None:
    provider = provider_of(tmp_path)
    provider.open()
    provider.turn("train", 5)
    consumer = DatasetConsumer(tmp_path)
    x, y = consumer.get_batch("train", "cpu", timeout=0)
    assert (x.dtype, y.dtype, x.device.type) == (torch.uint16, torch.int64, "cpu")
    kept = y.clone()
    y[:] = 99
    consumer.reset_state()
    assert torch.equal(consumer.get_batch("train", "cpu", timeout=0)[1], kept)


GOOD = torch.arange(2)

# Whole files of torch, and what the refusal says of each.
FOREIGN: dict[str, bytes] = {
    "there is no tensors": saved({"metadata": metadata()}),
    "its tensors are no map": saved({"metadata": metadata(), "tensors": [GOOD]}),
    "'row' is no field": saved({"metadata": metadata(), "tensors": {"row": 5}}),
    "'../row' is no field": saved({"metadata": metadata(), "tensors": {"../row": GOOD}}),
    "num_batches is no count": saved({"metadata": metadata(num_batches=GOOD), "tensors": {"row": GOOD}}),
    "row has the dtype complex64": saved({"metadata": metadata(), "tensors": {"row": GOOD.to(torch.complex64)}}),
    "row is not contiguous: save its contiguous()": saved(
        {"metadata": metadata(), "tensors": {"row": torch.zeros(1, dtype=torch.int64).expand(2**37)}}
    ),
    "torch._utils._rebuild_sparse_tensor": saved({"metadata": metadata(), "tensors": {"row": GOOD.to_sparse()}}),
    "torch._utils._rebuild_meta_tensor": saved(
        {"metadata": metadata(), "tensors": {"row": torch.zeros(2, dtype=torch.int64, device="meta")}}
    ),
    "no metadata": saved(torch.nn.Linear(1, 2).state_dict()),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_a_file_of_torch_of_another_kind_is_refused_by_what_is_wrong(what: str) -> None:
    with pytest.raises(Foreign, match=re.escape(what)):
        CODEC.decode(FOREIGN[what])


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("dtype", WIDTHS)
def test_what_torch_saves_is_read_with_every_pickle_protocol(dtype: str, protocol: int) -> None:
    rows = torch.tensor([[0, 1], [1, 0], [1, 1]]).to(getattr(torch, dtype))
    target = io.BytesIO()
    schema = [{"name": "x", "dtype": dtype, "shape": torch.Size([2])}]
    torch.save({"metadata": metadata(schema=schema), "tensors": {"x": rows}}, target, pickle_protocol=protocol)
    file = CODEC.decode(target.getvalue())
    assert file.metadata is not None
    assert file.metadata.schema == (FieldSpec("x", dtype, (2,)),)
    assert file.tensors["x"].shape == (3, 2)
    assert file.tensors["x"].data == rows.numpy().tobytes()


def test_a_part_of_a_storage_is_cut_out() -> None:
    whole = torch.arange(20).reshape(10, 2)
    file = CODEC.decode(saved({"metadata": metadata(), "tensors": {"x": whole[3:5], "y": whole[4:]}}))
    assert file.tensors["x"].data == whole[3:5].numpy().tobytes()
    assert file.tensors["y"].data == whole[4:].numpy().tobytes()


def test_many_views_of_one_storage_are_not_unfolded() -> None:
    whole = torch.zeros(1000, dtype=torch.int64)
    with pytest.raises(Corrupt, match="more elements than the file has bytes"):
        CODEC.decode(saved({"metadata": metadata(), "tensors": {f"x{k}": whole for k in range(100)}}))


def test_a_mapped_file_is_read_by_torch(tmp_path: Path) -> None:
    file = BatchFile(
        Metadata(3, 1, 7, "val", 99, (FieldSpec("x", "float64", ()),)), {"x": packed("float64", [3], [1.5, 2.5, 3.5])}
    )
    (tmp_path / "x.pt").write_bytes(CODEC.encode(file))
    loaded = torch.load(tmp_path / "x.pt", weights_only=True, mmap=True)
    assert loaded["tensors"]["x"].tolist() == [1.5, 2.5, 3.5]


def example(name: str, *arguments: object) -> list[str]:
    """Run an example as a user does, and return its lines."""
    command = [sys.executable, str(CHECKOUT / "examples/pipeline" / f"{name}.py"), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=True, env=ENVIRONMENT
    ).stdout.splitlines()


@pytest.mark.parametrize("protocol", [0, 4])
def test_a_folder_of_torch_and_pickle_alone_is_consumed(tmp_path: Path, protocol: int) -> None:
    example("torch_only", "write", tmp_path, "--protocol", protocol)
    *batches, _ = example("show_batches", tmp_path, "--batches", 2)
    # x is 9 * row + 0..7, y one more: eight rows, four in a batch.
    sums = [sum(2 * (9 * row + k) + 1 for row in rows for k in range(8)) for rows in (range(4), range(4, 8))]
    fields = "x int64[4, 8], y int64[4, 8]"
    assert batches == [f"batch {number}: {fields}, sum {total}" for number, total in enumerate(sums, 1)]
    assert names_in(tmp_path / "queue/train") == []


@pytest.mark.parametrize("writer", ["reference", "javascript"])
def test_a_folder_of_ours_is_read_by_torch_and_pickle_alone(javascript: Backend, tmp_path: Path, writer: str) -> None:
    if writer == "reference":
        provider = provider_of(tmp_path, codec="pt")
        provider.open()
        provider.turn("train", 5)
    else:
        filled = {"batch_size": 2, "batches_per_file": 2, "sampler": "counting"}
        config = {**filled, "meta": Value(meta_of(XY)), "codec": "pt"}
        opened = javascript.call("Pipeline.Provider.Open", {"root": str(tmp_path), "config": config})
        javascript.call("Pipeline.Provider.Produce", {"handle": opened["handle"], "split": "train", "now_ms": 5})
    # The counting sampler: (file_seed + crc32(field) + k) mod 127, k over the whole file; this is its first file.
    file_seed = (1337 * 1000003 ^ zlib.crc32(b"train")) % 2**64
    sizes = {b"x": 12, b"y": 4}
    total = sum((file_seed + zlib.crc32(name) + k) % 127 for name, size in sizes.items() for k in range(size))
    assert example("torch_only", "read", tmp_path) == [
        "meta.pkl: rows, batches of 2",
        f"train: 2 batches, {{'x': 'torch.uint16 [4, 3]', 'y': 'torch.int64 [4]'}}, sum {total}",
    ]


def test_the_baselines_files_go_round(tmp_path: Path) -> None:
    write_meta(tmp_path, meta_of(XY))
    for number, rows in enumerate(([1, 2, 3], [4, 5])):
        y = torch.tensor(rows)
        flat = {"x": y.to(torch.uint16).reshape(-1, 1).expand(-1, 3).contiguous(), "y": y}
        nested = {"metadata": {"batch_size": 2, "made": "by hand"}, "tensors": flat}
        torch.save(
            nested if number else {**flat, "metadata": {"batch_size": 2}}, tmp_path / f"train_batches_{number:04}.pt"
        )
    consumer = DatasetConsumer(tmp_path)
    taken = [consumer.get_batch("train", timeout=0)[1].tolist() for _ in range(4)]
    assert taken == [[1, 2], [3, 3], [4, 5], [1, 2]]
    assert consumer.stats()["mode"] == "legacy"


class Drawn(DataProviderBase):
    """A dataset that draws with torch, from the generator of the file."""

    def build_meta(self) -> dict[str, Any]:
        return meta_of([{"name": "x", "dtype": "float32", "shape": [3]}])

    def sample_batch(self, split: str, rng: FileRandom) -> Mapping[str, Any]:
        generator = rng.generator()
        return {"x": torch.rand((self.config.batch_size, 3), generator=generator).requires_grad_()}


def test_a_dataset_may_draw_and_answer_with_torch(tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        provider = Drawn(tmp_path / name, 2, batches_per_file=1)
        provider.open()
        provider.turn("train", 1)
        found.append(DatasetConsumer(tmp_path / name).get_batch("train", timeout=0)["x"])
    assert found[0].shape == (2, 3)
    assert torch.equal(found[0], found[1])
    expected = torch.rand((2, 3), generator=torch.Generator().manual_seed(332917576))
    assert torch.equal(found[0], expected)


def test_without_torch_both_codecs_give_arrays_and_a_device_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from impl.reference.pipeline import codecs

    real = codecs.library

    def absent(name: str) -> Any:
        if name == "torch":
            raise ModuleNotFoundError(name)
        return real(name)

    monkeypatch.setattr(codecs, "library", absent)
    for codec in ("npz", "pt"):
        provider = provider_of(tmp_path / codec, codec=codec)
        provider.open()
        provider.turn("train", 5)
        consumer = DatasetConsumer(tmp_path / codec)
        with pytest.raises(Refusal, match="needs torch") as caught:
            consumer.get_batch("train", "cpu", timeout=0)
        assert caught.value.code == "CONFIG_INVALID"
        assert isinstance(consumer.get_batch("train", timeout=0)[0], np.ndarray)


def test_a_named_type_of_device_gives_torch_tensors(tmp_path: Path) -> None:
    provider = provider_of(tmp_path, codec="npz")
    provider.open()
    provider.turn("train", 5)
    assert isinstance(DatasetConsumer(tmp_path).get_batch("train", timeout=0)[0], np.ndarray)
    assert isinstance(DatasetConsumer(tmp_path, "cpu").get_batch("train", timeout=0)[0], torch.Tensor)


def test_a_module_of_torch_learns_from_the_queue(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from impl.tests.pipeline.test_pipeline_examples import LM_SIZES, prepare, run_example

    prepare("char_lm", tmp_path, *LM_SIZES, "--max_backlog_files", "3", "--files", "6")
    trained = ["--batches", "100", "--every", "50", "--estimate", "5", "--timeout", "0", "--model", "torch"]
    assert run_example("train", tmp_path, *trained) == 0
    losses = [float(line.rpartition(" ")[2]) for line in capsys.readouterr().out.splitlines()]
    assert losses[2] < losses[1] < losses[0] - 1


@pytest.mark.parametrize("dtype", WIDTHS)
def test_javascript_writes_what_torch_reads_and_reads_what_torch_saves(
    javascript: Backend, tmp_path: Path, dtype: str
) -> None:
    meta = meta_of([{"name": "row", "dtype": dtype, "shape": [2]}])
    config = {"batch_size": 2, "batches_per_file": 2, "codec": "pt", "meta": Value(meta), "sampler": "counting"}
    opened = javascript.call("Pipeline.Provider.Open", {"root": str(tmp_path), "config": config})
    asked = {"handle": opened["handle"], "split": "train"}
    turn = javascript.call("Pipeline.Provider.Produce", {**asked, "now_ms": 5})
    written = tmp_path / turn["path"]
    loaded = torch.load(written, weights_only=True)
    mine = CODEC.decode(written.read_bytes())
    assert loaded["tensors"]["row"].dtype == getattr(torch, dtype)
    assert loaded["tensors"]["row"].numpy().tobytes() == mine.tensors["row"].data
    assert loaded["metadata"] == mine.metadata.as_map()  # type: ignore[union-attr]
    torch.save(loaded, written)
    consumer = javascript.call("Pipeline.Consumer.Open", {"root": str(tmp_path), "config": {}})["handle"]
    taken = [
        javascript.call("Pipeline.Consumer.GetBatch", {"handle": consumer, "split": "train", "timeout_ms": 0})
        for _ in range(2)
    ]
    data = b"".join(base64.b64decode(batch["fields"][0]["tensor"]["data"]) for batch in taken)
    assert data == mine.tensors["row"].data
