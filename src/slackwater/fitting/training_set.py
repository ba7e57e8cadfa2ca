"""What a fit trains on: the distinct examples, their weights, their kernel rows, the binary problems."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.errors import IndefiniteKernelError, IndefiniteKernelWarning, warn
from slackwater.examples import distinct_examples
from slackwater.gram.features import Features
from slackwater.gram.ledger import EvaluationLedger
from slackwater.gram.precomputed import PrecomputedRows, require_bounded
from slackwater.gram.psd import check_positive_semidefinite, smallest_relative_eigenvalue
from slackwater.gram.source import RowSource
from slackwater.kernels.base import Kernel
from slackwater.kernels.registry import KERNELS
from slackwater.points import Points, Vectors
from slackwater.problem import Problem
from slackwater.workers import Workers

# Whether the kernel is positive semi-definite: of the kernel (None: its values were given), rows, chance
KernelCheck = Callable[[Kernel | None, RowSource, np.random.Generator], bool]

_MIN_EIGENVALUE = -1e-4  # relative to the largest: below, a kernel known to be indefinite is so on the data


@dataclass(frozen=True)
class TrainingSet:
    """The distinct examples of a fit; every array is aligned with ``kept``, their row numbers in X."""

    kept: NDArray[np.intp]
    codes: NDArray[np.intp]
    weights: NDArray[np.float64]
    held_out: NDArray[np.bool_]
    order: NDArray[np.intp]
    rows: RowSource
    ledger: EvaluationLedger
    certified: bool
    identify: Callable[[], str]  # a digest of everything that a training state belongs to
    keys: NDArray[np.float64]  # equal for equal examples, in any training set; row numbers where these are not known
    features: Features | None = None  # None where only kernel values were given

    @property
    def n(self) -> int:
        return len(self.kept)

    def arranged(self, indices: NDArray[np.intp], rows: RowSource, features: Features | None) -> TrainingSet:
        """Some or all of the examples in another order, with rows that are in that order."""
        return replace(
            self,
            kept=self.kept[indices],
            codes=self.codes[indices],
            weights=self.weights[indices],
            held_out=self.held_out[indices],
            order=self.ranked(indices),
            keys=self.keys[indices],
            rows=rows,
            features=features,
        )

    def part(self, indices: NDArray[np.intp], workers: Workers | None = None) -> TrainingSet:
        """Some of the examples, with rows of their own; computed by these threads, if they are given."""
        if self.features is None:
            if not isinstance(self.rows, PrecomputedRows):
                raise TypeError("rows without points are those of a precomputed matrix")
            return self.arranged(indices, self.rows.part(indices), None)
        features = self.features.part(indices)
        if workers is not None:
            features = replace(features, workers=workers)
        return self.arranged(indices, features.rows(), features)

    def ranked(self, indices: NDArray[np.intp]) -> NDArray[np.intp]:
        """The positions of some examples among ``indices``, in an order that does not depend on their numbers."""
        place = np.full(self.n, -1)
        place[indices] = np.arange(len(indices))
        ranked = place[self.order]
        return ranked[ranked >= 0]

    def problems(self, n_classes: int) -> list[Problem]:
        """One problem for two classes (the second is positive), else each class against the rest."""
        positive = [1] if n_classes == 2 else range(n_classes)
        return [self.problem(self.codes == code) for code in positive]

    def problem(self, positive: NDArray[np.bool_]) -> Problem:
        training = np.where(self.held_out, 0.0, self.weights)
        uniform = not self.held_out.any() and bool((self.weights == 1.0).all())
        return Problem(
            rows=self.rows,
            labels=np.where(positive, 1, -1).astype(np.int8),
            weights=None if uniform else training,
            order=self.order,
            holdout=np.where(self.held_out, self.weights, 0.0) if self.held_out.any() else None,
        )


def feature_training_set(
    points: Points,
    kernel: Kernel,
    codes: NDArray[np.intp],
    weights: NDArray[np.float64],
    holdout_fraction: float,
    cache_bytes: int,
    matrix_bytes: int,
    workers: Workers,
    rng: np.random.Generator,
    check_kernel: KernelCheck | None = None,
    given: NDArray[np.bool_] | None = None,
) -> TrainingSet:
    """Examples given by features (or as objects): kernel rows are computed as they are needed.

    ``check_kernel`` tests the kernel, by default ``require_semidefinite``. ``given`` says which rows are hold-out
    examples, in place of a fraction of them.
    """
    groups = codes if given is None else codes + (1 + codes.max()) * given  # no copy is on both sides
    distinct = distinct_examples(points, groups, weights)
    kept = distinct.kept
    workers.deadline.check()
    if len(kept) < len(points):
        points = points.take(kept)
    workers.deadline.check()
    hold = _held_out(codes[kept], distinct.order, holdout_fraction, rng) if given is None else given[kept]
    ledger = EvaluationLedger()
    features = Features(kernel, kernel.prepared(points), ledger, workers, cache_bytes, matrix_bytes, kept)
    rows = features.rows()
    return TrainingSet(
        kept=kept,
        codes=codes[kept],
        weights=distinct.weights,
        held_out=hold,
        order=distinct.order,
        rows=rows,
        ledger=ledger,
        certified=(check_kernel or require_semidefinite)(kernel, rows.source, rng),
        identify=lambda: _digest(
            kernel.name,
            sorted(kernel.parameters().items()),
            distinct.keys,
            codes[kept],
            distinct.weights,
            hold,
            *(() if kernel.name in KERNELS else (_probe(rows.source),)),
        ),
        keys=distinct.keys if isinstance(points, Vectors) else kept.astype(np.float64),
        features=features,
    )


def precomputed_training_set(
    matrix: NDArray[np.floating],
    codes: NDArray[np.intp],
    weights: NDArray[np.float64],
    holdout_fraction: float,
    rng: np.random.Generator,
    check_kernel: KernelCheck | None = None,
) -> TrainingSet:
    """Examples given by their kernel values with each other; ``check_kernel`` as in ``feature_training_set``."""
    ledger = EvaluationLedger()
    kept = np.flatnonzero(weights > 0)
    rows = PrecomputedRows(matrix if len(kept) == len(matrix) else matrix[np.ix_(kept, kept)], ledger)
    certified = (check_kernel or require_semidefinite)(None, rows, rng)
    hold = _held_out(codes[kept], np.arange(len(kept)), holdout_fraction, rng)
    return TrainingSet(
        kept=kept,
        codes=codes[kept],
        weights=weights[kept],
        held_out=hold,
        order=np.arange(len(kept)),
        rows=rows,
        ledger=ledger,
        certified=certified,
        identify=lambda: _digest("precomputed", np.ascontiguousarray(rows.matrix), codes[kept], weights[kept], hold),
        keys=kept.astype(np.float64),
    )


def _held_out(
    codes: NDArray[np.intp], order: NDArray[np.intp], fraction: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Which distinct examples are kept from training to judge it: about the same share of every class.

    Chosen after copies were merged, so that no row is on both sides. Each class keeps an example to train on.
    """
    chosen = np.zeros(len(codes), dtype=bool)
    if fraction == 0.0:
        return chosen
    for code in np.unique(codes):
        members = order[codes[order] == code]
        count = min(round(fraction * len(members)), len(members) - 1)
        chosen[rng.permutation(members)[:count]] = True
    if not chosen.any():
        raise ValueError(
            f"validation_fraction must hold out at least one example, got {fraction} of {len(codes)} distinct "
            "examples. Raise it, or use early_stopping=False for data this small."
        )
    return chosen


