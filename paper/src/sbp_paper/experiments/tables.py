"""Summary tables of the reproduction: rows of plain values, from records alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sbp_paper.experiments import summary
from sbp_paper.experiments.job import Record
from sbp_paper.experiments.summary import Band, Curve, FinalError

Row = dict[str, Any]
Records = dict[str, list[Record]]  # of each part

DATA = ("reuters", "adult", "mnist", "forest", "forest-all")
METHODS = ("sbp", "pegasos", "sdca", "smo", "perceptron")
RUNTIME_METHODS = ("svm-train", "sklearn", "sbp", "svc")
SCALING_METHODS = ("sbp", "smo", "pegasos")
NU_SOURCES = ("printed", "derived")  # of the runs on all of Forest

BOUND_EXPONENTS = {  # p of Table 1's bounds ∝ 1/ε^p
    "proportional": {"sbp": 1, "smo": 2, "pegasos": 3},  # where ε = Ω(L(u))
    "fixed": {"sbp": 4, "smo": 4, "pegasos": 4},  # where ε is far below L(u)
}


class PaperRuntime(NamedTuple):
    """Section 5: LIBSVM's time and error on an Intel E7500, and the error of SBP in a quarter of that time."""

    seconds: float
    error: float
    sbp_quarter_error: float


PAPER_RUNTIME = {
    "adult": PaperRuntime(195.0, 0.149, 0.150),
    "mnist": PaperRuntime(1980.0, 0.0044, 0.0046),
    "forest": PaperRuntime(35 * 3600.0, 0.018, 0.016),
}


def of_data(records: Iterable[Record], data: str, method: str | None = None) -> list[Record]:
    return [r for r in records if r["data"] == data and method in (None, r.get("method"))]


def data_sets(records: Sequence[Record]) -> list[str]:
    """Those that occur, in the paper's order."""
    return [name for name in DATA if any(r["data"] == name for r in records)]


class Comparison(NamedTuple):
    """One panel of Fig. 2: mean curves by method and the error they are on their way to."""

    data: str
    n: int
    final: FinalError | None
    exact: dict[str, Band]  # every change of every run
    by_iterations: dict[str, Band]  # the same with n evaluations for every iteration

    def cost_near(self, method: str) -> float | None:
        return self._near(self.exact.get(method))

    def cost_near_by_iterations(self, method: str) -> float | None:
        return self._near(self.by_iterations.get(method))

    def _near(self, band: Band | None) -> float | None:
        if self.final is None or band is None:
            return None
        return summary.cost_within(band.curve, self.final.error, summary.near(self.data))

    def cost_half_way(self, method: str) -> float | None:
        """From where the error stays below the middle between beginning and end, the same for all methods.

        The beginning is the lowest error that any method begins with: about that of guessing the larger class.
        """
        if self.final is None or method not in self.exact:
            return None
        beginning = min(float(band.mean[0]) for band in self.exact.values())
        return summary.cost_within(self.exact[method].curve, (beginning + self.final.error) / 2)


def compare(records: Records, data: str) -> Comparison:
    fig2 = records.get("fig2", [])
    n = max(r["n"] for r in of_data(fig2, data))
    final = summary.final_error(data, fig2, records.get("table2", []))
    iterating = [r for r in fig2 if r["method"] != "perceptron"]  # which asks for its support vectors alone
    return Comparison(
        data, n, final, _bands(fig2, data, summary.evaluation_curve), _bands(iterating, data, summary.iteration_curve)
    )


def _bands(fig2: Sequence[Record], data: str, curve: Callable[[Record], Curve]) -> dict[str, Band]:
    bands = {method: summary.mean_band([curve(r) for r in of_data(fig2, data, method)]) for method in METHODS}
    return {method: band for method, band in bands.items() if band is not None}


