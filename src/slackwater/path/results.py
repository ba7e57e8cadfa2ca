"""``cv_results_`` as scikit-learn's searches have it, and which candidate to choose by it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from slackwater.path.halving import means_over_folds

Floats = NDArray[np.float64]


def cv_results(
    candidates: Sequence[dict[str, Any]], scores: Floats, fit_times: Floats, score_times: Floats
) -> dict[str, Any]:
    """The table of a search, from (candidates, folds) arrays. A score that was not reached is nan, and ranks last."""
    results: dict[str, Any] = {}
    for name, values in (("fit_time", fit_times), ("score_time", score_times)):
        results[f"mean_{name}"], results[f"std_{name}"] = _mean_and_spread(values)
    for name in candidates[0]:
        column = np.ma.MaskedArray([each[name] for each in candidates], mask=False, dtype=_type_of(name, candidates))
        results[f"param_{name}"] = column
    results["params"] = list(candidates)
    for fold in range(scores.shape[1]):
        results[f"split{fold}_test_score"] = scores[:, fold]
    mean, results["std_test_score"] = _mean_and_spread(scores)
    results["mean_test_score"] = mean
    known = np.where(np.isnan(mean), np.nanmin(mean, initial=0.0) - 1.0, mean)
    results["rank_test_score"] = rankdata(-known, method="min").astype(np.int32)
    return results


def _mean_and_spread(values: Floats) -> tuple[Floats, Floats]:
    """Over the folds of each candidate that have a value; nan without any."""
    mean = means_over_folds(values)
    return mean, np.sqrt(means_over_folds((values - mean[:, None]) ** 2))


def _type_of(name: str, candidates: Sequence[dict[str, Any]]) -> Any:
    return object if any(isinstance(each[name], str) for each in candidates) else np.float64


def best(scores: Floats) -> int:
    """The candidate with the largest mean score, the first of several."""
    return int(np.nanargmax(means_over_folds(scores)))


def standard_error(scores: Floats) -> float:
    """Of a mean over folds."""
    known = scores[~np.isnan(scores)]
    return float(known.std(ddof=1) / math.sqrt(len(known))) if len(known) > 1 else 0.0


def one_standard_error(scores: Floats, candidates: Sequence[dict[str, Any]], gammas: Sequence[float]) -> int:
    """The most regularised candidate whose mean is within one standard error of the best: least C, then least gamma.

    Breiman, Friedman, Olshen and Stone (1984). ``gammas`` are those of the candidates, as numbers.
    """
    means, top = means_over_folds(scores), best(scores)
    limit = means[top] - standard_error(scores[top])
    within = [number for number, mean in enumerate(means) if mean >= limit]
    return min(within, key=lambda number: (candidates[number]["C"], gammas[number], -means[number]))
