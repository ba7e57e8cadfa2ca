"""Pictures of a path and of a search, by scikit-learn's Display convention. They need matplotlib."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from slackwater.path.front import SVMPath


_MOST_UPRIGHT = 7  # values of C that there is room for side by side


def _axes(ax: Any, size: tuple[float, float]) -> tuple[Any, Any]:
    """The figure and the axes to draw on: the user's, or new ones."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("drawing needs matplotlib: pip install 'slackwater[plot]'.") from error
    if ax is None:
        figure, ax = pyplot.subplots(figsize=size, layout="constrained")
        return figure, ax
    return ax.figure, ax


@dataclass
class PathDisplay:
    """The Pareto front: average hinge loss over ‖w‖, a mark for each C.

    Attributes
    ----------
    ax_, figure_
        Matplotlib's, after ``plot``.
    """

    norm: NDArray[np.float64]
    loss: NDArray[np.float64]
    C: NDArray[np.float64]

    @classmethod
    def from_path(cls, path: SVMPath, ax: Any = None) -> PathDisplay:
        """Draw a result of ``svm_path``."""
        return cls(path.norm, path.loss, path.C).plot(ax)

    def plot(self, ax: Any = None) -> PathDisplay:
        """Draw on the axes given, or on new ones."""
        self.figure_, self.ax_ = _axes(ax, (6.0, 4.0))
        self.ax_.plot(self.norm, self.loss, "-", color="0.6", zorder=1)
        from matplotlib.colors import LogNorm

        marks = self.ax_.scatter(self.norm, self.loss, c=self.C, norm=LogNorm(), zorder=2)
        if (self.norm > 0.0).all():
            self.ax_.set_xscale("log")
        self.ax_.set_xlabel("norm ‖w‖")
        self.ax_.set_ylabel("average hinge loss")
        self.figure_.colorbar(marks, ax=self.ax_, label="C")
        return self


@dataclass
class SearchDisplay:
    """Mean cross-validated scores over C and gamma, the candidate chosen, and those it cannot be told from.

    Attributes
    ----------
    ax_, figure_
        Matplotlib's, after ``plot``.
    """

    Cs: NDArray[np.float64]  # rising
    gammas: NDArray[np.float64]  # rising; one 0 for kernels without gamma
    scores: NDArray[np.float64]  # (gammas, Cs), nan where nothing was scored
    chosen: tuple[int, int]  # places of gamma and C
    score: float
    error: float  # standard error of the score chosen
    scoring: str
    fewer_rows: NDArray[np.bool_] | None = None  # (gammas, Cs): scored on fewer rows than the one chosen, by max_time

    @classmethod
    def from_estimator(cls, search: Any, ax: Any = None) -> SearchDisplay:
        """Draw the scores of a fitted ``SVCCV``."""
        results = search.cv_results_
        C_of = np.array([each["C"] for each in results["params"]])
        gamma_of = np.array(search.candidate_gammas_)
        Cs, gammas = np.unique(C_of), np.unique(gamma_of)
        scores = np.full((len(gammas), len(Cs)), np.nan)
        rows, columns = np.searchsorted(gammas, gamma_of), np.searchsorted(Cs, C_of)
        scores[rows, columns] = results["mean_test_score"]
        chosen = int(rows[search.best_index_]), int(columns[search.best_index_])
        fewer = np.zeros(scores.shape, dtype=bool)
        if "n_resources" in results:
            fewer[rows, columns] = results["n_resources"] < results["n_resources"].max()
        name = search.scoring if isinstance(search.scoring, str) else "accuracy" if search.scoring is None else "score"
        return cls(Cs, gammas, scores, chosen, search.best_score_, search.best_score_error_, name, fewer).plot(ax)

    def plot(self, ax: Any = None) -> SearchDisplay:
        """Draw on the axes given, or on new ones."""
        self.figure_, self.ax_ = _axes(ax, (6.4, 4.4))
        shown = np.ma.masked_invalid(self.scores)
        image = self.ax_.imshow(shown, origin="lower", aspect="auto", cmap="viridis")
        fewer = np.zeros(self.scores.shape, dtype=bool) if self.fewer_rows is None else self.fewer_rows
        for (row, column), score in np.ndenumerate(self.scores):
            if np.isfinite(score):
                self._label(row, column, score, bool(fewer[row, column]))
        across, up = np.array([-0.46, 0.46, 0.46, -0.46, -0.46]), np.array([-0.46, -0.46, 0.46, 0.46, -0.46])
        self.ax_.plot(self.chosen[1] + across, self.chosen[0] + up, "-", color="red", lw=2)
        self.ax_.set_xticks(range(len(self.Cs)), [f"{C:.4g}" for C in self.Cs])
        if len(self.Cs) > _MOST_UPRIGHT:
            self.ax_.tick_params("x", rotation=45)
        self.ax_.set_yticks(range(len(self.gammas)), [f"{gamma:.3g}" if gamma else "none" for gamma in self.gammas])
        self.ax_.set_xlabel("C")
        self.ax_.set_ylabel("gamma")
        self.ax_.set_title(
            f"{self.scoring} {self.score:.4g} ± {self.error:.2g} (one standard error)\n"
            "square: chosen; bold: within one standard error of it"
            + ("; in brackets: on fewer rows" if (fewer & np.isfinite(self.scores)).any() else "")
        )
        self.figure_.colorbar(image, ax=self.ax_, label=f"mean {self.scoring}")
        return self

    def _label(self, row: int, column: int, score: float, fewer_rows: bool) -> None:
        alike = score >= self.score - self.error and not fewer_rows
        colour = "black" if score > float(np.nanmean(self.scores)) else "white"
        shown = f"({score:.3f})" if fewer_rows else f"{score:.3f}"
        self.ax_.text(
            column, row, shown, ha="center", va="center", color=colour, size=9 if len(self.Cs) <= _MOST_UPRIGHT else 7,
            weight="bold" if alike else "normal",
        )  # fmt: skip
