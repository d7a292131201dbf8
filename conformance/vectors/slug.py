"""Short stable names for values, of which case ids are made."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Final

_LONGEST: Final = 40  # characters; a whole hex seed of 16 bytes stays readable
_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")


def slug(value: Any) -> str:
    """The name of a YAML value: itself where it is short and plain, else its beginning and eight digits of its hash."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":"))
    if text == "":
        return "empty"
    safe = _UNSAFE.sub("_", text)
    if safe == text and len(safe) <= _LONGEST:
        return safe
    beginning = safe.strip("_")[:16] if isinstance(value, str) else ""
    return f"{beginning}~{hashlib.sha256(text.encode()).hexdigest()[:8]}"
