"""Stratified sampling for classification: every batch has the classes in the proportions of the whole."""

from collections.abc import Hashable, Sequence

from impl.reference.pipeline.file_seed import FileRandom


def class_counts(sizes: Sequence[int], count: int) -> list[int]:
    """Share `count` among classes of these sizes: whole shares, then one each to the largest remainders."""
    total = sum(sizes)
    counts = [size * count // total for size in sizes]
    by_remainder = sorted(range(len(sizes)), key=lambda k: (-(sizes[k] * count % total), k))
    for k in by_remainder[: count - sum(counts)]:
        counts[k] += 1
    return counts


def stratified_indices(labels: Sequence[Hashable], count: int, rng: FileRandom) -> list[int]:
    """Return `count` indices in random order, drawn with replacement inside each class; ValueError without labels."""
    if not labels:
        raise ValueError("there is nothing to draw from")
    members: dict[Hashable, list[int]] = {}
    for index, label in enumerate(labels):
        members.setdefault(label, []).append(index)
    classes = list(members.values())
    drawn = [
        chosen[rng.below(len(chosen))]
        for chosen, share in zip(classes, class_counts([len(c) for c in classes], count), strict=True)
        for _ in range(share)
    ]
    for last in range(len(drawn) - 1, 0, -1):
        other = rng.below(last + 1)
        drawn[last], drawn[other] = drawn[other], drawn[last]
    return drawn
