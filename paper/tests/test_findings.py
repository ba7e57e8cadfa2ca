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
