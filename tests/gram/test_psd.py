"""Indefinite and asymmetric kernels are found out, sound ones are left in peace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from slackwater.errors import IndefiniteKernelError, KernelError
from slackwater.gram import (
    DirectRows,
    EvaluationLedger,
    PrecomputedRows,
    check_positive_semidefinite,
    smallest_relative_eigenvalue,
)
from slackwater.kernels import Custom, Gaussian, Kernel, Laplacian, Linear, Polynomial, Sigmoid, as_points

X = np.random.default_rng(0).normal(size=(300, 3))


def rows(kernel: Kernel, dtype: Any = np.float64, n: int = 300) -> DirectRows:
    return DirectRows(kernel, as_points(X[:n].astype(dtype)), EvaluationLedger())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "kernel",
    [Gaussian(0.01), Gaussian(1.0), Gaussian(30.0), Laplacian(0.5), Linear(), Polynomial(3, 1.0, 1.0)],
)
@pytest.mark.parametrize("seed", range(4))
def test_sound_kernels_pass_in_either_precision(kernel: Kernel, dtype: Any, seed: int) -> None:
    check_positive_semidefinite(rows(kernel, dtype), np.random.default_rng(seed))


@pytest.mark.parametrize("kernel", [Sigmoid(1.0, -1.0), Polynomial(3, 1.0, -2.0), Custom(lambda A, B: -(A @ B.T))])
def test_indefinite_kernels_are_refused_with_the_eigenvalue(kernel: Kernel) -> None:
    with pytest.raises(IndefiniteKernelError, match=r"smallest eigenvalue is -\d.*Use another kernel"):
        check_positive_semidefinite(rows(kernel), np.random.default_rng(0))


def test_the_eigenvalue_is_relative_to_the_largest() -> None:
    # 1 on the diagonal, -0.9 beside it: eigenvalues 1.9, 1.9 and -0.8, though every pair alone is possible.
    source = PrecomputedRows(1.9 * np.eye(3) - 0.9, EvaluationLedger())
    assert smallest_relative_eigenvalue(source, np.random.default_rng(0)) == pytest.approx(-0.8 / 1.9)


def test_asymmetric_kernels_are_refused() -> None:
    with pytest.raises(KernelError, match="symmetric"):
        check_positive_semidefinite(rows(Custom(lambda A, B: A[:, :1] + 0 * B[:, 0])), np.random.default_rng(0))


@pytest.mark.parametrize(("n", "cost"), [(300, 64 * 64), (10, 100), (1, 1)])
def test_the_sample_is_charged_to_the_checks(n: int, cost: int) -> None:
    source = rows(Gaussian(1.0), n=n)
    check_positive_semidefinite(source, np.random.default_rng(0))
    assert (source.ledger.check, source.ledger.train) == (cost, 0)


def test_a_kernel_that_is_zero_everywhere_is_semidefinite() -> None:
    source = PrecomputedRows(np.zeros((4, 4)), EvaluationLedger())
    assert smallest_relative_eigenvalue(source, np.random.default_rng(0)) == 0
