"""SVC: the C-form, as scikit-learn's SVC has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from slackwater.estimators.base import KernelClassifier
from slackwater.estimators.parameters import COMMON, Rule, optional, positive
from slackwater.solvers.coupling import Balanced, Free
from slackwater.solvers.dual_blocks import DualBlocks
from slackwater.stopping import BoundStalled, StoppingRule
from slackwater.training.exact import DEFAULT_TOL, as_given, calls_for_double, precise_enough, train_exactly
from slackwater.training.fallback import with_fallbacks
from slackwater.training.narrowing import train_on_narrow_rows
from slackwater.training.quick import FEWEST_EXAMPLES, train_quickly
from slackwater.training.run import Outcome
from slackwater.training.training_set import TrainingSet


class SVC(KernelClassifier):
    r"""C-support vector classification: the accuracy of the optimum in a fraction of its time, or the optimum itself.

    Solves

    .. math::
        \min_{w, b}\ \tfrac12 \|w\|^2 + C \sum_i \omega_i \max(0,\ 1 - y_i (\langle w, \Phi(x_i) \rangle + b))

    Several classes are trained one against the rest over shared kernel values.

    By default (``tol=None``), on 8192 examples or more, the way that suits the data is chosen by looking at a sample:

    - a kernel that is narrow compared with the spread of the data has a nearly sparse matrix, which is worked on as a
      whole without the values below 1e-4;
    - where labels are noisy and the function is simple, it is sought in the span of 512 points, with the losses of all
      examples (the hinge's corner rounded): few support vectors, quick predictions; so it is, in the span of up to
      1024 points, where these span nearly everything (few dimensions);
    - else a solution of the sample grows with the other examples, of which those beyond the margin are set aside; fewer
      than 16,384, or 32,768 if most are support vectors, are let in all at once.

    ``gap_`` is then an estimate. With ``tol`` the dual is solved by blocks over all examples until the gap is
    certified. So it is, to 1e-3, with fewer examples, a precomputed kernel, ``early_stopping``, ``warm_start``,
    ``checkpoint`` or ``max_kernel_evals``; with neither of these that keep a state, Gaussian values are computed in
    single precision where that moves responses by less than 1e-3.

    Parameters
    ----------
    C : float, default=1.0
        What a unit of hinge loss costs.
    kernel : {"rbf", "laplacian", "linear", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable takes two collections of examples, A and B, and returns the len(A) × len(B) kernel values.
    gamma : {"scale", "auto"} or float, default="scale"
        Of rbf, laplacian, poly and sigmoid. "scale" is 1 / (n_features · variance of X), "auto" 1 / n_features.
    degree : int, default=3
        Of poly.
    coef0 : float, default=0.0
        Of poly and sigmoid.
    fit_intercept : bool, default=True
        Learn an unregularised bias.
    class_weight : dict or "balanced", optional
        Multiplies the sample weights of each class.
    tol : float, optional
        Stop at this certified relative gap between primal and dual objective, ``gap_``, and when no example is further
        than ten times this from where an optimum has it (so that single decision values are right, too).
    max_iter : int, default=10000
        Stop after this many steps, each of which works on a block of 512 to 768 examples, up to 3072 where it takes
        many (fewer where rows are very long).
    max_time : float, optional
        Stop after this many seconds. When this or another budget runs out, the model is the best one so far: by its
        error on examples that it was not trained on, while there are any, else by its objective.
    max_kernel_evals : int, optional
        Stop before computing more kernel values than this.
    early_stopping : bool, default=False
        Hold out ``validation_fraction`` of the rows; stop when the error on them has not improved for
        ``n_iter_no_change`` assessments, of which one counts for each tenth of an epoch: of as many examples in blocks
        as a tenth of the rows. The model is the one with the least hold-out error, unless ``tol`` is reached.
    validation_fraction : float, default=0.1
    n_iter_no_change : int, default=10
        10 assessments without improvement are an epoch.
    cache_size : float, optional
        Memory for kernel rows, in MB. By default a sixth of the machine's memory, a third for the nearly sparse matrix
        of a narrow kernel and for coordinates in a span; taken as it is needed, and by default less where rows are soon
        computed again. It changes the time and the way to the model, which is as near to the optimum as ever; a sparse
        matrix that does not fit is not used.
    warm_start : bool, default=False
        Let ``fit`` on the same data go on from where the last one stopped, also with another ``C``.
        ``max_iter`` then counts the further steps.
    checkpoint : path, optional
        File in which the training state is kept, and from which a fit with the same data and parameters resumes.
        ``max_iter`` then counts all steps.
    decision_function_shape : {"ovr"}, default="ovr"
    n_jobs : int, optional
        Threads; None uses as many as BLAS is set to use, -1 all processors.
    verbose : int, default=0
        1 shows a line of progress.
    random_state : int, RandomState or None, default=None
        Of the hold-out part and of ties between examples. With a checkpoint None means 0, for a run to be resumable.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_, n_support_, classes_, n_features_in_, coef_ (linear)
        As in scikit-learn's SVC, but ``dual_coef_`` and ``intercept_`` have a row for each class against the rest.
    gap_ : float, or ndarray of shape (n_classes,)
        Relative gap: (primal - dual) / primal. Certified where ``tol`` was given or the quick way was not taken, else
        an estimate from a sample: 0.03 for the examples that matter; with the others at most 0.05, of several classes
        on average. In a span it counts what the hinge's rounded corner may cost, and can be 0.1.
    margin_ : float, or ndarray of shape (n_classes,)
        1 / ‖w‖.
    dual_coef_ : ndarray of shape (1 or n_classes, n_support)
        Signed coefficients of the support vectors. They belong to the multiple of a dual solution that costs least, so
        that bounded ones are not C but C times that factor, which tends to 1 as ``gap_`` tends to 0.
    slack_nu_ : float, or ndarray of shape (n_classes,)
        Average hinge loss divided by ‖w‖: the ``nu`` with which ``SBPClassifier`` has the same optimum.
    n_iter_, n_kernel_evals_ : int
        Steps made, kernel values computed for them (testing a callable or precomputed kernel takes up to 4096 more).
    stop_reason_ : str
        "tol", "early_stopping", "max_iter", "max_kernel_evals", "max_time", "stalled" (rounding does not let the gap
        close further: 300 steps without progress) or "interrupted".
    history_ : dict of ndarray
        One entry for each assessment (each of the first twenty steps, then every third) and class: problem, step,
        evaluations, seconds, objective (primal), bound (dual), gap, margin, n_support, holdout_error (nan without a
        hold-out part), violation. On the quick way they are about the examples then at work.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from slackwater import SVC
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = SVC(C=1.0, gamma=2.0).fit(X, y)
    >>> bool(model.gap_ <= 1e-3), bool(model.score(X, y) > 0.95)
    (True, True)
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "C": positive("It is what a unit of hinge loss costs."),
        **COMMON,
        "tol": optional(COMMON["tol"]),
        "cache_size": optional(COMMON["cache_size"]),
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float | None = None,
        max_iter: int = 10_000,
        max_time: float | None = None,
        max_kernel_evals: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        cache_size: float | None = None,
        warm_start: bool = False,
        checkpoint: Any = None,
        decision_function_shape: str = "ovr",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.max_kernel_evals = max_kernel_evals
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.decision_function_shape = decision_function_shape
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _solver(self, n_classes: int) -> DualBlocks:
        coupling = Balanced() if self.fit_intercept else Free()
        return DualBlocks(float(self.C), coupling, 1 if n_classes == 2 else n_classes)

    def _limits(self) -> list[StoppingRule]:
        return [*super()._limits(), BoundStalled()]

    def _least_evaluations(self, solver: DualBlocks, training_set: TrainingSet) -> int:
        return solver.least_evaluations(training_set.rows.n)

    def _train(self, solver: DualBlocks, training_set: TrainingSet, n_classes: int, seed: int) -> Outcome:
        plan = self._plan(DEFAULT_TOL if self.tol is None else self.tol, training_set)
        state_is_kept = self.warm_start or self.checkpoint is not None
        limited = self.max_kernel_evals is not None or self.early_stopping
        large = training_set.features is not None and training_set.n >= FEWEST_EXAMPLES
        if large and not state_is_kept and not limited and not calls_for_double(solver, training_set):
            if self.tol is None:
                outcome = train_quickly(solver, training_set, n_classes, seed, plan)
                return with_fallbacks(outcome, plan.fallbacks, training_set, n_classes, solver.C, seed)
            on_narrow_rows = train_on_narrow_rows(solver, training_set, n_classes, seed, plan)
            if on_narrow_rows is not None:
                return on_narrow_rows
        if state_is_kept or self.tol is not None:  # a state may be continued to any tolerance
            return train_exactly(solver, training_set, n_classes, seed, plan, as_given(solver, training_set))
        return train_exactly(solver, training_set, n_classes, seed, plan, precise_enough(solver, training_set))
