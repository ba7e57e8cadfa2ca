"""Fig. 1 and Fig. 4: water over the responses of a real run, in one basin and in two.

The responses are those of the last iterate after a stated number of steps: the ones by which the next step would be
drawn. ν is Table 2's, as printed.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray
from slackwater import SBPClassifier
from slackwater.datasets import Dataset
from slackwater.water import level, level_and_bias

from sbp_paper.experiments.data import Selection, selection
from sbp_paper.experiments.job import Advance, Job, Mode, Record
from sbp_paper.experiments.settings import Setting, setting
from sbp_paper.experiments.training import fitted

DATA = "adult"
STEPS: dict[Mode, int] = {"full": 3000, "quick": 300}
MOST_POINTS = {"fig1": 2000, "fig4": 1000}  # of a sorted curve
_ROUNDING = 1e-12  # an example that the level rests on is under water


def sorted_points(values: NDArray[np.float64], most: int) -> list[float]:
    """The values in order; of too many, those at evenly spaced ranks, the first and the last among them."""
    count = min(most, len(values))
    ranks = np.round(np.linspace(0, len(values) - 1, count)).astype(np.intp)
    return [float(value) for value in np.sort(values)[ranks]]


def one_basin(responses: NDArray[np.float64], nu: float) -> Record:
    """Fig. 1: the level at which nν of water stands."""
    volume = nu * len(responses)
    surface = level(responses, volume)
    return {
        "n": len(responses),
        "responses": sorted_points(responses, MOST_POINTS["fig1"]),
        "level": surface,
        "volume": volume,
        "n_wet": int(np.sum(responses <= surface + _ROUNDING)),
    }


def two_basins(responses: NDArray[np.float64], labels: NDArray[np.int8], nu: float) -> Record:
    """Fig. 4: the common level, and the bias that shifts the basins against each other; responses are without bias."""
    surface, bias = level_and_bias(responses, labels, nu * len(responses))
    positives, negatives = responses[labels > 0], responses[labels < 0]
    return {
        "n": len(responses),
        "positives": sorted_points(positives, MOST_POINTS["fig4"]),
        "negatives": sorted_points(negatives, MOST_POINTS["fig4"]),
        "n_positives": len(positives),
        "n_negatives": len(negatives),
        "level": surface,
        "bias": bias,
        "n_wet_positives": int(np.sum(positives + bias <= surface + _ROUNDING)),
        "n_wet_negatives": int(np.sum(negatives - bias <= surface + _ROUNDING)),
    }


def responses_after(data: Dataset, parameters: Setting, steps: int) -> NDArray[np.float64]:
    """y_i <w, Φ(x_i)> of every training row, w being the last iterate."""
    model = fitted(
        SBPClassifier(
            parameters.nu,
            gamma=parameters.gamma,
            fit_intercept=parameters.bias,
            average="last",
            tol=0.0,
            max_iter=steps,
            random_state=0,
        ),
        data.X_train,
        data.y_train,
    )
    length = model.margin_ if model.margin_ > 0.0 else 1.0  # a model is w divided by its margin, if that is positive
    values = model.decision_function(data.X_train) - model.intercept_[0]
    return np.asarray(length * data.y_train * values)


def _run(rows: Selection, parameters: Setting, steps: int, advance: Advance) -> Record:
    data = rows.load()
    responses = responses_after(data, parameters, steps)
    if parameters.bias:
        picture = two_basins(responses, data.y_train, parameters.nu)
    else:
        picture = one_basin(responses, parameters.nu)
    return {"data": parameters.data, "nu": parameters.nu, "steps": steps, **picture}


def jobs(mode: Mode) -> list[Job]:
    """One picture without bias, one with."""
    rows, made = selection(DATA, mode), []
    for part, bias in (("fig1", False), ("fig4", True)):
        parameters, steps = setting(DATA, bias=bias), STEPS[mode]
        settings = {
            **rows.as_settings(),
            "bias": bias,
            "sigma2": parameters.sigma2,
            "nu": parameters.nu,
            "steps": steps,
            "points": MOST_POINTS[part],
        }
        run = partial(_run, rows, parameters, steps)
        made.append(Job(f"{part}/{DATA}", settings, run, 15.0 if mode == "full" else 2.0))
    return made
