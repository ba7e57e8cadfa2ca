"""A kernel declares what it can do, and what it declares is made use of, whatever its class."""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons

import slackwater
from slackwater import SVC, SBPClassifier
from slackwater._jit import processor_has
from slackwater.errors import IndefiniteKernelError, IndefiniteKernelWarning
from slackwater.gram.compressed import compressions
from slackwater.gram.features import Features
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.narrow import NEGLIGIBLE, NarrowRows
from slackwater.kernels import Custom, Gaussian, Kernel, Laplacian, Linear, _grid_loops, as_points, make_kernel
from slackwater.points.leaves import Leaves
from slackwater.workers import Workers

PACKAGE = Path(slackwater.__file__).parent


@dataclass(frozen=True)
class Wendland(Kernel):
    """K(x, z) = (1 - r)₊⁴ (4r + 1) with r = |x - z| / radius: zero beyond the radius, positive definite up to 3-D."""

    radius: float
    name = "wendland"
    unit_diagonal = True
    positive_semidefinite = True
    reentrant = True
    bounded_by_one = True

    def fill(self, left: Any, right: Any, out: np.ndarray) -> None:
        squared = ((left.raw[:, None].astype(np.float64) - right.raw[None]) ** 2).sum(axis=2)
        self.from_squared_distances(squared)
        out[...] = squared

    def diagonal(self, points: Any) -> np.ndarray:
        return np.ones(len(points))

    def squared_cutoff(self, value: float) -> float:
        return self.radius**2

    def from_squared_distances(self, squared: np.ndarray) -> None:
        r = np.minimum(np.sqrt(squared) / self.radius, 1.0)
        squared[...] = (1.0 - r) ** 4 * (4.0 * r + 1.0)


class PlainWendland(Wendland):
    """The same values, with nothing declared."""

    bounded_by_one = False
    unit_diagonal = False

    def squared_cutoff(self, value: float) -> float:
        return np.inf


def features_of(X: np.ndarray, kernel: Kernel) -> Features:
    return Features(kernel, as_points(X), EvaluationLedger(), Workers(), 2**20, 2**30, np.arange(len(X)))


def scattered(n: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).uniform(0.0, 40.0, (n, 2))
    return X, (np.sin(X[:, 0]) + np.sin(X[:, 1]) > 0).astype(int)


def test_a_kernel_of_ones_own_with_a_cut_off_has_sparse_rows() -> None:
    X, _ = scattered(3000)
    leaves = Leaves(as_points(X))
    features = features_of(X, Wendland(2.0))
    rows, order = NarrowRows(features.kernel, leaves, features.ledger, features.workers), leaves.order
    assert rows.indptr[-1] < 0.02 * 3000**2
    some = np.arange(0, 3000, 200)
    expected = np.empty((len(some), 3000))
    Wendland(2.0).fill(as_points(X[order[some]]), as_points(X[order]), expected)
    np.testing.assert_allclose(rows.rows(some), expected, atol=1e-6)
    np.testing.assert_array_equal(rows.diagonal(), 1.0)
    assert PlainWendland(2.0).squared_cutoff(NEGLIGIBLE) == np.inf


def test_a_kernel_of_ones_own_that_is_bounded_by_one_is_kept_in_two_bytes() -> None:
    X, _ = scattered(200)
    rows = features_of(X, Wendland(10.0)).rows(two_bytes=True)
    assert rows.row_bytes == 2 * 200
    exact = features_of(X, Wendland(10.0)).rows()
    np.testing.assert_allclose(rows.rows([3, 5]), exact.rows([3, 5]), atol=1e-5)
    assert rows.ledger.train == 400
    with pytest.raises(ValueError, match="bounded_by_one"):
        features_of(X, PlainWendland(10.0)).rows(two_bytes=True)


