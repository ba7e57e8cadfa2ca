"""Table 1 as text agrees with the bounds as functions."""

from __future__ import annotations

import pytest

from sbp_paper.experiments.table1 import ROWS, advantage, growth, jobs
from sbp_paper.theory import learning_runtime

POWERS = {"": 1, "²": 2, "³": 3, "⁴": 4}


def exponent(text: str) -> int:
    return POWERS[text.rsplit("ε", 1)[1]]


@pytest.mark.parametrize(("method", "overall", "small_loss"), [row[1:] for row in ROWS])
def test_the_text_grows_as_the_function(method, overall, small_loss):
    assert growth(method, 0.0, 1.0) == exponent(small_loss)
    loss, norm, epsilon = 0.3, 2.0, 0.05
    ease = POWERS[overall.split("/ε)", 1)[1][0].strip()]
    value = ((loss + epsilon) / epsilon) ** ease * norm**4 / epsilon ** exponent(overall)
    assert learning_runtime(method, loss, norm, epsilon).kernel_evaluations == pytest.approx(value)


def test_all_bounds_grow_alike_far_below_the_loss():
    (record,) = (job.run(lambda share: None) for job in jobs("quick"))
    assert [row["exponent_far_below_loss"] for row in record["rows"]] == [4, 4, 4]
    assert [row["exponent_small_loss"] for row in record["rows"]] == [1, 2, 3]


@pytest.mark.parametrize(("loss", "norm"), [(0.0, 3.0), (0.04, 50.0), (0.099, 1.0)])
def test_the_advantage_depends_on_the_target_alone(loss, norm):
    target = 0.1
    sbp, dual, sgd = (
        learning_runtime(method, loss, norm, target - loss).kernel_evaluations
        for method in ("sbp", "dual_decomposition", "sgd")
    )
    found = advantage(target)
    assert found["dual_decomposition"] == pytest.approx(dual / sbp)
    assert found["sgd"] == pytest.approx(sgd / sbp)
