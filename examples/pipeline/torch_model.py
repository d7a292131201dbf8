"""The same small language model in torch, as a module: it guesses a character from the two before it."""

from typing import Any

import torch
from torch import nn

WIDTH, HIDDEN, DROPPED = 16, 64, 0.1


class CharModule(nn.Module):
    """Call it with x and y, [batch, block] each: it returns logits and the mean loss in nats for each character."""

    def __init__(self, vocab_size: int, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.embed = nn.Embedding(vocab_size, WIDTH)
        self.body = nn.Sequential(
            nn.Linear(2 * WIDTH, HIDDEN), nn.Tanh(), nn.Dropout(DROPPED), nn.Linear(HIDDEN, vocab_size)
        )
        self._latest: torch.Tensor | None = None
        self._optimizer = torch.optim.RMSprop(self.parameters())

    def train(self, mode: bool = True) -> "CharModule":
        """Go to training mode, or to evaluation mode: nothing is learned across the change."""
        self._latest = None
        return super().train(mode)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, Any]:
        """Return logits [batch, block, vocab_size] and the mean loss."""
        before = torch.cat([x[:, :1], x[:, :-1]], dim=1)
        with torch.set_grad_enabled(self.training):
            logits = self.body(torch.cat([self.embed(before), self.embed(x)], dim=-1))
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())
        self._latest = loss if self.training else None
        return logits, loss

    def step(self, rate: float) -> None:
        """Move the weights against the gradient of the latest loss."""
        if self._latest is None:
            raise RuntimeError("step() learns from a call in training mode")
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.zero_grad()
        self._latest.backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()
        self._latest = None
