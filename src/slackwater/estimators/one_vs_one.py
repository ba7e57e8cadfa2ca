"""A classifier whose classes are trained in pairs, with scikit-learn's attributes and votes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from slackwater.callbacks import Model
from slackwater.estimators.certified import CertifiedClassifier, FittedProblems
from slackwater.estimators.layout import length, like, linear_weights, read_only
from slackwater.estimators.model_checks import require, require_array
from slackwater.estimators.scales import scales, spread
from slackwater.estimators.validation import check_rows, take
from slackwater.fitting.context import FitContext
from slackwater.fitting.fit import fit
from slackwater.fitting.one_vs_one import fit_pairs, pairs_of, training_set_of
from slackwater.fitting.result import AnyResult, Models, PairModels
from slackwater.fitting.training_set import TrainingSet
from slackwater.model_io.model import StoredModel
from slackwater.points import as_points
from slackwater.prediction import PairCoefficients
from slackwater.votes import scores, winners

_MAX_VALUES = 2**24  # decision values of pairs held at a time: with a thousand classes a row has half a million


class OneVsOneClassifier(CertifiedClassifier):
    """Trains and predicts one-vs-one or one-vs-rest, as ``multi_class`` says."""

    _internal_names: ClassVar[tuple[str, ...]] = ("_in_pairs",)

    def _trains_pairs(self, n_classes: int) -> bool:
        return n_classes > 2 and self.multi_class == "ovo"

    def _train(self, context: FitContext) -> AnyResult:
        if self.multi_class == "ovr" and self.decision_function_shape == "ovo":
            raise ValueError(
                "decision_function_shape must be 'ovr' with multi_class='ovr', got 'ovo': there are no pairs "
                "of classes. Use multi_class='ovo'."
            )
        return fit_pairs(context) if self._trains_pairs(context.n_classes) else fit(context)

    def _least_evaluations(self, solver: Any, training_set: TrainingSet, n_classes: int) -> int:
        if not self._trains_pairs(n_classes):
            return int(solver.least_evaluations(training_set.rows.n)) * (1 if n_classes == 2 else n_classes)
        sizes = np.bincount(training_set.codes, minlength=n_classes)
        return sum(int(solver.least_evaluations(int(sizes[p.first] + sizes[p.second]))) for p in pairs_of(n_classes))

    # ---- what a fit leaves behind

    def _model_of(self, models: Models, training_set: TrainingSet) -> Model:
        """As scikit-learn has it: support vectors grouped by class."""
        self._in_pairs = isinstance(models, PairModels)
        if isinstance(models, PairModels):
            support = np.flatnonzero(models.coefficients.any(axis=0))
            model = Model(support, models.coefficients[:, support], models.biases)
        else:
            model = super()._model_of(models, training_set)
        order = np.lexsort((training_set.kept[model.support], training_set.codes[model.support]))
        return Model(model.support[order], model.dual_coef[:, order], model.intercept)

    def _keep_model(self, X: Any, training_set: TrainingSet, model: Model) -> None:
        """As scikit-learn has it: no coefficient beyond C; sparse after a sparse fit, unless the kernel is callable."""
        super()._keep_model(X, training_set, model)
        bounds = self.C * training_set.weights[model.support]
        self.scale_ = scales(self.dual_coef_, bounds, self.n_support_, self._in_pairs)
        if self._is_scaled:
            factors = spread(self.scale_, self.n_support_, self._in_pairs)
            within = self.dual_coef_ / factors
            rounded = np.clip(within, -bounds, bounds)
            self.dual_coef_ = np.where(factors != 1.0, rounded, within)  # a model in a subspace has no bounds
            self.intercept_ = self.intercept_ / self.scale_
        if not callable(self.kernel):
            self.dual_coef_ = like(self.support_vectors_, self.dual_coef_)

    def _restore(self, model: StoredModel, kernel: Any) -> None:
        super()._restore(model, kernel)
        if not hasattr(self, "scale_"):  # the first files had none
            self.scale_ = np.ones(len(self.intercept_))
        scale = require_array(self, "scale_", "f", (len(self.intercept_),))
        require((scale > 0.0).all(), "scale_ must be > 0")

    @property
    def _is_scaled(self) -> bool:
        return bool((self.scale_ != 1.0).any())

    @property
    def _coefficients(self) -> NDArray[np.float64]:
        shown = super()._coefficients
        return shown * spread(self.scale_, self.n_support_, self._in_pairs) if self._is_scaled else shown

    @property
    def _biases(self) -> NDArray[np.float64]:
        return super()._biases * self.scale_

    def _keep_account(self, training_set: TrainingSet, result: AnyResult) -> None:
        super()._keep_account(training_set, result)
        self.n_iter_: Any = np.array([each.steps for each in result.binary_results], dtype=np.int32)

    def _fitted_problems(self, training_set: TrainingSet) -> Iterator[FittedProblems]:
        if not self._in_pairs:
            yield from super()._fitted_problems(training_set)
            return
        of_class, table = np.repeat(np.arange(len(self.classes_)), self.n_support_), self._coefficients
        for pair in pairs_of(len(self.classes_)):
            rows = np.where(of_class == pair.first, pair.second - 1, pair.first)
            mine = (of_class == pair.first) | (of_class == pair.second)
            places = np.flatnonzero(mine & (table[rows, np.arange(len(rows))] != 0.0))
            coefficients = table[rows[places], places][None]
            biases = self._biases[pair.number : pair.number + 1]
            # Of two classes the second is positive, of a pair the first.
            yield FittedProblems(training_set_of(training_set, pair), 2, places, -coefficients, -biases)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the features, for the linear kernel only: a row for each problem, as in ``intercept_``."""
        if not getattr(self, "_in_pairs", False):
            return super().coef_
        self._require_inner_product()
        shown = like(self.dual_coef_, PairCoefficients(super()._coefficients, self.n_support_).dense)
        found: NDArray[np.float64] = read_only(linear_weights(shown, self.support_vectors_))
        return found

    # ---- prediction

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Values of the decision function.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (m, d)
            (m, n) kernel values for kernel="precomputed", or those with the support vectors alone.

        Returns
        -------
        ndarray
            (m,) for two classes. For several, (m, n_classes) with ``decision_function_shape="ovr"``: with
            ``multi_class="ovo"`` the number of pairs a class wins, and within a third of that by how much; or
            (m, n_pairs) with ``"ovo"``: the values of all pairs, positive for the first class.
        """
        check_is_fitted(self)
        if self._in_pairs and self.decision_function_shape == "ovo":
            return np.concatenate(list(self._pair_values(check_rows(self, X, reset=False))))
        return self._class_values(X)

    def _class_values(self, X: Any) -> NDArray[np.float64]:
        """A column for each class, or (m,) for two."""
        if not self._in_pairs:
            return super().decision_function(X)
        parts = self._pair_values(check_rows(self, X, reset=False))
        return np.concatenate([scores(values, len(self.classes_)) for values in parts])

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row of X: of several, the one with the most votes, the first of those with as many.

        With ``break_ties=True`` the one with the largest ``decision_function``.
        """
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError(
                "break_ties must be False when decision_function_shape is 'ovo', got True. "
                "Use decision_function_shape='ovr' to break ties."
            )
        if not self._in_pairs:
            return super().predict(X)
        if self.break_ties:
            return np.asarray(self.classes_[self.decision_function(X).argmax(axis=1)])
        X = check_rows(self, X, reset=False)
        chosen = [winners(values, len(self.classes_)) for values in self._pair_values(X)]
        return np.asarray(self.classes_[np.concatenate(chosen)])

    def _pair_coefficients(self) -> PairCoefficients:
        return PairCoefficients(self._coefficients, self.n_support_)

    def _pair_values(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """The decision values of all pairs, for as many rows at a time as memory allows."""
        coefficients = self._pair_coefficients()
        rows = max(1, _MAX_VALUES // coefficients.n_pairs)
        for start in range(0, length(X), rows):
            part = X if rows >= length(X) else take(X, np.arange(start, min(start + rows, length(X))))
            if self._kernel is None:
                yield np.asarray(self._support_columns(part) @ coefficients.dense.T + self._biases, np.float64)
            else:
                yield self._values_at(as_points(part), coefficients)
