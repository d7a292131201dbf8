"""A small text that the examples make themselves: the same on every machine, from nothing but a seed."""

from random import Random

SUBJECTS = ["the provider", "the consumer", "a file", "the queue", "a clock", "the reader"]
VERBS = ["waits for", "writes", "deletes", "renames", "counts", "hands out"]
OBJECTS = ["a batch", "the next row", "every name", "the last file", "a number", "the old text"]
MOODS = {"calm": ["slowly", "in order", "as agreed"], "hasty": ["at once", "too early", "in a rush"]}


def sentences(count: int, seed: int = 7) -> list[tuple[str, str]]:
    """Return sentences with the mood that their last words have."""
    random = Random(seed)  # noqa: S311 (a text, no secret)
    made = []
    for _ in range(count):
        mood = sorted(MOODS)[int(random.random() * 2)]
        words = [part[int(random.random() * len(part))] for part in (SUBJECTS, VERBS, OBJECTS, MOODS[mood])]
        made.append((" ".join(words) + ".", mood))
    return made


def text_of(split: str) -> str:
    """Return the text of a split: most sentences are for train, the others for val."""
    made = [sentence for sentence, _ in sentences(400)]
    return "\n".join(made[:360] if split == "train" else made[360:]) + "\n"
