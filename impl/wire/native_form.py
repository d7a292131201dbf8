"""The native form: what `call(method, params)` takes and returns inside one process."""

from impl.types import Binary, Integer
from impl.wire.codec import Codec


class NativeForm:
    """Leave every leaf as it is; only structs change, between dict and dataclass."""

    plain = Codec()

    def integer(self, mark: Integer) -> Codec:
        """Return the codec of an integer."""
        return self.plain

    def integers(self, mark: Integer) -> Codec:
        """Return the codec of a list of integers, which may also be an array."""
        return self.plain

    def byte_string(self) -> Codec:
        """Return the codec of a byte string."""
        return self.plain

    def binary(self, mark: Binary) -> Codec:
        """Return the codec of an IEEE-754 number."""
        return self.plain

    def value(self) -> Codec:
        """Return the codec of the self-describing type."""
        return self.plain

    def tensor(self) -> Codec:
        """Return the codec of a tensor."""
        return self.plain
