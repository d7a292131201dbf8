"""Wrong backends, each with the law that it breaks and what the law then says."""

from __future__ import annotations

from typing import Final

from conformance.tests.law_breakers import batch, blocks, canonical, checkpoint, next_batch, pipeline, records, stream

_BREAKERS = (batch, blocks, canonical, checkpoint, next_batch, pipeline, records, stream)
SINS: Final = tuple(sin for one in _BREAKERS for sin in one.SINS)
