"""A queue folder with nothing but torch and pickle: `write` makes one that `DatasetConsumer` reads, `read` reads any.

Nothing of Tallystick is imported here. Try it both ways:

    python torch_only.py write data/plain && python show_batches.py data/plain --batches 2
    python prepare.py char_lm data/char_lm --batch_size 4 --block_size 8 --target_size 8 --files 2
    python torch_only.py read data/char_lm
"""

import argparse
import pickle
import sys
import time
from pathlib import Path
from typing import Any

import torch

BATCH, BLOCK, BATCHES = 4, 8, 2
SCHEMA = [{"name": name, "dtype": "int64", "shape": [BLOCK]} for name in ("x", "y")]


def write(data_dir: Path, protocol: int) -> None:
    """Write meta.pkl and one file of two batches."""
    folder = data_dir / "queue" / "train"
    folder.mkdir(parents=True)
    described: dict[str, Any] = {"dataset_name": "plain", "training_type": "LM", "vocab_size": 256, "batch_size": BATCH}
    described |= {"block_size": BLOCK, "target_size": BLOCK, "batch_schema": SCHEMA}
    described["split_info"] = {"train": {}, "val": {}}
    with (data_dir / "meta.pkl").open("wb") as file:
        pickle.dump(described, file, protocol=protocol)
    tokens = torch.arange(BATCHES * BATCH * (BLOCK + 1)).reshape(-1, BLOCK + 1)
    tensors = {"x": tokens[:, :-1].contiguous(), "y": tokens[:, 1:].contiguous()}
    now = time.time_ns() // 1_000_000
    told = {"batch_size": BATCH, "num_batches": BATCHES, "file_idx": 0, "split": "train", "produced_at": now}
    torch.save({"metadata": {**told, "schema": SCHEMA}, "tensors": tensors}, folder / f"{now}-000000-{BATCHES}.pt")


def read(data_dir: Path) -> None:
    """Print what meta.pkl and every batch file hold."""
    meta = pickle.loads((data_dir / "meta.pkl").read_bytes())  # noqa: S301 - your own folder
    print(f"meta.pkl: {meta['dataset_name']}, batches of {meta['batch_size']}")
    for path in sorted((data_dir / "queue").glob("*/*.pt")):
        held = torch.load(path, weights_only=True)
        tensors = {name: f"{tensor.dtype} {list(tensor.shape)}" for name, tensor in held["tensors"].items()}
        total = sum(int(tensor.sum()) for tensor in held["tensors"].values())
        print(f"{path.parent.name}: {held['metadata']['num_batches']} batches, {tensors}, sum {total}")


def main(arguments: list[str] | None = None) -> int:
    """Write or read a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["write", "read"])
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--protocol", type=int, default=pickle.DEFAULT_PROTOCOL, help="of meta.pkl; 0 to 5")
    options = parser.parse_args(arguments)
    if options.action == "write":
        write(options.data_dir, options.protocol)
    else:
        read(options.data_dir)
    return 0


if __name__ == "__main__":
    sys.exit(main())