def fig2_rows(records: Records) -> list[Row]:
    """What each method pays to come near the final error, and near its own last error."""
    rows = []
    for data in data_sets(records.get("fig2", [])):
        panel = compare(records, data)
        sbp_near = panel.cost_near("sbp")
        for method, band in panel.exact.items():
            runs = of_data(records["fig2"], data, method)
            cost = panel.cost_near(method)
            rows.append(
                {
                    "data": data,
                    "method": method,
                    "n": panel.n,
                    "runs": len(runs),
                    "final_error": panel.final.error if panel.final else None,
                    "final_error_from": panel.final.source if panel.final else None,
                    "near": summary.near(data),
                    "evaluations_to_near": cost,
                    "times_sbp": cost / sbp_near if cost and sbp_near else None,
                    "evaluations_to_near_by_iterations": panel.cost_near_by_iterations(method),
                    "error_when_sbp_is_near": summary.value_at(band.curve, sbp_near) if sbp_near else None,
                    "near_over_half_way": cost / half if cost and (half := panel.cost_half_way(method)) else None,
                    "last_error": float(band.mean[-1]),
                    "evaluations_to_near_last_error": summary.cost_settled(band.curve, summary.near(data)),
                    "evaluations_in_all": float(band.cost[-1]),
                    "computed_evaluations": _mean([r.get("computed_evaluations") for r in runs]),
                }
            )
    return rows


def alternative_band(records: Records, data: str, method: str, points: int | None = None) -> Band | None:
    """The mean curve of the other model that a method could return (last iterate or mean), where it was recorded."""
    runs = [r for r in of_data(records.get("fig2", []), data, method) if r.get("alternative")]
    others = [r | {"test_error": r["alternative"]["test_error"]} for r in runs]
    return summary.mean_band([summary.evaluation_curve(r) for r in others], points)


def alternative_rows(records: Records) -> list[Row]:
    rows = []
    for data in data_sets(records.get("fig2", [])):
        panel = compare(records, data)
        for method in panel.exact:
            band = alternative_band(records, data, method)
            if band is None or panel.final is None:
                continue
            kinds = {r["alternative"]["model"] for r in of_data(records["fig2"], data, method)}
            rows.append(
                {
                    "data": data,
                    "method": method,
                    "alternative": kinds.pop(),
                    "evaluations_to_near": panel.cost_near(method),
                    "alternative_evaluations_to_near": summary.cost_within(
                        band.curve, panel.final.error, summary.near(data)
                    ),
                    "alternative_last_error": float(band.mean[-1]),
                }
            )
    return rows


def perceptron_rows(records: Records) -> list[Row]:
    """The Perceptron after its first epoch and later, beside SBP at the same cost."""
    rows = []
    for data in data_sets(records.get("fig2", [])):
        panel = compare(records, data)
        epoch = first_epoch(records, data)
        if "perceptron" not in panel.exact or epoch is None:
            continue
        band = panel.exact["perceptron"]
        sbp = panel.exact.get("sbp")
        rows.append(
            {
                "data": data,
                "first_epoch_evaluations": epoch,
                "perceptron_error": summary.value_at(band.curve, epoch),
                "sbp_error_at_that_cost": summary.value_at(sbp.curve, epoch) if sbp else None,
                "perceptron_lowest_error": float(band.mean.min()),
                "perceptron_last_error": float(band.mean[-1]),
                "sbp_last_error": float(sbp.mean[-1]) if sbp else None,
            }
        )
    return rows


def first_epoch(records: Records, data: str) -> float | None:
    """Evaluations after which the Perceptron, on average, has seen every example once."""
    return _mean([r.get("first_epoch_evaluations") for r in of_data(records.get("fig2", []), data, "perceptron")])


def fourier_curve(fig3: Iterable[Record], data: str) -> Band | None:
    """Mean and range over seeds at each number of pairs; the cost is in inner products."""
    costs = sorted({r["inner_products"] for r in of_data(fig3, data)})
    errors = [[r["test_error"] for r in of_data(fig3, data) if r["inner_products"] == cost] for cost in costs]
    if not costs:
        return None
    mean, low, high = (np.array([f(e) for e in errors], dtype=float) for f in (np.mean, min, max))
    return Band(np.array(costs, dtype=float), mean, low, high)


