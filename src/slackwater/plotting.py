"""Displays of a fit, in scikit-learn's convention: ``ConvergenceDisplay.from_estimator(model)`` draws and returns.

They need Matplotlib (``pip install "slackwater[plot]"``). A display keeps its numbers; ``plot`` draws them, again and
elsewhere if one likes. Colours are Matplotlib's own cycle, so that a style of one's own applies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from slackwater.history import History
from slackwater.report.subject import see

__all__ = ["ConvergenceDisplay", "MarginDisplay", "WaterDisplay"]

Values = NDArray[np.float64]

_COLUMNS = {"step": "steps", "seconds": "seconds of training", "evaluations": "kernel evaluations"}
_MOST_LINES = 10  # problems with a line of their own
_MOST_POINTS = 2000  # of a drawn curve
_BINS = 60
_CONFIDENCE = 0.95


class ConvergenceDisplay:
    """How a model was found: the gap on the way, and the error on the hold-out part where there was one.

    Parameters
    ----------
    history : History
        ``history_`` of a fitted estimator.
    estimator_name : str, optional
        The name in the legend.
    x : {"step", "seconds", "evaluations"}, default="seconds"
        What the horizontal axis shows.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    lines_ : list of Matplotlib lines
        One for each binary problem drawn (the ten with the largest gaps).
    holdout_ax_ : axis or None
        That of the hold-out errors.
    """

    def __init__(self, history: History, *, estimator_name: str | None = None, x: str = "seconds") -> None:
        if x not in _COLUMNS:
            raise ValueError(f"x must be one of {', '.join(_COLUMNS)}, got {x!r}. It is what the axis shows.")
        self.history, self.estimator_name, self.x = history, estimator_name, x

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, x: str = "seconds", ax: Any = None, name: str | None = None, **kwargs: Any
    ) -> ConvergenceDisplay:
        """Draw the way to a fitted model; further arguments are those of Matplotlib's ``plot``."""
        check_is_fitted(estimator)
        history = getattr(estimator, "history_", None)
        if history is None:
            raise ValueError(
                f"estimator must have a history_, and this {type(estimator).__name__} has none: it was read from a "
                "format that keeps the model alone."
            )
        display = cls(History(history), estimator_name=name or type(estimator).__name__, x=x)
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> ConvergenceDisplay:
        """Draw; a gap of zero has no place on the logarithmic axis and is left out."""
        self.figure_, self.ax_ = _axes(ax)
        self.lines_: list[Any] = []
        problems = self._problems()
        for problem in problems:
            rows = self.history.of(problem)
            seen = np.isfinite(rows["gap"]) & (rows["gap"] > 0.0)
            label = (name or self.estimator_name) if len(problems) == 1 else f"problem {problem}"
            style = {"label": label, "marker": "." if seen.sum() < 30 else None, **kwargs}
            self.lines_ += self.ax_.plot(rows[self.x][seen], rows["gap"][seen], **style)
        self.ax_.set(xlabel=_COLUMNS[self.x], ylabel="relative duality gap", yscale="log")
        if len(problems) > 1 or self.estimator_name:
            self.ax_.legend(loc="upper right")
        self.holdout_ax_ = self._plot_holdout(problems)
        return self

    def _problems(self) -> list[int]:
        """Those drawn: with the largest gaps at the end, in order of their numbers."""
        numbers = np.unique(self.history["problem"])
        last = np.array([self.history.of(number)["gap"][-1] for number in numbers])
        chosen = numbers[np.argsort(-np.nan_to_num(last, nan=-1.0), kind="stable")][:_MOST_LINES]
        return sorted(int(number) for number in chosen)

    def _plot_holdout(self, problems: list[int]) -> Any:
        if not np.isfinite(self.history["holdout_error"]).any():
            return None
        ax = self.ax_.twinx()
        for problem, line in zip(problems, self.lines_, strict=True):
            rows = self.history.of(problem)
            ax.plot(rows[self.x], 100.0 * rows["holdout_error"], linestyle="--", color=line.get_color())
        ax.set_ylabel("hold-out error [%], dashed")
        return ax


