"""A classifier of the C-form that can prove how near its model is to the optimum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from slackwater.deadline import Deadline
from slackwater.estimators.base import KernelClassifier
from slackwater.estimators.layout import length, one_or_all
from slackwater.estimators.validation import Targets, check_rows, check_targets, same_rows, take
from slackwater.fitting.certify import Evaluated, proven_gaps
from slackwater.fitting.training_set import TrainingSet, feature_training_set, precomputed_training_set
from slackwater.points import as_points, in_double
from slackwater.prediction import PreparedSupport
from slackwater.workers import Workers, thread_count


class FittedProblems(NamedTuple):
    """Some of a model's problems, the examples they are about, and the models: what a gap is proven of at a time."""

    training_set: TrainingSet
    n_classes: int
    places: NDArray[np.intp]  # of the support vectors, among those of the whole model
    coefficients: NDArray[np.float64]  # (problems, support vectors)
    biases: NDArray[np.float64]


class CertifiedClassifier(KernelClassifier):
    """Proves gaps."""

    def certify(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Prove how near the model is to the optimum of given training data, and keep that as ``gap_``.

        Every kernel value between the examples and the support vectors is computed once, in double precision, and as
        many again at most for a good lower bound on the optimum (twice as many for a subspace model). Up to rounding,
        the optimum's objective is at least (1 - gap) times that of the model.

        Parameters
        ----------
        X, y, sample_weight
            Training data, as for ``fit``: usually the same. The classes must be those of the model.

        Returns
        -------
        float, or ndarray of shape (n_problems,)
            The proven relative gap, now also ``gap_``; ``certified_`` is True.
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        targets = check_targets(y, length(X), sample_weight, self.class_weight)
        if not np.array_equal(targets.classes, self.classes_):
            raise ValueError(
                f"y must have the classes of the model, {self.classes_.tolist()}, got {targets.classes.tolist()}. "
                "certify takes the data that a model was trained on, or others of the same classes."
            )
        with Workers(thread_count(self.n_jobs)) as workers:
            training_set = self._examples(X, targets, workers)
            if not training_set.certified:
                raise ValueError("kernel must be positive semi-definite: without that there is no gap to prove.")
            gaps = [gap for part in self._fitted_problems(training_set) for gap in self._gaps(X, part, workers)]
        self.gap_ = one_or_all(gaps)
        self.certified_ = True
        return self.gap_

    def _fitted_problems(self, training_set: TrainingSet) -> Iterator[FittedProblems]:
        """All problems together: they are about the same examples."""
        places = np.arange(len(self.support_))
        yield FittedProblems(training_set, len(self.classes_), places, self._coefficients, self._biases)

    def _gaps(self, X: Any, problems: FittedProblems, workers: Workers) -> list[float]:
        solver = self._solver(problems.n_classes)
        deadline = Deadline(type(self)._make_clock())
        context = self._context(solver, problems.training_set, problems.n_classes, self._seed(), deadline)
        with context.interruptible():
            gaps = proven_gaps(context, self._evaluated(X, problems, workers))
        if deadline.interrupted.is_set():
            raise KeyboardInterrupt("gap_ is what it was before.")
        return gaps

    def _examples(self, X: Any, targets: Targets, workers: Workers) -> TrainingSet:
        """Examples with the kernel of the model; gamma is the model's, whatever "scale" would be here."""
        rng, check_kernel = np.random.default_rng(self._seed()), type(self)._check_kernel
        if self._kernel is None:
            return precomputed_training_set(X, targets.codes, targets.weights, 0.0, rng, check_kernel)
        return feature_training_set(
            as_points(X), self._kernel, targets.codes, targets.weights, 0.0, *self._memory(), workers, rng, check_kernel
        )

    def _evaluated(self, X: Any, problems: FittedProblems, workers: Workers) -> list[Evaluated]:
        """The model of each problem at the examples, and its coefficients, if its support vectors are among them."""
        kept, support = problems.training_set.kept, self.support_[problems.places]
        values, own = self._values_in_double(X, kept, problems, workers)
        places = np.searchsorted(kept, support)
        among = self._support_rows(X) and bool((kept[np.minimum(places, len(kept) - 1)] == support).all())
        found = []
        for number, coefficients in enumerate(problems.coefficients):
            dense = np.zeros(len(kept))
            if among:
                dense[places] = coefficients
            squared = max(float(coefficients @ own[:, number]), 0.0)
            found.append(
                Evaluated(values[:, number], float(problems.biases[number]), squared, dense if among else None)
            )
        return found

    def _values_in_double(
        self, X: Any, rows: NDArray[np.intp], problems: FittedProblems, workers: Workers
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Decision values without the biases, at some rows of X and at the support vectors: a proof needs precision."""
        coefficients = problems.coefficients
        if self._kernel is None:
            columns = self._support_columns(X)[:, problems.places]
            own = columns[self.support_[problems.places]]
            return columns[rows] @ coefficients.T, own @ coefficients.T
        support = in_double(as_points(self.support_vectors_).take(problems.places))
        none = np.zeros(len(coefficients))
        prepared = PreparedSupport(self._kernel, support)
        at = in_double(as_points(take(X, rows)))
        values = [prepared.decision_values(points, coefficients, none, workers) for points in (at, support)]
        return values[0], values[1]

    def _support_rows(self, X: Any) -> bool:
        """Whether the rows of X at ``support_`` are the support vectors."""
        if self._kernel is None:
            return bool(X.shape[0] == self.n_features_in_)
        if length(X) <= int(self.support_.max(initial=0)):
            return False
        return same_rows(as_points(X).take(self.support_).raw, self.support_vectors_)