def fig3_rows(records: Records) -> list[Row]:
    """What Fourier features pay to come near the final error, beside SBP; an evaluation is an inner product."""
    rows = []
    for data in data_sets(records.get("fig3", [])):
        band = fourier_curve(records["fig3"], data)
        panel = compare(records, data) if of_data(records.get("fig2", []), data) else None
        final = panel.final if panel else None
        assert band is not None
        cost = summary.cost_within(band.curve, final.error, summary.near(data)) if final else None
        sbp = panel.cost_near("sbp") if panel else None
        n = max(r["n"] for r in of_data(records["fig3"], data))
        rows.append(
            {
                "data": data,
                "n": n,
                "final_error": final.error if final else None,
                "near": summary.near(data),
                "fourier_inner_products_to_near": cost,
                "fourier_pairs_to_near": round(cost / n) if cost else None,
                "sbp_evaluations_to_near": sbp,
                "times_sbp": cost / sbp if cost and sbp else None,
                "most_pairs": round(band.cost[-1] / n),
                "most_inner_products": float(band.cost[-1]),
                "error_with_most_pairs": float(band.mean[-1]),
                "sbp_error_at_that_cost": (
                    summary.value_at(panel.exact["sbp"].curve, float(band.cost[-1]))
                    if panel and "sbp" in panel.exact
                    else None
                ),
            }
        )
    return rows


def table2_rows(records: Records) -> list[Row]:
    order = {name: k for k, name in enumerate(DATA)}
    rows = sorted(records.get("table2", []), key=lambda r: (bool(r["bias"]), order.get(r["data"], len(DATA))))
    return [_with_ratio(r) for r in rows]


def _with_ratio(record: Record) -> Row:
    ratio = record["nu"] / record["paper_nu"] if record["nu"] and record.get("paper_nu") else None
    low, high = record.get("nu_range") or (None, None)
    kept = {k: v for k, v in record.items() if k != "nu_range"}
    return {**kept, "nu_low": low, "nu_high": high, "nu_over_paper": ratio}


def runtime_rows(records: Records) -> list[Row]:
    """Each program's time and error; for ours also the error in a quarter of LIBSVM's time."""
    rows = []
    for data in data_sets(records.get("runtime", [])):
        found = {r["method"]: r for r in of_data(records["runtime"], data)}
        libsvm = libsvm_among(found)
        for method in (m for m in RUNTIME_METHODS if m in found):
            record = found[method]
            row = {k: record.get(k) for k in ("data", "method", "n", "n_test", "threads", "seconds", "budget")}
            row |= {k: record.get(k) for k in ("test_error", "support", "remark")}
            curve = runtime_curve(record)
            if curve is not None and libsvm is not None and libsvm["n"] == record["n"]:
                row |= beside_libsvm(curve, libsvm, summary.near(data))
            rows.append(row)
    return rows


def libsvm_among(found: dict[str, Row]) -> Row | None:
    """LIBSVM's own program, or scikit-learn's copy of it where that alone finished, or alone ran."""
    both = [found[method] for method in ("svm-train", "sklearn") if method in found]
    finished = [r for r in both if r["seconds"] is not None]
    begun = [r for r in both if r.get("budget") is not None]
    return next(iter([*finished, *begun, *both]), None)


def runtime_curve(record: Record) -> Curve | None:
    stored = record.get("curve")
    if not stored or not stored["seconds"]:
        return None
    return summary.as_curve(stored["seconds"], stored["test_error"])


def beside_libsvm(curve: Curve, libsvm: Record, near: float) -> Row:
    """Error in a quarter of LIBSVM's time (of its budget, where it did not finish); time to reach its error."""
    time = libsvm["seconds"] if libsvm["seconds"] is not None else libsvm.get("budget")
    error = libsvm["test_error"]
    return {
        "quarter_seconds": time / 4 if time else None,
        "quarter_error": summary.value_at(curve, time / 4) if time else None,
        "seconds_to_libsvm_error": None if error is None else summary.cost_of_first(curve, error),
        "seconds_to_near_libsvm_error": None if error is None else summary.cost_of_first(curve, error, near),
        "best_error": float(curve.error.min()),
    }


