"""Fig. 1 and Fig. 4: water over the responses of a real run, in one basin and in two.

The responses are those of the last iterate after a stated number of steps: the ones by which the next step would be
drawn. ν is Table 2's, as printed.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from slackwater.reproduction.data import Selection, selection
from slackwater.reproduction.exact import exact_sbp
from slackwater.reproduction.job import Advance, Job, Mode, Record
from slackwater.reproduction.settings import Setting, setting
from slackwater.stopping import MaxSteps
from slackwater.water import level, level_and_bias

DATA = "adult"
STEPS: dict[Mode, int] = {"full": 3000, "quick": 300}
MOST_POINTS = {"fig1": 2000, "fig4": 1000}  # of a sorted curve
_CACHE_MB = 200.0
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


def _run(rows: Selection, parameters: Setting, steps: int, advance: Advance) -> Record:
    data = rows.load()
    with exact_sbp(
        data.X_train, data.y_train, parameters.gamma, parameters.nu, bias=parameters.bias, cache_mb=_CACHE_MB, seed=0
    ) as run:
        run.drive([MaxSteps(steps)])
        responses, labels = run.responses()
    if parameters.bias:
        picture = two_basins(responses, labels, parameters.nu)
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
