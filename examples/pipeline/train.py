"""Train a small language model on a queue of `char_lm`, with a DatasetConsumer in the place of a BatchManager."""

import argparse
import sys
from importlib.util import find_spec
from typing import Any

from tallystick import ContractFailure, DatasetConsumer


def estimate_loss(model: Any, consumer: DatasetConsumer, batches: int, timeout: float) -> dict[str, float]:
    """Return the mean loss over some batches of each split, in evaluation mode; the model goes on in training mode.

    It uses the consumer of the training loop, so the batches of train that it sees are not trained on.
    """
    model.eval()
    losses = {}
    for split in ("train", "val"):
        found = [model(*consumer.get_batch(split, timeout=timeout))[1] for _ in range(batches)]
        losses[split] = sum(map(float, found)) / batches
    model.train()
    return losses


def model_of(vocab_size: int, use_torch: bool) -> Any:
    """Return the model in torch or in NumPy."""
    if use_torch:
        from torch_model import CharModule

        return CharModule(vocab_size)
    from numpy_model import CharModel

    return CharModel(vocab_size)


def main(arguments: list[str] | None = None) -> int:
    """Train; the exit status is 1 where the queue is of another kind, or no batch came in time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_dir")
    parser.add_argument("--batches", type=int, default=300, help="how many batches to train on")
    parser.add_argument("--every", type=int, default=100, help="estimate the loss after so many batches")
    parser.add_argument("--estimate", type=int, default=10, help="batches of each split for an estimate")
    parser.add_argument("--rate", type=float, default=0.01)
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds to wait for each batch")
    parser.add_argument("--model", choices=["numpy", "torch"], default="torch" if find_spec("torch") else "numpy")
    options = parser.parse_args(arguments)
    use_torch = options.model == "torch"
    try:
        consumer = DatasetConsumer(options.data_dir, "cpu" if use_torch else None)
        if [field.name for field in consumer.schema("train")] != ["x", "y"] or "vocab_size" not in consumer.meta:
            print("this queue has no x and y of a language model: prepare char_lm", file=sys.stderr)
            return 1
        model = model_of(consumer.meta["vocab_size"], use_torch)
        for number in range(options.batches + 1):
            if number % options.every == 0:
                losses = estimate_loss(model, consumer, options.estimate, options.timeout)
                print(f"batch {number}: train loss {losses['train']:.3f}, val loss {losses['val']:.3f}", flush=True)
            X, Y = consumer.get_batch("train", timeout=options.timeout)  # noqa: N806 (as the source names them)
            model(X, Y)
            model.step(options.rate)
    except ContractFailure as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