@pytest.mark.parametrize(
    "make", [lambda kernel: SVC(kernel=kernel), lambda kernel: SBPClassifier(kernel=kernel, tol=0.3)]
)
def test_estimators_take_a_kernel_and_what_it_declares_changes_no_model(make: Any) -> None:
    X, y = scattered(300)
    declared, plain = (make(kernel).fit(X, y) for kernel in (Wendland(4.0), PlainWendland(4.0)))
    np.testing.assert_allclose(declared.decision_function(X), plain.decision_function(X), atol=1e-6)
    assert declared.score(X, y) > 0.9


def test_a_function_declares_by_its_attributes() -> None:
    def cosine(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.asarray(A @ B.T / np.outer(np.linalg.norm(A, axis=1), np.linalg.norm(B, axis=1)))

    plain = make_kernel(cosine)
    capabilities = plain.unit_diagonal, plain.positive_semidefinite, plain.reentrant, plain.bounded_by_one
    assert not any(capabilities)
    cosine.unit_diagonal = cosine.positive_semidefinite = cosine.reentrant = True  # type: ignore[attr-defined]
    declared = make_kernel(cosine)
    assert isinstance(declared, Custom)
    assert declared.unit_diagonal
    assert declared.positive_semidefinite
    assert declared.reentrant
    assert not declared.bounded_by_one


@pytest.mark.parametrize("kernel", [Linear(), Laplacian(1.0), Wendland(1.0), Custom(lambda A, B: A @ B.T)])
def test_what_is_not_declared_is_not_done(kernel: Kernel) -> None:
    points = as_points(np.random.default_rng(0).random((50, 3)).astype(np.float32))
    assert not kernel.writes(points)
    assert not kernel.multiplies_integers()
    assert kernel.on_grid(Workers(), points) is None
    assert kernel.to_single_precision(points) is None
    assert kernel.better_origin(points) is None
    assert kernel.effort(points) is None
    assert not kernel.sums_over_leaves
    assert compressions(kernel) == []


def test_nobody_outside_kernels_asks_for_the_class_of_a_kernel() -> None:
    """Elsewhere their classes are imported and called, and named for nothing else: no isinstance, type or match."""
    kinds = {kind.__name__ for kind in Kernel.__subclasses__() if kind.__module__.startswith("slackwater.kernels.")}
    assert kinds >= {"Gaussian", "Laplacian", "Linear", "Polynomial", "Sigmoid", "Custom"}
    asking = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in PACKAGE.rglob("*.py")
        if path.parent.name != "kernels"
        for line in lines_that_name_but_do_not_call(kinds, ast.parse(path.read_text()))
    ]
    assert asking == []


def lines_that_name_but_do_not_call(names: set[str], tree: ast.AST) -> list[int]:
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    named = [node for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute) and id(node) not in called]
    renamed = [node for node in ast.walk(tree) if isinstance(node, ast.alias) and node.name in names and node.asname]
    return [
        *(node.lineno for node in named if (node.id if isinstance(node, ast.Name) else node.attr) in names),
        *(node.lineno for node in renamed),
    ]


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(k, Gaussian)",
        "isinstance(k, (Linear, Gaussian))",
        "isinstance(\n    k,\n    kernels.Gaussian | Linear,\n)",
        "type(k) is Gaussian",
        "match k:\n    case Gaussian():\n        pass",
        "from slackwater.kernels import Gaussian as Bell",
    ],
)
def test_asking_for_the_class_of_a_kernel_is_noticed(code: str) -> None:
    names = {"Gaussian", "Linear"}
    assert lines_that_name_but_do_not_call(names, ast.parse(code))
    assert not lines_that_name_but_do_not_call(names, ast.parse("from slackwater.kernels import Gaussian\nGaussian(1)"))


@dataclass(frozen=True)
class Tanh(Kernel):
    """K(x, z) = tanh(<x, z> / 2): the sigmoid kernel under another name and class."""

    name = "tanh"
    known_indefinite = True

    def fill(self, left: Any, right: Any, out: np.ndarray) -> None:
        out[...] = np.tanh(0.5 * left.raw @ right.raw.T)

    def diagonal(self, points: Any) -> np.ndarray:
        return np.tanh(0.5 * (points.raw**2).sum(axis=1))


