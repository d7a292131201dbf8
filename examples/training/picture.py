"""Draw the losses of one run and of the two parts of another: `picture.py WHOLE KILLED CONTINUED FILE.svg`.

Each of the first three is a losses.jsonl. The line is the run that was never stopped; rings are the steps of the first
part, dots those of the second.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 300, 50, 20, 48, 40
LINE, FIRST, SECOND, GREY = "#6e7781", "#b4531a", "#1a5fb4", "#57606a"
FONT = 'font-family="sans-serif" font-size="12"'
Losses = dict[int, float]


def read(file: Path) -> Losses:
    """Return the losses by step."""
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return {line["step"]: line["loss"] for line in lines}


def drawn(whole: Losses, killed: Losses, continued: Losses) -> Iterator[str]:
    """Return the lines of the picture; `continued` are the steps after the checkpoint alone."""
    steps, most = max(whole), 0.1 * (int(10 * max(whole.values())) + 1)

    def x(step: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * step / steps

    def y(loss: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * loss / most

    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {FONT}>'
    yield "<title>Loss of each step, without a stop and with one</title>"
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    for tenth in range(0, round(10 * most) + 1, 2):
        height = y(tenth / 10)
        yield f'<path d="M{LEFT} {height:.1f}H{WIDTH - RIGHT}" stroke="#e1e4e8"/>'
        yield f'<text x="{LEFT - 8}" y="{height + 4:.1f}" text-anchor="end" fill="{GREY}">{tenth / 10:.1f}</text>'
    for step in range(0, steps + 1, 10):
        yield f'<text x="{x(step):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle" fill="{GREY}">{step}</text>'
    yield f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 6}" text-anchor="end" fill="{GREY}">step</text>'
    for step, what in ((min(continued) - 1, "checkpoint"), (max(killed), "SIGKILL")):
        yield f'<path d="M{x(step):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="{GREY}" stroke-dasharray="4 3"/>'
        yield f'<text x="{x(step) + 4:.1f}" y="{TOP + 12}" fill="{GREY}">{what}</text>'
    path = "L".join(f"{x(step):.1f} {y(loss):.1f}" for step, loss in whole.items())
    yield f'<path d="M{path}" fill="none" stroke="{LINE}" stroke-width="1.5"/>'
    for step, loss in killed.items():
        yield f'<circle cx="{x(step):.1f}" cy="{y(loss):.1f}" r="4" fill="none" stroke="{FIRST}"/>'
    for step, loss in continued.items():
        yield f'<circle cx="{x(step):.1f}" cy="{y(loss):.1f}" r="2" fill="{SECOND}"/>'
    yield f'<text x="{LEFT}" y="24" fill="{LINE}">line: never stopped, 1 rank</text>'
    yield f'<text x="{LEFT + 200}" y="24" fill="{FIRST}">rings: 2 ranks, until SIGKILL</text>'
    yield f'<text x="{LEFT + 400}" y="24" fill="{SECOND}">dots: 3 ranks, from the checkpoint on</text>'
    yield "</svg>"


def main(arguments: Sequence[str]) -> int:
    """Draw; the second part begins at the checkpoint, which is the last multiple of ten steps before the kill."""
    *files, target = map(Path, arguments)
    whole, killed, continued = map(read, files)
    checkpoint = max(killed) // 10 * 10
    later = {step: loss for step, loss in continued.items() if step > checkpoint}
    target.write_text("\n".join(drawn(whole, killed, later)) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