def require_semidefinite(kernel: Kernel | None, rows: RowSource, rng: np.random.Generator) -> bool:
    """Whether margins are defined; an indefinite kernel is an error, unless it is known to be one."""
    if kernel is not None and kernel.known_indefinite:
        smallest = smallest_relative_eigenvalue(rows, rng)
        if smallest < _MIN_EIGENVALUE:
            warn(
                f"the {kernel.name} kernel is not positive semi-definite on this data (eigenvalue {smallest:.2g} of "
                f"the largest, limit {_MIN_EIGENVALUE:g}): training is a heuristic and gap_ is nan. "
                f"{kernel.indefinite_remedy}".rstrip(),
                IndefiniteKernelWarning,
            )
            return False
    elif kernel is None or not kernel.positive_semidefinite:
        if isinstance(rows, PrecomputedRows):
            require_bounded(rows.matrix)
        check_positive_semidefinite(rows, rng)
    return True


def warn_if_indefinite(kernel: Kernel | None, rows: RowSource, rng: np.random.Generator) -> bool:
    """Whether margins are defined; where not, warn that training ends at a stationary point, without a gap.

    A kernel known to be indefinite is never taken for semi-definite: there are always points on which it is not.
    """
    if kernel is not None and kernel.positive_semidefinite:
        return True
    name = "precomputed" if kernel is None else kernel.name
    shown = ""
    try:
        if isinstance(rows, PrecomputedRows):
            require_bounded(rows.matrix)
        check_positive_semidefinite(rows, rng)
        if kernel is None or not kernel.known_indefinite:
            return True
    except IndefiniteKernelError:
        shown = " on this data"
    warn(
        f"the {name} kernel is not positive semi-definite{shown}: as in LIBSVM, training ends at a point that "
        "satisfies the optimality conditions within tol but need not be the best one, and gap_ is nan. A "
        "semi-definite kernel (rbf, laplacian, linear, poly with coef0 >= 0) has a gap.",
        IndefiniteKernelWarning,
    )
    return False


def _digest(*parts: Any) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(memoryview(part).cast("B") if isinstance(part, np.ndarray) else repr(part).encode())
    return digest.hexdigest()


def _probe(rows: RowSource) -> NDArray[np.floating]:
    """Kernel values that tell one callable, or one collection of objects, from another: a few rows."""
    with rows.ledger.charging("check"):
        return np.array(rows.rows(np.unique(np.linspace(0, rows.n - 1, 8).astype(np.intp))))
