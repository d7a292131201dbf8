"""Tensors as arrays of the library that the caller trains with: NumPy's, or torch's on a device."""

from functools import cache
from importlib import import_module
from typing import Any

from impl.types import Tensor


@cache
def library(name: str) -> Any:
    """Return NumPy or torch, imported when it is first needed; ModuleNotFoundError."""
    return import_module(name)


def numpy_array(dtype: str, shape: tuple[int, ...], rows: memoryview) -> Any:
    """Copy rows into a NumPy array of their own, so that no array holds on to its file."""
    return library("numpy").ndarray(shape, dtype, rows).copy()


def torch_tensor(tensor: Tensor) -> Any:
    """Copy a tensor into one of torch, on the CPU."""
    return torch_rows(tensor.dtype, tensor.shape, memoryview(tensor.data))


def torch_rows(dtype: str, shape: tuple[int, ...], rows: memoryview) -> Any:
    """Copy rows into a torch tensor of their own, on the CPU."""
    torch = library("torch")
    if rows.readonly:
        return torch.frombuffer(bytearray(rows), dtype=getattr(torch, dtype)).reshape(shape)
    return torch.frombuffer(rows, dtype=getattr(torch, dtype)).reshape(shape).clone()


def on_device(tensor: Any, device: str) -> Any:
    """Move a torch tensor; to CUDA from pinned memory without waiting for the copy."""
    if not device.startswith("cuda"):
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


def has_cuda() -> bool:
    """Tell whether torch is installed and sees a CUDA device."""
    try:
        return bool(library("torch").cuda.is_available())
    except ModuleNotFoundError:
        return False
