"""The sampler in PyTorch's DataLoader; needs the extra `tallystick[torch]`."""

from impl.library.torch_sampler import BatchSampler

__all__ = ["BatchSampler"]
