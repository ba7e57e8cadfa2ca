"""How good predictions are, with confidence intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_DRAWS = 2000
_SEED = 0  # intervals of the same predictions are the same


class Measure(NamedTuple):
    """A value and its interval; NaN where it is not defined."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Evaluation:
    """Measures of a classifier on examples it was not trained on."""

    n: int
    classes: list[Any]
    confidence: float
    overall: dict[str, Measure]
    precision: list[Measure]
    recall: list[Measure]
    confusion: NDArray[np.int64]  # true classes in rows, predicted ones in columns

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "n": self.n,
            "classes": self.classes,
            "confidence": self.confidence,
            **{name.replace(" ", "_"): measure._asdict() for name, measure in self.overall.items()},
            "precision": [measure._asdict() for measure in self.precision],
            "recall": [measure._asdict() for measure in self.recall],
            "confusion": self.confusion,
        }


def evaluate_predictions(
    y: NDArray[Any],
    predicted: NDArray[Any],
    classes: NDArray[Any],
    scores: NDArray[np.float64] | None = None,
    confidence: float = 0.95,
) -> Evaluation:
    """Compare predictions with labels.

    Parameters
    ----------
    y, predicted : ndarray of shape (n,)
        Labels, all of which are among ``classes``.
    classes : ndarray of shape (k,)
    scores : ndarray of shape (n,), optional
        Decision values of two classes, positive for the second.
    confidence : float, default=0.95
        Of the intervals: Wilson's for shares, a parametric bootstrap of the confusion matrix for balanced accuracy and
        macro F1, DeLong's on the logit scale for the area under the ROC curve.
    """
    known = classes.tolist()
    position = {label: k for k, label in enumerate(known)}
    true = np.array([position[label] for label in y.tolist()])
    said = np.array([position[label] for label in predicted.tolist()])
    confusion = np.zeros((len(known), len(known)), dtype=np.int64)
    np.add.at(confusion, (true, said), 1)
    right = np.diag(confusion)
    overall = {
        "accuracy": share(int(right.sum()), len(true), confidence),
        **_bootstrapped(confusion, confidence),
    }
    if scores is not None:
        overall["ROC AUC"] = area_under_roc(true == 1, scores, confidence)
    overall["largest class"] = share(int(confusion.sum(axis=1).max()), len(true), confidence)
    return Evaluation(
        len(true),
        known,
        confidence,
        overall,
        [share(*pair, confidence) for pair in zip(right.tolist(), confusion.sum(axis=0).tolist(), strict=True)],
        [share(*pair, confidence) for pair in zip(right.tolist(), confusion.sum(axis=1).tolist(), strict=True)],
        confusion,
    )


def share(part: int, whole: int, confidence: float = 0.95) -> Measure:
    """A share with Wilson's interval."""
    if whole == 0:
        return Measure(math.nan, math.nan, math.nan)
    return Measure(part / whole, *wilson_interval(part, whole, confidence))


def wilson_interval(part: int, whole: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval (JASA 1927), which does not leave [0, 1] and holds for rare events."""
    z = _quantile(confidence)
    p = part / whole
    centre = p + z * z / (2 * whole)
    reach = z * math.sqrt(p * (1 - p) / whole + z * z / (4 * whole * whole))
    scale = 1 + z * z / whole
    low = 0.0 if part == 0 else (centre - reach) / scale
    return low, 1.0 if part == whole else (centre + reach) / scale


def _quantile(confidence: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(0.5 + confidence / 2))


def _balanced_and_f1(confusion: NDArray[Any]) -> NDArray[np.float64]:
    """Mean recall, and mean F1, of the classes that occur; any leading axes."""
    right = np.diagonal(confusion, axis1=-2, axis2=-1)
    there, said = confusion.sum(axis=-1), confusion.sum(axis=-2)
    occurs = there > 0
    recall = right / np.maximum(there, 1)
    f1 = 2.0 * right / np.maximum(there + said, 1)
    counted = np.maximum(occurs.sum(axis=-1), 1)
    return np.stack([(each * occurs).sum(axis=-1) / counted for each in (recall, f1)])


def _bootstrapped(confusion: NDArray[np.int64], confidence: float) -> dict[str, Measure]:
    """Intervals from confusion matrices drawn with the shares of this one: O(draws · k²), whatever n is."""
    n, k = int(confusion.sum()), len(confusion)
    rng = np.random.default_rng(_SEED)
    values = _balanced_and_f1(confusion)
    size = max(1, 10**6 // (k * k))
    draws = []
    for start in range(0, _DRAWS, size):
        drawn = rng.multinomial(n, confusion.ravel() / n, size=min(size, _DRAWS - start))
        draws.append(_balanced_and_f1(drawn.reshape(-1, k, k)))
    tail = (1 - confidence) / 2
    low, high = np.quantile(np.concatenate(draws, axis=1), [tail, 1 - tail], axis=1)
    names = ("balanced accuracy", "macro F1")
    return {name: Measure(float(values[i]), float(low[i]), float(high[i])) for i, name in enumerate(names)}


def area_under_roc(positive: NDArray[np.bool_], scores: NDArray[np.float64], confidence: float = 0.95) -> Measure:
    """The area under the ROC curve; variance by DeLong (Biometrics 1988), interval on the logit scale."""
    from scipy.stats import rankdata

    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    if not n_positive or not n_negative:
        return Measure(math.nan, math.nan, math.nan)
    ranks = rankdata(scores)
    within_positive, within_negative = rankdata(scores[positive]), rankdata(scores[~positive])
    area = float((ranks[positive].sum() / n_positive - (n_positive + 1) / 2) / n_negative)
    if min(n_positive, n_negative) < 2 or area in (0.0, 1.0):
        return Measure(area, math.nan, math.nan)
    placed = (ranks[positive] - within_positive) / n_negative
    others = 1.0 - (ranks[~positive] - within_negative) / n_positive
    deviation = math.sqrt(placed.var(ddof=1) / n_positive + others.var(ddof=1) / n_negative)
    centre, reach = math.log(area / (1 - area)), _quantile(confidence) * deviation / (area * (1 - area))
    low, high = (1 / (1 + math.exp(-(centre + side * reach))) for side in (-1, 1))
    return Measure(area, low, high)
