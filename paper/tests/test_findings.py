"""Verdicts follow from the records, whichever way those fall out."""

from __future__ import annotations

import pytest

import synthetic
from sbp_paper.report import findings


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [(1, 2, "yes"), (2, 1, "no"), (1, 1, "no"), (1, None, "yes"), (None, 1, "no"), (None, None, "open")],
)
def test_who_got_there_with_less(ours, theirs, verdict):
    assert findings.less(ours, theirs) == verdict


@pytest.mark.parametrize(
    ("verdicts", "verdict"),
    [([], "not-run"), (["yes", "yes"], "yes"), (["no"], "no"), (["yes", "no"], "partly"), (["open"], "open")],
)
def test_verdicts_of_several_data_sets_are_summed_up(verdicts, verdict):
    assert findings.overall(verdicts) == verdict


def test_the_claim_about_sbp_stands_and_falls_with_the_records():
    records = {"fig2": list(synthetic.fig2().values()), "table2": list(synthetic.table2().values())}
    assert findings.fewer_evaluations(records).verdict == "yes"
    exchanged = [
        {**r, "method": {"sbp": "pegasos", "pegasos": "sbp"}.get(r["method"], r["method"])} for r in records["fig2"]
    ]
    found = findings.fewer_evaluations({**records, "fig2": exchanged})
    assert found.verdict == "no"
    assert len(found.evidence) == 3


def test_smo_must_be_both_late_and_steep():
    def run(method, evaluations, errors):
        counts = {"n": 9, "steps": [1, 2, 3], "evaluations": evaluations}
        return {"data": "adult", "method": method, **counts, "test_error": errors}

    def verdict(smo):
        sbp = run("sbp", [10, 20, 80], [0.4, 0.2, 0.1])  # half-way (0.25) at 20, near at 80
        optimum = {"data": "adult", "bias": False, "n": 9, "test_error": 0.1}
        return findings.smo_profile({"fig2": [sbp, run("smo", *smo)], "table2": [optimum]}).verdict

    assert verdict(([10, 90, 100], [0.4, 0.2, 0.1])) == "yes"
    assert verdict(([10, 40, 50], [0.4, 0.2, 0.1])) == "no"  # steep, but there before SBP
    assert verdict(([10, 20, 900], [0.4, 0.2, 0.1])) == "no"  # late, but no steeper


def test_every_finding_is_not_run_where_there_are_no_records():
    assert {f.verdict for f in findings.all_findings({})} == {"not-run"}


def test_a_printed_nu_is_not_held_against_that_of_a_part_of_the_data():
    rows = list(synthetic.table2().values())
    assert findings.parameters({"table2": rows}).verdict == "partly"
    parts = [{**r, "n": 2000} for r in rows]
    assert findings.parameters({"table2": parts}).verdict == "open"


def test_libsvm_that_did_not_finish_leaves_its_claim_open():
    runtime = [r for r in synthetic.runtime().values() if r["data"] == "forest"]
    found = findings.quarter_time({"runtime": runtime})
    assert found.verdict == "open"
    assert "did not finish" in found.evidence[0]


def test_slopes_above_the_bounds_are_said_to_be():
    reached = [r for r in synthetic.scaling().values() if r["method"] != "pegasos"]
    assert findings.slopes({"scaling": reached}).verdict == "yes"
    steep = [{**r, "analysed": [c / e**3 for c, e in zip(r["analysed"], r["epsilon"], strict=True)]} for r in reached]
    assert findings.slopes({"scaling": steep}).verdict == "partly"


def test_a_slope_is_open_while_some_accuracies_were_not_reached():
    pegasos = [r for r in synthetic.scaling().values() if r["method"] == "pegasos"]
    found = findings.slopes({"scaling": [{**r, "fixed": None} for r in pegasos]})
    assert found.verdict == "open"
    assert "12 of 15 reached" in found.evidence[0]


def test_what_is_partly_so_holds_somewhere():
    assert findings.overall(["yes", "open"]) == "partly"
    assert findings.overall(["no", "open"]) == "no"
    assert findings.overall(["open", "open"]) == "open"


def test_fourier_features_that_were_not_tried_at_sbps_cost_are_judged_by_their_errors():
    def row(tried, error, ours):
        return {
            "sbp_evaluations_to_near": 100, "fourier_inner_products_to_near": None, "most_inner_products": tried,
            "error_with_most_pairs": error, "sbp_error_at_that_cost": ours,
        }  # fmt: skip

    assert findings._against_fourier(row(200, 0.2, 0.1)) == "yes"  # tried, and not there
    assert findings._against_fourier(row(50, 0.2, 0.1)) == "yes"  # worse as far as it goes
    assert findings._against_fourier(row(50, 0.1, 0.2)) == "open"


def test_sbp_goes_on_improving_only_if_its_own_error_falls():
    def run(method, errors, **more):
        counts = {"n": 9, "steps": [1, 2], "evaluations": [10, 20]}
        return {"data": "reuters", "method": method, **counts, "test_error": errors, **more}

    def verdict(sbp):
        records = [run("sbp", sbp), run("perceptron", [0.04, 0.01], first_epoch_evaluations=10)]
        return findings.perceptron({"fig2": records}).verdict

    assert verdict([0.03, 0.02]) == "yes"
    assert verdict([0.02, 0.03]) == "no"


def forest_run(errors, seconds, n=522910):
    """A run on Forest with these errors after so many seconds, beside an optimum of 1.83 %."""
    steps = [1000 * (k + 1) for k in range(len(errors))]
    columns = dict.fromkeys(("steps", "rows", "evaluations", "processor_seconds", "support"), steps)
    known = {"data": "forest", "n": n, "n_test": 58102, "threads": 2, "nu_source": "printed", "nu": 7.62e-10}
    run = {**known, "optimum_gap": None, "target": 0.019, "gap": 0.1, "seconds": seconds, "test_error": errors}
    optimum = {"data": "forest", "bias": True, "n": 522910, "test_error": 0.0183}
    return {"forest": [{**run, **columns}], "table2": [optimum]}


@pytest.mark.parametrize(
    ("errors", "seconds", "verdict"),
    [
        ([0.3, 0.0164], [10.0, 900.0], "yes"),  # prints as 1.6 %
        ([0.3, 0.0167], [10.0, 900.0], "partly"),  # below LIBSVM's; 1.6 % may come within the time left
        ([0.3, 0.0184], [10.0, 900.0], "open"),
        ([0.3, 0.0184], [10.0, 31500.0], "no"),
        ([0.3, 0.0164], [10.0, 31501.0], "no"),  # too late
    ],
)
def test_sbp_on_all_of_forest_is_held_against_both_errors_of_the_paper(errors, seconds, verdict):
    assert findings.all_of_forest(forest_run(errors, seconds)).verdict == verdict


def test_a_part_of_forest_decides_nothing():
    found = findings.all_of_forest(forest_run([0.3, 0.0164], [10.0, 900.0], n=5000))
    assert found.verdict == "open"
    assert "5,000 of 522,910 examples" in found.evidence[0]
    assert "optimum" not in " ".join(found.evidence)


def test_an_error_below_the_optimums_is_said_to_be_that_of_a_model_on_the_way():
    below, above = (findings.all_of_forest(forest_run([e], [900.0])).evidence for e in (0.0167, 0.0184))
    assert "stopped early" in below[1]
    assert "1.83" in above[1]
    assert "stopped early" not in above[1]
