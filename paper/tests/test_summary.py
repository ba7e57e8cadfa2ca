"""Derived numbers, against cases worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sbp_paper.experiments import summary, tables
from sbp_paper.experiments.summary import Curve, Slope, as_curve


def run(data="adult", method="sbp", evaluations=(), errors=(), n=100, **more):
    return {
        "data": data,
        "method": method,
        "n": n,
        "steps": list(range(1, 1 + len(evaluations))),
        "evaluations": list(evaluations),
        "test_error": list(errors),
        **more,
    }


def optimum(data="adult", error=0.1, n=100, bias=False):
    return {"data": data, "bias": bias, "n": n, "test_error": error, "nu": 1.0, "paper_nu": 1.0}


def test_a_curve_is_ordered_by_cost_and_of_equal_costs_the_last_counts():
    curve = as_curve([10, 5, 10, None, 20], [0.3, 0.5, 0.2, 0.9, None])
    np.testing.assert_array_equal(curve.cost, [5, 10])
    np.testing.assert_array_equal(curve.error, [0.5, 0.2])


def test_points_before_the_first_evaluation_are_left_out():
    curve = summary.evaluation_curve(run(evaluations=[0, 0, 7], errors=[0.5, 0.4, 0.3]))
    np.testing.assert_array_equal(curve.cost, [7])


def test_between_two_points_the_earlier_model_is_held():
    curve = as_curve([10, 100], [0.5, 0.2])
    assert summary.value_at(curve, 9.9) is None
    assert summary.value_at(curve, 10) == 0.5
    assert summary.value_at(curve, 99) == 0.5
    assert summary.value_at(curve, 1e9) == 0.2


def test_the_mean_begins_where_all_runs_have_a_value_and_holds_the_last_of_those_that_ended():
    band = summary.mean_band([as_curve([1, 10], [0.8, 0.4]), as_curve([2, 20], [0.6, 0.2])])
    np.testing.assert_allclose(band.cost, [2, 10, 20])
    np.testing.assert_allclose(band.mean, [0.7, 0.5, 0.3])
    np.testing.assert_allclose(band.low, [0.6, 0.4, 0.2])
    np.testing.assert_allclose(band.high, [0.8, 0.6, 0.4])


def test_the_grid_of_a_mean_is_evenly_spaced_in_the_logarithm():
    band = summary.mean_band([as_curve([1, 10, 100], [0.8, 0.4, 0.2])], points=5)
    np.testing.assert_allclose(np.diff(np.log10(band.cost)), 0.5)
    np.testing.assert_allclose(band.mean, [0.8, 0.8, 0.4, 0.4, 0.2])


@pytest.mark.parametrize("points", [None, 9])
def test_the_mean_of_a_single_point_is_that_point(points):
    band = summary.mean_band([as_curve([3], [0.5])], points)
    assert (band.cost.tolist(), band.mean.tolist()) == ([3.0], [0.5])


def test_no_runs_have_no_mean():
    assert summary.mean_band([]) is None
    assert summary.mean_band([as_curve([], [])]) is None


def test_near_means_to_come_near_and_stay():
    curve = as_curve([1, 2, 3, 4, 5], [0.5, 0.101, 0.2, 0.1, 0.09])
    assert summary.cost_within(curve, 0.1, 0.001) == 4
    assert summary.cost_of_first(curve, 0.1, 0.001) == 2
    assert summary.cost_within(curve, 0.05, 0.01) is None
    assert summary.cost_of_first(curve, 0.05, 0.01) is None
    assert summary.cost_within(curve, 0.6) == 1


def test_a_tolerance_is_met_by_an_error_that_equals_it():
    assert summary.cost_within(as_curve([1], [0.1 + 0.001]), 0.1, 0.001) == 1


def test_near_is_half_a_point_on_adult_and_a_tenth_elsewhere():
    assert summary.near("adult") == 0.005
    assert summary.near("reuters") == summary.near("mnist") == 0.001


def test_the_final_error_is_the_certified_optimums_of_the_same_training_set():
    runs = [run(method="smo", evaluations=[1, 2], errors=[0.5, 0.3])]
    assert summary.final_error("adult", runs, [optimum(error=0.2)]).error == 0.2
    assert summary.final_error("adult", runs, [optimum(error=0.2, n=99)]).error == 0.3
    assert summary.final_error("adult", runs, [optimum(error=0.2, bias=True)]).error == 0.3
    assert summary.final_error("adult", runs, [optimum("mnist", error=0.2)]).error == 0.3


def test_without_an_optimum_the_final_error_is_where_smo_then_sdca_ended_on_average():
    smo = [run(method="smo", evaluations=[1], errors=[e]) for e in (0.2, 0.4)]
    sdca = [run(method="sdca", evaluations=[1], errors=[0.9])]
    found = summary.final_error("adult", smo + sdca, [])
    assert found.error == pytest.approx(0.3)
    assert "SMO" in found.source
    assert "SDCA" in summary.final_error("adult", sdca, []).source
    assert summary.final_error("adult", [run(evaluations=[1], errors=[0.1])], []) is None


def test_an_exact_power_has_its_exponent_as_slope_and_no_error():
    epsilon = [0.5, 0.1, 0.02, 0.01]
    slope = summary.fitted_slope(epsilon, [7 * e**-2 for e in epsilon])
    assert slope.exponent == pytest.approx(2.0)
    assert slope.standard_error == pytest.approx(0.0, abs=1e-12)
    assert slope.points == 4


def test_the_slope_and_its_error_are_those_of_least_squares_by_hand():
    # log 1/ε = 0, 1, 2; log cost = 0, 2, 1: slope 1/2, residuals -1/2, 1, -1/2; s² = 1.5, s²/Σ(x - 1)² = 0.75
    slope = summary.fitted_slope([1, math.exp(-1), math.exp(-2)], [1, math.exp(2), math.exp(1)])
    assert slope.exponent == pytest.approx(0.5)
    assert slope.standard_error == pytest.approx(math.sqrt(0.75))


def test_targets_that_were_not_reached_do_not_count():
    slope = summary.fitted_slope([0.1, 0.01, 0.001], [10.0, 100.0, None])
    assert slope == Slope(pytest.approx(1.0), None, 2)
    assert summary.fitted_slope([0.1, 0.01], [10.0, None]) is None
    assert summary.fitted_slope([0.1], [None]) is None


def test_slopes_of_several_runs_have_the_error_of_their_mean():
    mean = summary.mean_slope([Slope(1.0, 0.5, 4), Slope(3.0, 0.5, 3)])
    assert mean == Slope(2.0, pytest.approx(1.0), 7)  # sd √2, divided by √2
    assert summary.mean_slope([Slope(1.0, 0.5, 4)]) == Slope(1.0, 0.5, 4)
    assert summary.mean_slope([]) is None


def test_costs_are_compared_with_those_of_sbp():
    records = {
        "fig2": [
            run(method="sbp", evaluations=[10, 20, 40], errors=[0.3, 0.104, 0.1], computed_evaluations=7),
            run(method="pegasos", evaluations=[10, 50], errors=[0.25, 0.105]),
            run(method="sdca", evaluations=[10, 50], errors=[0.25, 0.2]),
        ],
        "table2": [optimum(error=0.1)],
    }
    rows = {row["method"]: row for row in tables.fig2_rows(records)}
    assert rows["sbp"]["evaluations_to_near"] == 20
    assert rows["sbp"]["computed_evaluations"] == 7
    assert rows["pegasos"]["evaluations_to_near"] == 50
    assert rows["pegasos"]["times_sbp"] == 2.5
    assert rows["pegasos"]["error_when_sbp_is_near"] == 0.25
    assert rows["sdca"]["evaluations_to_near"] is None
    assert rows["sdca"]["times_sbp"] is None
    assert rows["sdca"]["evaluations_to_near_last_error"] == 50


def test_every_iteration_may_be_charged_n_evaluations():
    lazy = run(method="pegasos", evaluations=[10, 20], errors=[0.25, 0.1])
    lazy |= {"steps": [1, 5], "n": 10}
    perceptron = run(method="perceptron", evaluations=[10, 50], errors=[0.25, 0.1])
    rows = {r["method"]: r for r in tables.fig2_rows({"fig2": [lazy, perceptron], "table2": [optimum(error=0.1)]})}
    assert rows["pegasos"]["evaluations_to_near_by_iterations"] == 50
    assert rows["perceptron"]["evaluations_to_near_by_iterations"] is None


def test_scikit_learns_copy_of_libsvm_stands_in_where_the_program_did_not_finish():
    missing = {"method": "svm-train", "seconds": None, "budget": None}
    stopped = {"method": "svm-train", "seconds": None, "budget": 60.0}
    copy = {"method": "sklearn", "seconds": 5.0, "budget": 60.0}
    assert tables.libsvm_among({"svm-train": missing, "sklearn": copy}) is copy
    assert tables.libsvm_among({"svm-train": stopped, "sklearn": copy}) is copy
    assert tables.libsvm_among({"svm-train": stopped, "sklearn": {**copy, "seconds": None}}) is stopped
    assert tables.libsvm_among({}) is None


def test_to_settle_is_to_stay_close_to_the_last_error_to_either_side():
    assert summary.cost_settled(as_curve([1, 2, 3, 4], [0.3, 0.2, 0.42, 0.4]), 0.05) == 3
    assert summary.cost_settled(as_curve([1, 2], [0.39, 0.4]), 0.05) == 1
    records = {"fig2": [run(method="perceptron", evaluations=[1, 2, 3], errors=[0.3, 0.2, 0.4])]}
    (row,) = tables.fig2_rows(records)
    assert row["evaluations_to_near_last_error"] == 3


def test_half_way_is_the_same_error_for_all_methods():
    records = {
        "fig2": [
            run(method="smo", evaluations=[1, 90, 100], errors=[0.8, 0.25, 0.1]),
            run(method="sbp", evaluations=[10, 20, 80], errors=[0.4, 0.25, 0.1]),  # half-way: 0.25
        ],
        "table2": [optimum(error=0.1)],
    }
    rows = {row["method"]: row for row in tables.fig2_rows(records)}
    assert rows["smo"]["near_over_half_way"] == pytest.approx(100 / 90)
    assert rows["sbp"]["near_over_half_way"] == pytest.approx(80 / 20)


def test_the_perceptron_is_compared_at_the_end_of_its_first_epoch():
    epoch = {"first_epoch_evaluations": 15}
    records = {
        "fig2": [
            run(method="perceptron", evaluations=[10, 15, 30], errors=[0.3, 0.2, 0.25], **epoch),
            run(method="sbp", evaluations=[10, 20], errors=[0.22, 0.1], first_epoch_evaluations=None),
        ]
    }
    (row,) = tables.perceptron_rows(records)
    assert row["perceptron_error"] == 0.2
    assert row["sbp_error_at_that_cost"] == 0.22
    assert row["perceptron_lowest_error"] == 0.2
    assert row["perceptron_last_error"] == 0.25


def test_the_other_model_of_a_method_is_compared_to_the_same_final_error():
    other = {"alternative": {"model": "last", "test_error": [0.5, 0.3, 0.1]}}
    records = {
        "fig2": [run(evaluations=[10, 20, 40], errors=[0.3, 0.1, 0.1], **other)],
        "table2": [optimum(error=0.1)],
    }
    (row,) = tables.alternative_rows(records)
    assert (row["evaluations_to_near"], row["alternative_evaluations_to_near"]) == (20, 40)


def test_fourier_features_are_compared_in_inner_products():
    fourier = [
        {"data": "adult", "pairs": k, "seed": s, "n": 100, "inner_products": 100 * k, "test_error": e}
        for k, s, e in ((1, 0, 0.3), (1, 1, 0.5), (2, 0, 0.1), (2, 1, 0.11))
    ]
    records = {
        "fig2": [run(evaluations=[10, 50], errors=[0.3, 0.1])],
        "fig3": fourier,
        "table2": [optimum(error=0.1)],
    }
    band = tables.fourier_curve(fourier, "adult")
    np.testing.assert_allclose(band.mean, [0.4, 0.105])
    np.testing.assert_allclose(band.high, [0.5, 0.11])
    (row,) = tables.fig3_rows(records)
    assert (row["fourier_inner_products_to_near"], row["fourier_pairs_to_near"], row["times_sbp"]) == (200, 2, 4)


def libsvm(seconds=100.0, error=0.2):
    return {"data": "adult", "method": "svm-train", "n": 50, "seconds": seconds, "budget": 400.0, "test_error": error}


def test_the_error_in_a_quarter_of_libsvms_time_is_that_of_the_model_held_then():
    found = tables.beside_libsvm(Curve(np.array([1.0, 25.0, 26.0]), np.array([0.5, 0.3, 0.2])), libsvm(), 0.005)
    assert found["quarter_seconds"] == 25
    assert found["quarter_error"] == 0.3
    assert found["seconds_to_libsvm_error"] == 26


def test_no_model_in_a_quarter_of_the_time_is_no_error():
    found = tables.beside_libsvm(Curve(np.array([30.0]), np.array([0.204])), libsvm(), 0.005)
    assert found["quarter_error"] is None
    assert found["seconds_to_libsvm_error"] is None
    assert found["seconds_to_near_libsvm_error"] == 30


def test_where_libsvm_did_not_finish_a_quarter_of_its_budget_counts():
    found = tables.beside_libsvm(Curve(np.array([1.0]), np.array([0.5])), libsvm(None, None), 0.005)
    assert found["quarter_seconds"] == 100
    assert found["seconds_to_libsvm_error"] is None


def test_runs_on_other_amounts_of_data_are_not_compared():
    ours = {"data": "adult", "method": "sbp", "n": 60, "seconds": 9.0, "budget": None, "test_error": 0.2}
    ours["curve"] = {"seconds": [1.0], "test_error": [0.2]}
    rows = tables.runtime_rows({"runtime": [libsvm(), ours]})
    assert [row["method"] for row in rows] == ["svm-train", "sbp"]
    assert "quarter_error" not in rows[1]
    same = tables.runtime_rows({"runtime": [libsvm(), {**ours, "n": 50}]})
    assert same[1]["quarter_error"] == 0.2


def test_scaling_has_an_exponent_for_each_regime_and_way_of_counting():
    epsilon = [0.1, 0.01]
    fixed = {"epsilon": epsilon, "evaluations": [10, 1e4], "analysed": [10, 1e5]}
    record = {"method": "sbp", "seed": 0, "epsilon": epsilon, "evaluations": [10, 100], "analysed": [10, 1000]}
    rows = tables.scaling_rows({"scaling": [{**record, "fixed": fixed}]})
    assert [(r["regime"], r["bound"]) for r in rows] == [("proportional", 1), ("fixed", 4)]
    assert [r["exponent"] for r in rows] == pytest.approx([1, 3])
    assert [r["analysed_exponent"] for r in rows] == pytest.approx([2, 4])


def test_nu_is_set_against_the_papers():
    (row,) = tables.table2_rows({"table2": [{**optimum(), "nu": 0.011, "paper_nu": 0.01, "nu_range": [0.01, 0.02]}]})
    assert row["nu_over_paper"] == pytest.approx(1.1)
    assert (row["nu_low"], row["nu_high"]) == (0.01, 0.02)


def test_a_run_on_forest_has_the_cost_of_its_target_in_every_unit():
    run = {
        "data": "forest", "n": 10, "n_test": 100, "threads": 1, "nu_source": "derived", "nu": 1e-9, "optimum_gap": 0.01,
        "target": 0.1, "gap": 0.3, "steps": [1, 2, 4], "rows": [2, 4, 8], "evaluations": [5, 9, 12],
        "seconds": [1.0, 3.0, 7.0], "processor_seconds": [2.0, 5.0, 9.0], "test_error": [0.5, 0.1, 0.2],
        "support": [1, 2, 3],
    }  # fmt: skip
    printed = {**run, "nu_source": "printed", "target": 0.05}
    optimum = {"data": "forest", "bias": True, "n": 10, "test_error": 0.15}
    missed, row = tables.forest_rows({"forest": [run, printed], "table2": [optimum]})
    costs = [row[f"{name}_to_target"] for name in ("steps", "rows", "evaluations", "seconds", "processor_seconds")]
    assert costs == [2, 4, 9, 3.0, 5.0]
    assert (row["steps"], row["last_error"], row["best_error"], row["support"]) == (4, 0.2, 0.1, 3)
    assert row["standard_error"] == pytest.approx(0.04)
    assert (row["optimum_error"], row["seconds_to_optimum_error"]) == (0.15, 3.0)
    assert row["evaluations_of_whole_rows"] == 80
    assert missed["steps_to_target"] is None


def test_an_optimum_of_other_rows_is_not_forests():
    optimum = {"data": "forest", "bias": True, "n": 10, "test_error": 0.15}
    assert tables.forest_optimum({"table2": [optimum]}, 11) is None
    fit = {"data": "forest-all", "method": "svc", "n": 10}
    assert tables.forest_svc({"runtime": [fit]}, 11) is None
    assert tables.forest_svc({"runtime": [fit]}, 10) == fit
