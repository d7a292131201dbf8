"""A small language model in NumPy: it guesses a character from the two before it."""

from typing import Any

import numpy as np

WIDTH, HIDDEN, DROPPED = 16, 64, 0.1


class CharModel:
    """Call it with x and y, [batch, block] each: it returns logits and the mean loss in nats for each character.

    In training mode a tenth of the hidden values is dropped at random, and `step` learns from the latest call.
    """

    def __init__(self, vocab_size: int, seed: int = 0) -> None:
        self._random = np.random.default_rng(seed)
        shapes = {"embed": (vocab_size, WIDTH), "hidden": (2 * WIDTH, HIDDEN), "out": (HIDDEN, vocab_size)}
        self.weights = {name: self._random.normal(0, 0.1, shape) for name, shape in shapes.items()}
        self._moments = {name: np.zeros(shape) for name, shape in shapes.items()}
        self.training = True
        self._latest: tuple[Any, ...] = ()

    def train(self) -> None:
        """Go to training mode."""
        self.training = True

    def eval(self) -> None:
        """Go to evaluation mode: nothing is dropped, and nothing can be learned."""
        self.training = False
        self._latest = ()

    def __call__(self, x: Any, y: Any) -> tuple[np.ndarray[Any, Any], float]:
        """Return logits [batch, block, vocab_size] and the mean loss."""
        x, y = np.asarray(x), np.asarray(y)
        pairs = np.stack([np.pad(x, ((0, 0), (1, 0)), mode="edge")[:, :-1], x], axis=-1)
        seen = self.weights["embed"][pairs].reshape(*x.shape, 2 * WIDTH)
        hidden = np.tanh(seen @ self.weights["hidden"])
        kept = self._random.random(hidden.shape) >= DROPPED if self.training else np.ones(hidden.shape, bool)
        hidden = hidden * kept / (1 - DROPPED if self.training else 1)
        logits = hidden @ self.weights["out"]
        shifted = logits - logits.max(-1, keepdims=True)
        logs = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
        self._latest = (pairs, seen, kept, hidden, logs, y) if self.training else ()
        return logits, float(-np.take_along_axis(logs, y[..., None], -1).mean())

    def step(self, rate: float) -> None:
        """Move the weights against the gradient of the latest loss, scaled by its own size (RMSprop)."""
        if not self._latest:
            raise RuntimeError("step() learns from a call in training mode")
        pairs, seen, kept, hidden, logs, y = self._latest
        errors = np.exp(logs)
        np.put_along_axis(errors, y[..., None], np.take_along_axis(errors, y[..., None], -1) - 1, -1)
        errors /= y.size
        scale = kept / (1 - DROPPED)
        inner = (errors @ self.weights["out"].T) * scale * (1 - np.tanh(seen @ self.weights["hidden"]) ** 2)
        gradients = {
            "out": np.einsum("bth,btv->hv", hidden, errors),
            "hidden": np.einsum("bts,bth->sh", seen, inner),
            "embed": np.zeros_like(self.weights["embed"]),
        }
        by_token = (inner @ self.weights["hidden"].T).reshape(*pairs.shape, WIDTH)
        np.add.at(gradients["embed"], pairs, by_token)
        for name, gradient in gradients.items():
            self._moments[name] = 0.9 * self._moments[name] + 0.1 * gradient**2
            self.weights[name] -= rate * gradient / (np.sqrt(self._moments[name]) + 1e-8)
        self._latest = ()
