"""What happens if a threshold of the default fit is half or twice what it is?

    python bench/sensitivity.py [--races adult checkers ...] [--settings subspace.max_deficit ...]
                                [--out results/sensitivity.csv]

Every number in slackwater.fitting.settings is halved and doubled in turn. A line says on which races that changed the
strategy, the fit time by more than a quarter, the test error by more than 0.1 points or the support vectors by more
than a tenth; thresholds without a line matter on none of them. Each fit is repeated and its quickest time counts.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from slackwater import SVC
from slackwater.fitting.settings import Settings
from tasks import RACES, load

DEFAULT_RACES = ("adult", "mnist", "checkers", "waves", "digits-10k-10", "forest-25k")
FACTORS = (0.5, 2.0)


class Fit(NamedTuple):
    strategy: str
    seconds: float
    error: float  # per cent
    gap: float
    support: int


def variants(settings: Settings) -> Iterator[tuple[str, float, Settings]]:
    """Each threshold by name, the factor, and the settings with it multiplied."""
    for group in dataclasses.fields(settings):
        part = getattr(settings, group.name)
        if group.name == "near_rows":  # of SBP and its rivals, not of SVC
            continue
        if not dataclasses.is_dataclass(part):
            for factor in FACTORS:
                yield group.name, factor, dataclasses.replace(settings, **{group.name: scaled(part, factor)})
            continue
        for field in dataclasses.fields(part):
            for factor in FACTORS:
                changed = dataclasses.replace(part, **{field.name: scaled(getattr(part, field.name), factor)})
                yield f"{group.name}.{field.name}", factor, dataclasses.replace(settings, **{group.name: changed})


def scaled(value: Any, factor: float) -> Any:
    """Whole numbers stay whole."""
    if isinstance(value, tuple):
        return tuple(scaled(each, factor) for each in value)
    return max(1, round(value * factor)) if isinstance(value, int) else value * factor


def measured(race: str, settings: Settings, data: Any, repeats: int) -> Fit:
    task, (X, y, X_test, y_test) = RACES[race], data
    estimator = type("SVCWithSettings", (SVC,), {"_settings": settings})
    seconds = []
    for _ in range(repeats):
        model = estimator(C=task["C"], gamma=task["gamma"])
        start = time.perf_counter()
        model.fit(X, y)
        seconds.append(time.perf_counter() - start)
    error = 100.0 * float(np.mean(model.predict(X_test) != y_test))
    return Fit(model.strategy_, min(seconds), error, float(np.max(model.gap_)), len(model.support_))


def difference(before: Fit, after: Fit) -> str:
    """In words; empty where nothing of note has changed."""
    said = []
    if after.strategy != before.strategy:
        said.append(f"{before.strategy} -> {after.strategy}")
    if not 0.8 <= after.seconds / before.seconds <= 1.25:
        said.append(f"time x{after.seconds / before.seconds:.2f}")
    if abs(after.error - before.error) > 0.1:
        said.append(f"error {after.error - before.error:+.2f}")
    if not 0.9 <= after.support / max(before.support, 1) <= 1.1:
        said.append(f"support x{after.support / max(before.support, 1):.2f}")
    return ", ".join(said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--races", nargs="+", choices=list(RACES), default=DEFAULT_RACES, metavar="RACE")
    parser.add_argument("--settings", nargs="+", help="only these, by name")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("results/sensitivity.csv"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for race in options.races:
        data = load(RACES[race], 0)
        measured(race, Settings(), data, 1)
        usual = measured(race, Settings(), data, options.repeats)
        print(
            f"{race}: {usual.strategy}, {usual.seconds:.2f} s, error {usual.error:.2f} %, gap {usual.gap:.4f}",
            flush=True,
        )
        for name, factor, settings in variants(Settings()):
            if options.settings and name not in options.settings:
                continue
            found = measured(race, settings, data, options.repeats)
            rows.append({"race": race, "setting": name, "factor": factor, **found._asdict()})
            rows[-1]["change"] = difference(usual, found)
            if rows[-1]["change"]:
                print(f"  {name} x{factor:g}: {rows[-1]['change']}", flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    quiet = sorted({row["setting"] for row in rows} - {row["setting"] for row in rows if row["change"]})
    print(f"without effect on any of these races: {', '.join(quiet)}")


if __name__ == "__main__":
    main()