class WaterDisplay:
    """The water of a model: the margins of all examples in ascending order, and the slack below the level one.

    The area between level and margins is the total slack, which the paper calls the volume of water; examples below the
    level are those that the loss is about.

    Parameters
    ----------
    margins : ndarray of shape (n,)
        y f(x), in ascending order.
    estimator_name : str, optional
        The name in the legend.

    Attributes
    ----------
    volume, n_under_water
        Total slack Σ max(0, 1 - margin), and the number of examples with any.
    ax_, figure_, line_, water_
        Where it was drawn: the margins, and the filled area.
    """

    level = 1.0  # the margin from which on an example costs nothing

    def __init__(self, margins: Values, *, estimator_name: str | None = None) -> None:
        self.margins = np.sort(np.asarray(margins, dtype=np.float64))
        self.estimator_name = estimator_name
        self.volume = float(np.maximum(0.0, self.level - self.margins).sum())
        self.n_under_water = int(np.count_nonzero(self.margins < self.level))

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, name: str | None = None) -> WaterDisplay:
        """Draw the water of a fitted model at examples with labels; of several problems, of that with most slack."""
        check_is_fitted(estimator)
        seen = see(estimator, X, y, _CONFIDENCE)
        problem = seen.problems[seen.worst_problem].name
        return cls(seen.worst, estimator_name=name or f"{type(estimator).__name__}, {problem}").plot(ax=ax)

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> WaterDisplay:
        """Draw; further arguments are those of Matplotlib's ``plot``, for the margins."""
        self.figure_, self.ax_ = _axes(ax)
        chosen = _thinned(len(self.margins))
        share, heights = 100.0 * (chosen + 1) / len(self.margins), self.margins[chosen]
        (self.line_,) = self.ax_.plot(share, heights, **{"label": "margins of the examples", **kwargs})
        self.water_ = self.ax_.fill_between(
            share,
            heights,
            self.level,
            where=heights < self.level,
            interpolate=True,
            alpha=0.3,
            label=f"slack: {self.volume:.4g} in {self.n_under_water:,} examples",
        )
        self.ax_.axhline(self.level, color="black", linewidth=0.8, linestyle="--", label="level")
        self.ax_.set(xlabel="examples in order of their margin [%]", ylabel="margin y f(x)", title=self._title(name))
        self.ax_.legend(loc="upper left")
        return self

    def _title(self, name: str | None) -> str:
        return name or self.estimator_name or ""


class MarginDisplay:
    """How the margins of the examples are distributed, by class: wrong below 0, within the margin below 1.

    Parameters
    ----------
    margins : ndarray of shape (n,)
        Of one example each: with two classes y f(x); with several, of its own class against the one nearest to winning.
    codes : ndarray of shape (n,)
        The number of each example's class.
    class_names : list of str
        Names of the classes, in the order of their numbers.
    estimator_name : str, optional
        The name in the legend.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    histograms_ : list
        One for each class.
    n_wrong, n_within : int
        How many have a margin below 0, and from there on below 1.
    """

    def __init__(
        self, margins: Values, codes: NDArray[np.intp], class_names: list[str], *, estimator_name: str | None = None
    ) -> None:
        self.margins, self.codes, self.class_names = margins, codes, class_names
        self.estimator_name = estimator_name
        self.n_wrong = int(np.count_nonzero(margins < 0.0))
        self.n_within = int(np.count_nonzero((margins >= 0.0) & (margins < 1.0)))

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, name: str | None = None, **kwargs: Any
    ) -> MarginDisplay:
        """Draw the margins of a fitted model at examples; further arguments are those of Matplotlib's ``hist``."""
        check_is_fitted(estimator)
        seen = see(estimator, X, y, _CONFIDENCE)
        display = cls(seen.margins, seen.codes, seen.names, estimator_name=name or type(estimator).__name__)
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, name: str | None = None, **kwargs: Any) -> MarginDisplay:
        """Draw; classes are stacked. The one per cent of margins farthest out at either end share the outer bins."""
        self.figure_, self.ax_ = _axes(ax)
        least, most = np.percentile(self.margins, [1.0, 99.0])
        edges = np.linspace(min(least, -0.5), max(most, 1.5), _BINS + 1)
        shown = np.clip(self.margins, edges[0], edges[-1])
        parts = [shown[self.codes == code] for code in range(len(self.class_names))]
        style = {"stacked": True, "label": self.class_names, **kwargs}
        _, _, found = self.ax_.hist(parts, bins=edges, **style)
        self.histograms_ = [found] if len(parts) == 1 else list(found)
        self.ax_.axvline(0.0, color="black", linewidth=0.8)
        self.ax_.axvline(1.0, color="black", linewidth=0.8, linestyle="--")
        words = f"{self.n_wrong:,} below 0, {self.n_within:,} between 0 and 1"
        title = f"{name or self.estimator_name}: {words}" if name or self.estimator_name else words
        self.ax_.set(xlabel="margin", ylabel="examples", title=title)
        self.ax_.legend(title="class")
        return self


def _axes(ax: Any) -> tuple[Any, Any]:
    """The axes to draw on, new ones if none are given."""
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError('Displays need Matplotlib: pip install "slackwater[plot]".') from error
        _, ax = plt.subplots(layout="constrained")
    return ax.figure, ax


def _thinned(n: int) -> NDArray[np.intp]:
    """So many of n places as a curve needs, both ends among them."""
    return np.unique(np.linspace(0, n - 1, min(n, _MOST_POINTS)).astype(np.intp))
