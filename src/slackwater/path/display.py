"""Pictures of a path and of a search, by scikit-learn's Display convention. They need matplotlib."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from slackwater.path.front import SVMPath


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
