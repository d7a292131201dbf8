"""The flags of `os.open` that not every system has: none of them where there are none (Windows)."""

import os
from typing import Final

NOFOLLOW: Final[int] = getattr(os, "O_NOFOLLOW", 0)
NONBLOCK: Final[int] = getattr(os, "O_NONBLOCK", 0)
# Without O_BINARY Windows turns line ends; elsewhere there is no such flag. There no descriptor is inherited either.
PRIVATE: Final[int] = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# Where a folder cannot be opened, its entries cannot be made durable by hand.
FOLDER: Final[int | None] = getattr(os, "O_DIRECTORY", None)
