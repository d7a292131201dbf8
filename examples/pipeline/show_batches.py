"""Do what a training loop would: take N batches of a queue, say what they are, and what the consumer counted."""

import argparse
import json
import sys

from tallystick import ContractFailure, DatasetConsumer


def main(arguments: list[str] | None = None) -> int:
    """Take batches; the exit status is 1 where none came in time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_dir")
    parser.add_argument("--split", default="train")
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds to wait for each batch")
    options = parser.parse_args(arguments)
    try:
        consumer = DatasetConsumer(options.data_dir)
        for number in range(1, options.batches + 1):
            batch = consumer.get_batch(options.split, timeout=options.timeout)
            fields = dict(zip("xy", batch, strict=True)) if isinstance(batch, tuple) else batch
            dtypes = {name: str(array.dtype).removeprefix("torch.") for name, array in fields.items()}
            shapes = ", ".join(f"{name} {dtypes[name]}{list(array.shape)}" for name, array in fields.items())
            print(f"batch {number}: {shapes}, sum {sum(int(array.sum()) for array in fields.values())}")
    except ContractFailure as failure:
        print(failure, file=sys.stderr)
        return 1
    print(json.dumps(consumer.stats()["splits"][options.split]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
