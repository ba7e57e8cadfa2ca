"""Draw races-light.svg and races-dark.svg, seconds of fits, from the table in measurements.md: ``draw_races.py``."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt

HERE = Path(__file__).parent
THEMES = {"light": ("#212529", "#0b7285", "#868e96", "#e8590c"), "dark": ("#dee2e6", "#3bc9db", "#adb5bd", "#ff922b")}


class Race(NamedTuple):
    name: str
    ours: float
    onedal: float
    libsvm: float  # nan where it was taken out


def races(measurements: str) -> list[Race]:
    """The rows of "How long does it take?", and scikit-learn's seconds from the table below it."""
    theirs = {row[0]: row[1] for row in rows_of(measurements, "| race | scikit-learn, s |")}
    return [
        Race(row[0].split(", γ")[0], float(row[2]), float(row[3]), seconds(theirs.get(row[0], "")))
        for row in rows_of(measurements, "| race | strategy | fit, s | oneDAL, s |")
    ]


def rows_of(text: str, header: str) -> list[list[str]]:
    table = text.split(header)[1].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def seconds(cell: str) -> float:
    """nan where a contestant was stopped, or did not take part."""
    return float(cell) if cell.replace(".", "", 1).isdigit() else float("nan")


def draw(found: list[Race], theme: str) -> None:
    """A line from our seconds to the others' for each race."""
    ink, ours, onedal, libsvm = THEMES[theme]
    plt.rcParams.update({"svg.hashsalt": "races", "text.color": ink, "xtick.color": ink, "ytick.color": ink})
    figure, axis = plt.subplots(figsize=(5.8, 3.4), layout="constrained")
    for place, race in enumerate(reversed(found)):
        axis.plot([race.ours, race.onedal], [place, place], color=onedal, linewidth=1.5, alpha=0.5, zorder=1)
        middle = (race.ours * race.onedal) ** 0.5
        axis.text(middle, place + 0.12, f"{race.onedal / race.ours:.1f} ×", ha="center", va="bottom", fontsize=8)
    places = range(len(found) - 1, -1, -1)
    axis.scatter([race.ours for race in found], places, s=70, color=ours, label="slackwater", zorder=2)
    axis.scatter([race.onedal for race in found], places, s=45, color=onedal, label="Intel's oneDAL", zorder=2)
    axis.scatter([race.libsvm for race in found], places, s=45, color=libsvm, label="scikit-learn", zorder=2)
    axis.set_yticks(places, [race.name for race in found])
    axis.set(xscale="log", xticks=[0.3, 1, 3, 10, 30, 100], ylim=(-0.5, len(found) - 0.3))
    axis.set_xticks([], minor=True)
    axis.set_xticklabels(["0.3 s", "1 s", "3 s", "10 s", "30 s", "100 s"])
    axis.spines[:].set_visible(False)
    axis.grid(axis="x", color=onedal, alpha=0.25)
    axis.tick_params(length=0)
    axis.legend(loc="upper center", bbox_to_anchor=(0.3, 1.16), ncols=3, frameon=False)
    figure.savefig(HERE / f"races-{theme}.svg", transparent=True, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    for each in THEMES:
        draw(races((HERE / "measurements.md").read_text(encoding="utf-8")), each)
