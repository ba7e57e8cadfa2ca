"""Draw the pictures of docs/watching.md: the displays, and the line of progress as a terminal shows it."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from rich.console import Console
from sklearn.datasets import make_classification, make_moons

from slackwater import SVC, SBPClassifier
from slackwater.plotting import ConvergenceDisplay, MarginDisplay, WaterDisplay

HERE = Path(__file__).parent


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def progress() -> None:
    """Some of the lines that one fit wrote, each of which replaced the one above it."""
    X, y = make_classification(60_000, 20, n_informative=12, n_clusters_per_class=4, flip_y=0.01, random_state=0)
    stream = Terminal()
    with contextlib.redirect_stderr(stream):
        SVC(C=10.0, max_time=20, verbose=1).fit(X, y)
    frames = [frame.strip() for frame in stream.getvalue().split("\r") if frame.strip()]
    stages = {frame.split(" · ")[0]: frame for frame in frames}  # the last line of each stage
    console = Console(record=True, width=132, file=io.StringIO())
    console.print(">>> SVC(C=10.0, max_time=20, verbose=1).fit(X, y)", highlight=False)
    for frame in stages.values():
        console.print(frame, highlight=False)
    console.save_svg(str(HERE / "progress.svg"), title="one line, rewritten; its last state in each stage")


def displays() -> None:
    X, y = make_moons(4000, noise=0.25, random_state=0)
    perceptron = SBPClassifier(0.05, gamma=2.0, fit_intercept=True, tol=0.02, max_iter=20_000, random_state=0).fit(X, y)
    model = SVC(gamma=2.0).fit(X, y)
    figure, axes = plt.subplots(1, 3, figsize=(15, 4.2), layout="constrained")
    ConvergenceDisplay.from_estimator(perceptron, ax=axes[0])
    WaterDisplay.from_estimator(model, X, y, ax=axes[1])
    MarginDisplay.from_estimator(model, X, y, ax=axes[2])
    figure.savefig(HERE / "displays.png", dpi=80)


if __name__ == "__main__":
    progress()
    displays()
