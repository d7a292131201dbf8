"""Archives as tests of the file queue make them by hand: with zipfile and NumPy, not with the codec under test."""

import io
import zipfile
from typing import Any

import numpy as np


def archive(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """Return a zip archive of members in their order."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return target.getvalue()


def npy(array: Any) -> bytes:
    """Return the bytes of an array as NumPy saves it, objects too."""
    target = io.BytesIO()
    np.save(target, array, allow_pickle=True)
    return target.getvalue()