class UndeclaredTanh(Tanh):
    """The same values, with nothing declared."""

    known_indefinite = False


def test_a_kernel_known_to_be_indefinite_is_warned_of_and_another_is_refused() -> None:
    X, y = (each[:100] for each in load_iris(return_X_y=True))
    X = X - X.mean(axis=0)
    with pytest.warns(IndefiniteKernelWarning, match=r"the tanh kernel is not positive .* gap_ is nan\.$"):
        model = SBPClassifier(0.02, kernel=Tanh(), max_iter=500).fit(X, y)
    assert np.isnan(model.gap_)
    with pytest.raises(IndefiniteKernelError, match="smallest eigenvalue"):
        SBPClassifier(0.02, kernel=UndeclaredTanh(), max_iter=500).fit(X, y)


def test_a_kernel_known_to_be_indefinite_is_not_taken_for_semidefinite_on_data_that_do_not_show_it() -> None:
    X, y = np.eye(2), [0, 1]
    with pytest.warns(IndefiniteKernelWarning, match="the tanh kernel is not positive semi-definite:"):
        SVC(kernel=Tanh()).fit(X, y)
    assert SVC(kernel=UndeclaredTanh()).fit(X, y).gap_ < 1e-3


def test_weights_of_the_features_exist_where_the_kernel_is_their_inner_product() -> None:
    class Plain(Linear):
        name = "plain"

    class Undeclared(Plain):
        is_inner_product = False

    X, y = make_moons(60, noise=0.2, random_state=0)
    model = SVC(kernel=Plain()).fit(X, y)
    np.testing.assert_allclose(X @ model.coef_[0] + model.intercept_, model.decision_function(X))
    with pytest.raises(AttributeError, match="this model's kernel is 'plain'"):
        _ = SVC(kernel=Undeclared()).fit(X, y).coef_


@pytest.mark.skipif(not processor_has("avx512vnni"), reason="no such instruction")
def test_where_the_processor_has_the_instruction_the_loop_is_used() -> None:
    """The other tests of that loop are skipped where it is not."""
    assert _grid_loops.available()
    assert Gaussian(1.0).multiplies_integers()


@pytest.mark.parametrize("failure", ["emission", "wrong values"])
def test_without_the_loop_for_integers_blas_takes_over_with_one_warning(tmp_path: Path, failure: str) -> None:
    """In a process of its own, where nothing is compiled yet: whatever the processor has, the loop fails."""
    code = f"""
        import warnings
        import numpy as np
        from slackwater import _jit
        _jit.processor_has = lambda feature: True
        def refuse(*arguments):
            raise NotImplementedError("no such instruction")
        if {failure!r} == "emission":
            plain = _jit.called
            _jit.called = lambda builder, name, *rest: (refuse if "vpdp" in name else plain)(builder, name, *rest)
        from slackwater.kernels import _grid_loops
        if {failure!r} == "wrong values":
            _grid_loops.gaussian32 = lambda *arguments: None
        from slackwater.kernels import Gaussian, as_points, block
        from slackwater.workers import Workers
        X = np.random.default_rng(0).integers(0, 256, (300, 70)).astype(np.float32)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert Gaussian(1e-5).on_grid(Workers(), as_points(X)) is None
            assert Gaussian(1e-5).on_grid(Workers(), as_points(X)) is None
        assert len(caught) == 1, caught
        print(caught[0].category.__name__, caught[0].message)
        exact = np.exp(-1e-5 * ((X[:5, None].astype(float) - X[None]) ** 2).sum(axis=2))
        np.testing.assert_allclose(block(Gaussian(1e-5), as_points(X[:5]), as_points(X)), exact, atol=1e-5)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
        env={"NUMBA_CACHE_DIR": str(tmp_path), "PATH": "/usr/bin", "PYTHONPATH": str(PACKAGE.parent)},
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("RuntimeWarning the loop for AVX-512 VNNI cannot be used")
    assert ("NotImplementedError" in run.stdout or "LoweringError" in run.stdout) == (failure == "emission")
