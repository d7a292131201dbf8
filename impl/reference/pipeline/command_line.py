"""The flags that every `prepare` command has in common."""

import logging
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import Any

from impl.reference.pipeline.provider import DataProviderBase
from impl.reference.pipeline.refusal import Refusal


def provider_parser(description: str, kind: str = "", kinds: Sequence[str] = ()) -> ArgumentParser:
    """Return a parser of the seed's flags; sizes have no defaults, so that nothing is guessed (requirement Q18).

    A script for several providers gets its choice first, as the argument `kind`, one of `kinds`.
    """
    parser = ArgumentParser(description=description)
    if kind:
        parser.add_argument(kind, choices=kinds)
    parser.add_argument("data_dir", help="the dataset's root: meta.pkl and queue/ are made there")
    parser.add_argument("--batch_size", type=int, required=True)
    parser.add_argument("--block_size", type=int)
    parser.add_argument("--target_size", type=int)
    parser.add_argument("--batches_per_file", type=int, default=100)
    parser.add_argument("--max_backlog_files", type=int, default=2)
    parser.add_argument("--sleep_seconds", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=1337)
    parser.add_argument("--codec", choices=["pt", "npz"], default="pt")
    parser.add_argument("--splits", nargs="+", default=["train", "val"])
    parser.add_argument("--files", type=int, help="stop after so many files; without it, run until interrupted")
    parser.add_argument("--force_regenerate", action="store_true", help="delete the queue and meta.pkl first")
    parser.add_argument("--verbose", action="store_true")
    return parser


def provider_arguments(options: Namespace) -> dict[str, Any]:
    """Return the constructor's arguments that the flags give."""
    sizes = ("batch_size", "block_size", "target_size", "batches_per_file", "max_backlog_files")
    return {name: getattr(options, name) for name in ("data_dir", *sizes, "sleep_seconds", "seed", "verbose", "codec")}


def prepare(
    make: Callable[[Namespace], DataProviderBase], parser: ArgumentParser, arguments: Sequence[str] | None = None
) -> int:
    """Run the provider that `make` builds from the flags until its files are written or Ctrl-C; 0, else exit 2."""
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        provider = make(options)
        if options.force_regenerate:
            provider.purge()
        provider.run(options.splits, until=lambda: options.files is not None and provider.produced >= options.files)
    except Refusal as refusal:
        parser.exit(2, f"{refusal.code}: {refusal}\n")
    except OSError as error:
        parser.exit(2, f"{error}\n")
    except KeyboardInterrupt:
        return 0
    return 0
