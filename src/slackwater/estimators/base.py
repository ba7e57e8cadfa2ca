"""The scikit-learn face of every kernel classifier: fit, decision_function, predict."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from slackwater.callbacks import Model, joined
from slackwater.deadline import INTERRUPTS, Clock, Deadline, working_until
from slackwater.estimators.anytime import anytime_fit
from slackwater.estimators.callback_support import CallbackSupport, FitTasks, with_callbacks
from slackwater.estimators.documented import Documented
from slackwater.estimators.going_on import GoesOn
from slackwater.estimators.layout import length, linear_weights, one_or_all, read_only, support_columns
from slackwater.estimators.outcome import REMEDIES, known, short_of_gap, weakest_reason
from slackwater.estimators.parameters import COMMON, Rule, check_parameters
from slackwater.estimators.portable import PortableClassifier
from slackwater.estimators.validation import (
    GivenHoldout,
    Targets,
    check_holdout,
    check_rows,
    check_targets,
    seed_of,
    with_holdout,
)
from slackwater.estimators.watching import progress_of, warn_unless_converged, watch_of, words_of_interrupt
from slackwater.fitting.context import FitContext, Persistence, Stopping
from slackwater.fitting.precision import with_fast_rows
from slackwater.fitting.result import AnyBinaryResult, AnyResult, Models, PairModels
from slackwater.fitting.settings import Settings
from slackwater.fitting.train import train
from slackwater.fitting.training_set import (
    KernelCheck,
    TrainingSet,
    feature_training_set,
    precomputed_training_set,
    require_semidefinite,
)
from slackwater.kernels.base import Kernel
from slackwater.kernels.registry import make_kernel
from slackwater.points import Points, as_points
from slackwater.prediction import PairCoefficients, PreparedSupport, threads_pay
from slackwater.solvers.base import Solver
from slackwater.stopping import (
    GapBelow,
    HoldoutStalled,
    MaxEvaluations,
    MaxSteps,
    StoppingRule,
    StopReason,
)
from slackwater.tracing import onlookers
from slackwater.workers import Workers, available_memory, thread_count

Classifier = TypeVar("Classifier", bound="KernelClassifier")  # what ``fit`` returns is of the class that it is of


class KernelClassifier(GoesOn, CallbackSupport, Documented, PortableClassifier, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Common part of the classifiers; a subclass names its parameters and builds its solver."""

    _rules: ClassVar[Mapping[str, Rule]] = COMMON
    _check_kernel: ClassVar[KernelCheck] = staticmethod(require_semidefinite)
    _settings: ClassVar[Settings] = Settings()
    _make_clock: ClassVar[Callable[[], Clock]] = Clock

    def _solver(self, n_classes: int) -> Solver:
        """The algorithm, from the parameters."""
        raise TypeError(f"{type(self).__name__} does not say which solver trains it")

    @with_callbacks
    def fit(
        self: Classifier, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, y_val: Any = None
    ) -> Classifier:
        """Train on X and y.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            (n, n) kernel values for kernel="precomputed"; with a callable kernel also any sequence of n objects.
        y : array-like of shape (n,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n,), optional
            What each row's slack costs; an integer weight is the same as repeating the row, 0 leaves it out (and so
            does a negative one, as in scikit-learn).
        X_val, y_val : array-like, optional
            Hold-out rows and their labels for ``early_stopping=True``, in place of a part of X. ``sample_weight`` is of
            X alone.

        Returns
        -------
        self

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C, so that loops and searches end. The model reached is kept: ``stop_reason_`` "interrupted".
        """
        check_parameters(self, self._rules)
        deadline = Deadline(type(self)._make_clock(), math.inf if self.max_time is None else float(self.max_time))
        with INTERRUPTS.raising(deadline.interrupted):
            X = check_rows(self, X, reset=True)
            targets = check_targets(y, length(X), sample_weight, self.class_weight)
            holdout = check_holdout(self, X_val, y_val, targets)
            tasks = FitTasks(self, X, y, sample_weight)
            results = anytime_fit(self, X, targets, deadline, holdout, tasks)
            tasks.end(lambda: dict(vars(self)))
        if deadline.interrupted.is_set():
            raise KeyboardInterrupt(words_of_interrupt(self))
        warn_unless_converged(self, results)
        return self

    def _fit_rows(
        self,
        X: Any,
        targets: Targets,
        kernel: Kernel | None,
        deadline: Deadline,
        given: GivenHoldout | None = None,
        tasks: FitTasks | None = None,
    ) -> list[AnyBinaryResult]:
        """Train on rows that were checked; CutShort if the deadline passes before there is a model."""
        n_classes, seed = len(targets.classes), self._seed()
        with Workers(thread_count(self.n_jobs), deadline) as workers, working_until(deadline):
            deadline.check()
            training_set = self._training_set(X, targets, kernel, seed, workers, given)
            deadline.check()
            solver = self._solver(n_classes)
            self._check_affordable(solver, training_set, n_classes)
            context = self._context(solver, training_set, n_classes, seed, deadline)
            before = self._go_on(context, targets)
            if tasks is not None:
                tasks.watch(context, partial(self._attributes_on_the_way, X, kernel, targets, training_set))
            try:
                result = self._train(context)
            finally:
                context.done()
        self._keep_fitted(X, kernel, targets, training_set, result.models)
        self._keep_account(training_set, result)
        self.n_kernel_evals_ += before
        self.history_["evaluations"] += before
        return [known(each, training_set.certified) for each in result.binary_results]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Values of the decision function, ±1 at the margin.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (m, d)
            (m, n) kernel values for kernel="precomputed"; with a callable kernel also any sequence of m objects.

        Returns
        -------
        ndarray of shape (m,) or (m, n_classes)
            One value a row for two classes, positive for the second; else one for each class.
        """
        check_is_fitted(self)
        values = self._values(check_rows(self, X, reset=False))
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row of X, out of ``classes_``."""
        values = self.decision_function(X)
        chosen = (values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the features, for the linear kernel only: other kernels have no finite w."""
        self._require_inner_product()
        found: NDArray[np.float64] = read_only(linear_weights(self.dual_coef_, self.support_vectors_))
        return found

    @property
    def _gamma(self) -> float:
        """The number that "scale" or "auto" has become: programs that read scikit-learn's models ask for it."""
        return float(getattr(self._kernel, "gamma", 0.0))

    def _require_inner_product(self) -> None:
        check_is_fitted(self)
        if self._kernel is None or not self._kernel.is_inner_product:
            name = "precomputed" if self._kernel is None else self._kernel.name
            raise AttributeError(f"coef_ exists for kernel='linear' only, and this model's kernel is {name!r}.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    # ---- training

    def _seed(self) -> int:
        return seed_of(self.random_state)

    def _make_kernel(self, X: Any) -> Kernel | None:
        """The kernel of these rows; None where its values are given."""
        if self.kernel == "precomputed":
            return None
        return make_kernel(self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0, points=as_points(X))

    def _training_set(
        self,
        X: Any,
        targets: Targets,
        kernel: Kernel | None,
        seed: int,
        workers: Workers,
        given: GivenHoldout | None = None,
    ) -> TrainingSet:
        rng = np.random.default_rng(seed)
        held_out = self.validation_fraction if self.early_stopping else 0.0
        check_kernel = type(self)._check_kernel
        if kernel is None:
            return precomputed_training_set(X, targets.codes, targets.weights, held_out, rng, check_kernel)
        rows, memory = with_holdout(X, targets, given), self._memory()
        points = as_points(rows.X)
        return feature_training_set(
            points, kernel, *rows[1:3], held_out, *memory, workers, rng, check_kernel, rows.held_out
        )

    def _memory(self) -> tuple[int, int]:
        """Bytes for rows that are kept, and for a whole matrix that is nearly sparse."""
        if self.cache_size is None:
            memory = available_memory()
            return memory // 6, memory // 3
        given = int(self.cache_size * 2**20)
        return given, given

    def _check_affordable(self, solver: Solver, training_set: TrainingSet, n_classes: int) -> None:
        if self.max_kernel_evals is None:
            return
        least = training_set.ledger.train + self._least_evaluations(solver, training_set, n_classes)
        if self.max_kernel_evals < least:
            raise ValueError(
                f"max_kernel_evals must allow for one step, {least} evaluations on this data, "
                f"got {self.max_kernel_evals}."
            )
        training_set.ledger.limit = self.max_kernel_evals

    def _least_evaluations(self, solver: Any, training_set: TrainingSet, n_classes: int) -> int:
        """What a step of every problem may need."""
        problems = 1 if n_classes == 2 else n_classes
        return int(training_set.rows.n * solver.rows_a_step) * problems

    def _context(
        self, solver: Solver, training_set: TrainingSet, n_classes: int, seed: int, deadline: Deadline
    ) -> FitContext:
        """This fit, as everyone who takes part in it sees it."""
        return FitContext(
            solver,
            training_set,
            n_classes,
            seed,
            Stopping(None if self.tol is None else float(self.tol), self._goals, self._limits),
            Persistence(
                checkpoint=None if self.checkpoint is None else Path(self.checkpoint),
                previous=getattr(self, "_previous", None) if self.warm_start else None,
                keep=bool(self.warm_start),
            ),
            settings=self._settings,
            deadline=deadline,
            watchers=[*progress_of(self), *onlookers()],
            watch=watch_of(self, training_set),
        )

    def _train(self, context: FitContext) -> AnyResult:
        unlimited = self.max_iter is None or self.max_iter == -1
        # A state that is kept may be continued to any tolerance.
        tol, steps = None if context.persistence.used else float(self.tol), None if unlimited else int(self.max_iter)
        training_set = with_fast_rows(context.solver, context.training_set, tol, steps, context.settings.near_rows)
        return train(context, float(self.tol), training_set)

    def _goals(self, tol: float) -> list[StoppingRule]:
        """What training is meant to reach; the other rules are budgets."""
        return [GapBelow(tol)]

    def _shortfall(self, results: Sequence[AnyBinaryResult]) -> str:
        """By how much training has missed its goals; nothing where it has not."""
        return short_of_gap(results, self.tol)

    def _or_else(self) -> str:
        """What to do instead of training longer."""
        return ", or raise tol to accept this one"

    def _remedy(self, reason: StopReason) -> str:
        """How to train longer."""
        return REMEDIES.get(reason, "train longer")

    def _limits(self) -> list[StoppingRule]:
        rules: list[StoppingRule] = [HoldoutStalled(self.n_iter_no_change)] if self.early_stopping else []
        if self.max_iter is not None and self.max_iter != -1:
            rules.append(MaxSteps(self.max_iter))
        if self.max_kernel_evals is not None:
            rules.append(MaxEvaluations(self.max_kernel_evals))
        return rules

    # ---- what a fit leaves behind

    def _keep_fitted(self, X: Any, kernel: Kernel | None, targets: Targets, data: TrainingSet, models: Models) -> None:
        """Everything that predictions need."""
        self.classes_ = targets.classes
        self._kernel: Any = kernel
        self.class_weight_ = targets.class_weights
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (len(X),)
        self._keep_model(X, data, self._model_of(models, data))

    def _attributes_on_the_way(
        self, X: Any, kernel: Kernel | None, targets: Targets, data: TrainingSet, models: Models
    ) -> dict[str, Any]:
        """The fitted attributes of a model that training has come to; the estimator itself does not change."""
        shown = copy.copy(self)
        shown._keep_fitted(X, kernel, targets, data, models)
        return dict(vars(shown))

    def _model_of(self, models: Models, training_set: TrainingSet) -> Model:
        """The models of all problems over the support vectors of any of them, by their numbers in the training set."""
        if isinstance(models, PairModels):
            raise TypeError(f"{type(self).__name__} is not trained in pairs of classes")
        return joined(models)

    def _keep_model(self, X: Any, training_set: TrainingSet, model: Model) -> None:
        support, self.dual_coef_, self.intercept_ = model
        self.support_ = training_set.kept[support].astype(np.int32)
        self.n_support_ = np.bincount(training_set.codes[support], minlength=len(self.classes_)).astype(np.int32)
        if self.kernel == "precomputed":
            self.support_vectors_ = np.empty((0, 0), dtype=X.dtype)
        else:
            self.support_vectors_ = as_points(X).take(self.support_).raw
            self._prediction = PreparedSupport(self._kernel, self.support_vectors_)

    def _keep_account(self, training_set: TrainingSet, result: AnyResult) -> None:
        found = [each.assessment for each in result.binary_results]
        self.margin_ = one_or_all([each.margin for each in found])
        self.gap_ = one_or_all([each.gap if training_set.certified else math.nan for each in found])
        self.slack_nu_ = one_or_all([each.slack_nu for each in found])
        self.n_iter_ = max(each.steps for each in result.binary_results)
        before = self._evaluations_before(result)
        self.n_kernel_evals_ = before + training_set.ledger.train
        reason = weakest_reason(result.binary_results)
        self.stop_reason_ = str(reason)
        self.fit_status_ = int(reason in REMEDIES or reason is StopReason.INTERRUPT)
        self.history_ = result.recorder.table()
        self.history_["evaluations"] += before
        self._previous = result.previous

    # ---- prediction

    def _values(self, X: Any) -> NDArray[np.float64]:
        if self._kernel is None:
            columns = self._support_columns(X)
            return np.asarray(columns @ self._coefficients.T + self._biases, dtype=np.float64)
        return self._values_at(as_points(X), self._coefficients)

    @property
    def _coefficients(self) -> NDArray[np.float64]:
        """Those that decision values are made of: ``dual_coef_``, dense."""
        shown: Any = self.dual_coef_
        return np.asarray(shown.toarray() if sparse.issparse(shown) else shown)

    @property
    def _biases(self) -> NDArray[np.float64]:
        """Those that decision values are made of."""
        found: NDArray[np.float64] = self.intercept_
        return found

    def _values_at(self, points: Points, coefficients: NDArray[np.float64] | PairCoefficients) -> NDArray[np.float64]:
        """Decision values at some points, by as many threads as pay."""
        support = self._prepared_support()
        features = getattr(points, "n_features", 1)
        if not threads_pay(len(points), len(self.support_), features):
            return support.decision_values(points, coefficients, self._biases, Workers())
        with Workers(thread_count(self.n_jobs)) as workers:
            return support.decision_values(points, coefficients, self._biases, workers)

    def _prepared_support(self) -> PreparedSupport:
        """The support as predictions use it: prepared once, and again if ``support_vectors_`` is another object."""
        found: PreparedSupport | None = self.__dict__.get("_prediction")
        if found is None or found.support is not self.support_vectors_:
            found = self._prediction = PreparedSupport(self._kernel, self.support_vectors_)
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Without what is prepared for predictions: it is prepared again."""
        return {name: value for name, value in super().__getstate__().items() if name != "_prediction"}

    def _support_columns(self, X: NDArray[Any]) -> NDArray[Any]:
        return support_columns(self, X)
