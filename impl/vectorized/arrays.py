"""The array types of the vectorized backend."""

from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray

from impl.types import UINT64, ArrayOf

Words: TypeAlias = NDArray[np.uint64]
Positions: TypeAlias = NDArray[np.intp]

# A contract's list<uint64> that travels as an array.
Uint64Array: TypeAlias = Annotated[NDArray[np.uint64], ArrayOf(UINT64)]