def forest_rows(records: Records) -> list[Row]:
    """What each run on Forest paid for its target error and how it ended, beside the certified optimum."""
    runs = sorted(records.get("forest", []), key=lambda r: NU_SOURCES.index(r["nu_source"]))
    return [_forest_row(r, forest_optimum(records, r["n"])) for r in runs]


def _forest_row(run: Record, optimum: float | None) -> Row:
    counted = ("steps", "rows", "evaluations", "seconds", "processor_seconds")
    by = {name: summary.as_curve(run[name], run["test_error"]) for name in counted}
    known = ("data", "n", "n_test", "threads", "nu_source", "nu", "optimum_gap", "target")
    quarter = PAPER_RUNTIME["forest"].seconds / 4
    last, n_test = run["test_error"][-1], run["n_test"]
    return {
        **{name: run[name] for name in known},
        **{f"{name}_to_target": summary.cost_of_first(by[name], run["target"]) for name in counted},
        **{name: run[name][-1] for name in counted},
        "evaluations_of_whole_rows": run["rows"][-1] * run["n"],
        "last_error": last,
        "standard_error": (last * (1.0 - last) / n_test) ** 0.5,
        "best_error": min(run["test_error"]),
        "paper_quarter_error": summary.value_at(by["seconds"], quarter),
        "support": run["support"][-1],
        "gap": run["gap"],
        "optimum_error": optimum,
        "seconds_to_optimum_error": None if optimum is None else summary.cost_of_first(by["seconds"], optimum),
    }


def forest_optimum(records: Records, n: int) -> float | None:
    """The test error of Table 2's certified optimum, if it is of the same rows."""
    found = [r for r in of_data(records.get("table2", []), "forest") if r["bias"] and r["n"] == n]
    return found[0]["test_error"] if found else None


def forest_svc(records: Records, n: int) -> Record | None:
    """``SVC``'s timed fit, if it is of the same rows."""
    timed = records.get("runtime", [])
    found = [r for data in ("forest-all", "forest") for r in of_data(timed, data, "svc") if r["n"] == n]
    return found[0] if found else None


def scaling_runs(records: Records, regime: str) -> list[Record]:
    """Runs of the scaling experiment: "proportional" has L(u) = ε, "fixed" has one L(u) for all ε."""
    runs = records.get("scaling", [])
    if regime == "proportional":
        return runs
    return [{**r, **r["fixed"]} for r in runs if r.get("fixed")]


def scaling_rows(records: Records) -> list[Row]:
    """Fitted exponents: of what the meter charges, and of iterations times n, as the analyses count."""
    rows = []
    for regime, bounds in BOUND_EXPONENTS.items():
        for method in SCALING_METHODS:
            runs = [r for r in scaling_runs(records, regime) if r["method"] == method]
            slope = _slope(runs, "evaluations")
            if slope is None:
                continue
            analysed = _slope([r for r in runs if "analysed" in r], "analysed")
            row = {"regime": regime, "method": method, "runs": len(runs), **slope._asdict(), "bound": bounds[method]}
            row["tried"] = sum(len(r["epsilon"]) for r in runs)
            row["analysed_exponent"] = analysed.exponent if analysed else None
            row["analysed_standard_error"] = analysed.standard_error if analysed else None
            rows.append(row)
    return rows


def _slope(runs: Sequence[Record], counted: str) -> summary.Slope | None:
    fits = [s for r in runs if (s := summary.fitted_slope(r["epsilon"], r[counted])) is not None]
    return summary.mean_slope(fits)


def _mean(values: Iterable[float | None]) -> float | None:
    present = [v for v in values if v is not None]
    return float(np.mean(present)) if present else None
