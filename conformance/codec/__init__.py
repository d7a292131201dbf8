"""Values on the wire: JSON and CBOR forms of every type, strict canonical CBOR, digests.

The harness stores, compares and freezes values in their JSON wire form: two outcomes are equal exactly when their JSON
wire forms are.
"""

import sys
from typing import Final

# A walk through a message takes up to four frames for each of its 1,000 levels. Python's own frames take no C stack,
# and a stack of 1 MB is enough for a JSON text that goes on for all of these frames (measured).
_FRAMES: Final = 6_000
sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES))
