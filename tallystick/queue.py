"""The file queue: providers that prepare batches, consumers that hand them out, and helpers to make a dataset."""

from impl.library.queue import (
    Clock,
    DataProvider,
    DatasetConsumer,
    FieldSpec,
    FileRandom,
    QueueTimeout,
    check_meta,
    prepare,
    write_meta,
)
from impl.reference.pipeline.command_line import provider_arguments, provider_parser
from impl.reference.pipeline.refusal import Refusal
from impl.reference.pipeline.samples import (
    IGNORED,
    CachedTokenizer,
    CharTokenizer,
    Tokenizer,
    mask_tokens,
    next_span,
    require_spans,
    stratified_indices,
)

__all__ = [
    "IGNORED",
    "CachedTokenizer",
    "CharTokenizer",
    "Clock",
    "DataProvider",
    "DatasetConsumer",
    "FieldSpec",
    "FileRandom",
    "QueueTimeout",
    "Refusal",
    "Tokenizer",
    "check_meta",
    "mask_tokens",
    "next_span",
    "prepare",
    "provider_arguments",
    "provider_parser",
    "require_spans",
    "stratified_indices",
    "write_meta",
]
