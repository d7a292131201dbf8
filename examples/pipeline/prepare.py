"""Fill the queue of one of the example datasets: `python prepare.py char_lm data/char_lm --batch_size 8 ...`."""

import sys
from argparse import Namespace

from bert_mlm import BertProvider
from char_diffusion import CharDiffusionProvider
from char_lm import CharProvider
from classification import ClassificationProvider
from token_classification import TokenClassificationProvider

from tallystick import DataProvider
from tallystick.queue import prepare, provider_arguments, provider_parser

DATASETS: dict[str, type[DataProvider]] = {
    "char_lm": CharProvider,
    "char_diffusion": CharDiffusionProvider,
    "bert_mlm": BertProvider,
    "classification": ClassificationProvider,
    "token_classification": TokenClassificationProvider,
}


def make(options: Namespace) -> DataProvider:
    """Build the provider that the command line names."""
    return DATASETS[options.dataset](**provider_arguments(options))


def main(arguments: list[str] | None = None) -> int:
    """Run one provider."""
    parser = provider_parser("Fill the queue of an example dataset.", "dataset", sorted(DATASETS))
    return prepare(make, parser, arguments)


if __name__ == "__main__":
    sys.exit(main())
