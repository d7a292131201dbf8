"""CRC-32C (Castagnoli), which frames a record."""

from typing import Final

# The polynomial 0x1EDC6F41 with its bits reversed.
POLYNOMIAL: Final = 0x82F63B78


def crc32c(data: bytes) -> int:
    """Return the checksum of bytes: reflected, from all ones, complemented at the end."""
    remainder = 0xFFFFFFFF
    for byte in data:
        remainder = (remainder >> 8) ^ TABLE[(remainder ^ byte) & 0xFF]
    return remainder ^ 0xFFFFFFFF


def _entry(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (POLYNOMIAL if byte & 1 else 0)
    return byte


TABLE: Final = tuple(_entry(byte) for byte in range(256))
