"""SVC: the C-form, as scikit-learn's SVC has it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from slackwater.deadline import Deadline
from slackwater.estimators.adding_rows import AddsRows
from slackwater.estimators.going_on import Kept, earlier_model
from slackwater.estimators.outcome import short_of_gap
from slackwater.estimators.parameters import COMMON, Rule, flag, hard_margin_or_positive, is_flag, one_of, optional
from slackwater.estimators.validation import Targets
from slackwater.fitting.context import FitContext
from slackwater.fitting.decisions import Decisions
from slackwater.fitting.fit import STRATEGIES
from slackwater.fitting.result import AnyBinaryResult, AnyResult
from slackwater.fitting.training_set import KernelCheck, TrainingSet, warn_if_indefinite
from slackwater.solvers.base import Solver
from slackwater.solvers.coupling import Balanced, Free
from slackwater.solvers.dual_blocks import DualBlocks
from slackwater.stopping import BoundStalled, StoppingRule, ViolationBelow

# C = inf: no dual variable of a problem whose classes can be separated with a margin of 1e-5 comes near to it, and
# where they cannot be separated, training still ends.
HARD_MARGIN = 1e10

_MAX_GROWTH = 2.0  # of the rows: an earlier model is a usable one for so many


class SVC(AddsRows):
    r"""C-support vector classification: the optimum's accuracy sooner, or the optimum itself.

    Solves

    .. math::
        \min_{w, b}\ \tfrac12 \|w\|^2 + C \sum_i \omega_i \max(0,\ 1 - y_i (\langle w, \Phi(x_i) \rangle + b))

    The parameters and attributes are those of scikit-learn's ``SVC``, and more. With ``tol`` the
    optimum is found to a proven relative gap. Without, training goes as far as the test error of
    the optimum demands, by whichever of five strategies suits the data: ``strategy_`` names it,
    ``decisions_`` says what was measured to choose it, and ``gap_`` how far the model can be from
    the optimum.

    Parameters
    ----------
    C : float, default=1.0
        What a unit of hinge loss costs. inf asks for a hard margin (and is 1e10, so that training
        ends where there is none).
    kernel : {"rbf", "laplacian", "linear", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable takes two collections of examples, A and B, and returns the len(A) × len(B)
        kernel values, dense or sparse. It is called with parts of the data, so it has to compute
        any block, not only k(X, X).
    gamma : {"scale", "auto"} or float, default="scale"
        Of rbf, laplacian, poly and sigmoid. "scale" is 1 / (n_features · variance of X), "auto" 1 /
        n_features, whatever the weights. 0 makes a kernel constant.
    degree : int, default=3
        Of poly.
    coef0 : float, default=0.0
        Of poly and sigmoid.
    fit_intercept : bool, default=True
        Learn an unregularised bias.
    shrinking : bool, default=True
        Accepted as in scikit-learn, without effect: what can be set aside for a while is decided by
        the data.
    probability : bool, default=False
        Have ``predict_proba`` and ``predict_log_proba``: after training, decision values of a
        cross-validation (five folds, or as many as the smallest class has rows) are calibrated by
        scikit-learn's ``CalibratedClassifierCV``, which takes five fits more. Prefer
        ``CalibratedClassifierCV(SVC(), ensemble=False)`` itself: its folds and its method can be
        chosen, and scikit-learn is about to remove this parameter from its own SVC.
    class_weight : dict or "balanced", optional
        Multiplies the sample weights of each class. "balanced" counts rows, not their weights: n /
        (n_classes · rows of the class). Classes that a dict does not name have the factor 1; it may
        name classes that the data lack, as long as it names all that they have.
    tol : float, optional
        Stop at this certified relative gap between primal and dual objective, ``gap_``, and when no
        example is further than ten times this from where an optimum has it (so that single decision
        values are right, too).
    max_iter : int, default=10000
        Stop after this many steps of a problem, each of which works on a block of 512 to 768
        examples, up to 3072 where it takes many (fewer where rows are very long), or on the working
        set of a small problem. -1 sets no limit, as in scikit-learn.
    max_time : float, optional
        Stop after this many seconds, of ``fit`` as a whole. When this or another budget runs out,
        the model is the best one so far: by its error on examples that it was not trained on, while
        there are any, else by its objective. Where all rows cannot be done with in time, it is that
        of a sample of them, the largest that can.
    max_kernel_evals : int, optional
        Stop before computing more kernel values than this in one call of ``fit``.
    early_stopping : bool, default=False
        Hold out ``validation_fraction`` of the rows, or take ``X_val`` and ``y_val`` of ``fit``;
        stop when the error on them has not improved for ``n_iter_no_change`` assessments, of which
        one counts for each tenth of an epoch: of as many examples in blocks as a tenth of the rows.
        The model is the one with the least hold-out error, unless training came to its end
        (``tol``, or the tolerance of the strategy). In strategies with several stages, patience
        ends a stage; the fit ends with the last. A subspace is solved in few steps, and its end is
        awaited.
    validation_fraction : float, default=0.1
        The part of the rows that ``early_stopping`` holds out.
    n_iter_no_change : int, default=10
        10 assessments without improvement are an epoch.
    cache_size : float, optional
        Memory for all that holds kernel values, in MB. A fit adds at its peak no more than this,
        copies of X (at most three) and 96 MB. By default a sixth of the memory of the machine or
        container, a third for the nearly sparse matrix of a narrow kernel and for coordinates in a
        subspace; taken as needed, and by default less where rows are soon computed again. It
        changes the time and the way to the model, which is as near to the optimum as ever; a
        strategy whose matrix does not fit is declined, or refused if it is forced.
    warm_start : bool, default=False
        Let ``fit`` go on from the model of the last one (or of a file): on the same rows with more
        time, on more or fewer rows in any order, with other weights, another ``C`` or ``gamma``.
        Rows that are there again are known by content and class (by their numbers where the kernel
        is precomputed or of objects), and keep their dual variables; new ones begin at zero.
        Training ends by the same tests as from scratch. What a sample decided (tolerance, strategy)
        stays in force until rows have doubled, or C or gamma changed by a fifth; then large fits
        start over. ``max_iter`` counts the further steps. With ``checkpoint``, a fit resumes from
        the file alone.
    checkpoint : path, optional
        File in which the training state is kept, and from which a fit with the same data and
        parameters resumes, in every strategy, to the model, bit for bit, of a run with a checkpoint
        that was not interrupted (same number of threads). Written whole or not at all, each 30
        seconds and after each stage; each pair of classes has a file of its own (``.0-1``, … added
        to the name), pairs of small classes none. ``max_iter`` then counts all steps.
    strategy : {"auto", "exact", "low_rank", "sparse_kernel", "subspace", "screening"}, default="auto"
        "auto" lets the data decide. Any other is taken whatever is measured; an error, if it cannot
        serve the data.
    multi_class : {"ovo", "ovr"}, default="ovo"
        One against one, or one against the rest.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        With several classes, one column of ``decision_function`` for each class (with one-vs-one:
        votes, and within a third of a vote by how much), or for each pair of classes.
    break_ties : bool, default=False
        Between classes with as many votes, let ``decision_function`` decide instead of their order.
        Of no effect with ``multi_class="ovr"``.
    n_jobs : int, optional
        Threads; None uses as many as BLAS is set to use, -1 all processors.
    verbose : int, default=0
        1 shows a line of progress in a terminal or a notebook: what is done at present, time spent
        and left, gap or hold-out error, support vectors. Where output goes to a pipe or a file, it
        shows nothing. 2 shows each decision as well, and in a pipe a line after 1, 2, 4, 8, …
        seconds.
    random_state : int, RandomState or None, default=None
        Of the hold-out part, of samples and of ties between examples. None means 0: unseeded fits
        are identical.

    Attributes
    ----------
    support_, support_vectors_, intercept_, n_support_, classes_, n_features_in_, coef_ (linear)
        As in scikit-learn's SVC: support vectors grouped by class, with one-vs-one ``dual_coef_``
        of shape (n_classes - 1, n_support) and an ``intercept_`` for each pair (0, 1), (0, 2), …,
        (1, 2), …. With ``multi_class="ovr"`` both have a row for each class. Equal rows of one
        class are one support vector.
    gap_ : float, or ndarray of shape (n_problems,)
        Relative gap: (primal - dual) / primal. Where ``certified_`` is True, a proven bound on how
        far the model's objective is above the optimum's. Where it is False, an estimate: with
        screening and sparse rows an upper limit with a confidence of 95 % (losses of screened
        examples, and by values left out, are known from a sample); of a subspace extrapolated from
        two parts of the data, with an allowance for its growth. ``certify`` proves a gap. nan for
        an indefinite kernel.
    certified_ : bool
        Whether ``gap_`` is a proof (up to rounding) rather than an estimate.
    strategy_ : str
        The strategy that made the model, or several if pairs of classes differ; "sample" where a
        budget ended the fit with the model of a sample of the rows.
    decisions_ : sequence of Decision
        What was measured to choose the strategy, its limit, and the outcome: taken, declined or
        forced. Prints as a table; ``decisions_.to_pandas()`` is a data frame.
    margin_ : float, or ndarray of shape (n_problems,)
        1 / ‖w‖.
    dual_coef_ : ndarray
        Signed coefficients of the support vectors, sparse after a fit to a sparse matrix. None is
        beyond C (times the weight of its row), but in a subspace, where there is no such bound.
    scale_ : ndarray of shape (n_problems,)
        Decision values are ``scale_`` times what ``dual_coef_`` and ``intercept_`` give. A model
        found by blocks of rows is the multiple of a dual solution that costs least, which this
        factor is for. It tends to 1 as ``gap_`` tends to 0, and is 1 in small problems.
    slack_nu_ : float, or ndarray of shape (n_problems,)
        Average hinge loss divided by ‖w‖: the ``nu`` with which ``SBPClassifier`` has the same
        optimum.
    n_iter_ : ndarray of shape (n_problems,)
        Steps made. With ``warm_start``, as ``n_kernel_evals_``, from the first of the fits that
        were continued.
    n_kernel_evals_ : int
        Kernel values computed (testing a callable, sigmoid or precomputed kernel takes up to 4096
        more).
    class_weight_, shape_fit_, fit_status_
        As in scikit-learn's SVC: the factor of each class, the shape of X, and 0, or 1 where a
        budget ended the fit.
    stop_reason_ : str
        "tol", "converged" (a subspace), "early_stopping", "max_iter", "max_kernel_evals",
        "max_time", "callback" (one of scikit-learn's said so), "stalled" (rounding does not let the
        gap close further: by blocks of rows 300 steps without progress, with the kernel matrix in
        memory a dual objective that rises by no more than its rounding) or "interrupted": after
        Ctrl-C ``fit`` raises KeyboardInterrupt, and the model reached is kept.
    history_ : History, a dict of ndarray
        Prints as a table; ``history_.to_pandas()`` is a data frame. One entry for each assessment
        (each of the first twenty steps, then every third) and class: problem, step, evaluations,
        seconds, objective (primal), bound (dual), gap, margin, n_support, holdout_error (nan
        without a hold-out part), violation. With a sample or screening they are about the examples
        then at work; a subspace's last row is about all.

    Notes
    -----
    Several classes are trained one against one, as in scikit-learn: a problem for each pair of
    classes, of the examples of these two, and a vote among the pairs. Each pair picks its own
    strategy; those of small classes are solved together. ``multi_class="ovr"`` trains each class
    against the rest, which is another optimum.

    Five strategies find the model; ``strategy_`` names the one that did, ``decisions_`` what was
    measured to choose it:

    - ``"exact"``: the dual over all examples. Up to 3072 examples (16,384 of a pair of classes),
      with the kernel matrix of a working set in memory, until no optimality condition is violated
      by more than 1e-3, LIBSVM's tolerance, and as a rule to a gap of 1e-3. Else by blocks of
      kernel rows: with fewer than 8192 examples, a stated ``tol``, a precomputed kernel or
      ``max_kernel_evals``, to a proven gap (1e-4 by default).
    - ``"low_rank"``: the linear kernel with more than 3072 examples of up to 128 features. The dual
      by an interior-point method on the features themselves, to a proven gap, however badly they
      are scaled. No kernel value is computed.
    - ``"sparse_kernel"``: a kernel that is narrow compared with the spread of the data has a nearly
      sparse matrix. The dual is solved on its values above 1e-4, and corrected for the others.
    - ``"subspace"``: where the optimum would have many support vectors (noisy labels, a smooth
      kernel), the best function in the span of up to 1024 landmarks, with the losses of all
      examples and a smoothed hinge. Few support vectors, quick predictions. Only if, trained on a
      part of the data, its error on up to 16,384 other examples is not larger than that of the
      exact solution of the same part.
    - ``"screening"``: a solution of a sample grows with the examples; those far beyond the margin
      are set aside.

    Without ``tol`` the dual is solved to a relative gap of 0.03, 0.01 or 0.003: the coarsest at
    which a sample's solution has the error of the finest on up to 8192 other examples. This
    comparison and that of a subspace are tests of non-inferiority: what is worse by 0.1 points of
    test error (a tolerance) or 0.2 points (a subspace) passes in at most 5 of 100 cases, with
    models of the part that was compared.

    A kernel that is not positive semi-definite (the sigmoid; poly with ``coef0`` < 0, callables and
    precomputed matrices that a sample of 64 points shows to be indefinite) is trained as LIBSVM
    does it, with an ``IndefiniteKernelWarning``: to a point that violates the optimality conditions
    by no more than ``tol`` (1e-3 by default). ``gap_`` is nan then, and the point need not be the
    best one: where there are several, it depends on the order of the rows.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from slackwater import SVC
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = SVC(C=1.0, gamma=2.0).fit(X, y)
    >>> bool(model.gap_ <= 1e-3), bool(model.score(X, y) > 0.95)
    (True, True)
    """

    _check_kernel: ClassVar[KernelCheck] = staticmethod(warn_if_indefinite)
    _rules: ClassVar[Mapping[str, Rule]] = {
        "C": hard_margin_or_positive("It is what a unit of hinge loss costs; inf asks for a hard margin."),
        **COMMON,
        "tol": optional(COMMON["tol"]),
        "cache_size": optional(COMMON["cache_size"]),
        "shrinking": flag("It has no effect; scikit-learn has it."),
        "probability": Rule(
            lambda v: is_flag(v) or (isinstance(v, str) and v == "deprecated"),
            "True or False",
            "True calibrates values of a cross-validation, as CalibratedClassifierCV(SVC(), ensemble=False) does.",
        ),
        "strategy": one_of(("auto", *STRATEGIES), "auto lets the data decide."),
        "multi_class": one_of(("ovo", "ovr"), "Several classes are trained one against one, or one against the rest."),
        "decision_function_shape": one_of(("ovr", "ovo"), "One column for each class, or for each pair of classes."),
        "break_ties": flag("True lets decision values decide between classes that have as many votes."),
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
        shrinking: bool = True,
        probability: bool = False,
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
        strategy: str = "auto",
        multi_class: str = "ovo",
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
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
        self.shrinking = shrinking
        self.probability = probability
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
        self.strategy = strategy
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _solver(self, n_classes: int) -> DualBlocks:
        coupling = Balanced() if self.fit_intercept else Free()
        together = 1 if n_classes == 2 or self._trains_pairs(n_classes) else n_classes
        C = float(self.C) if math.isfinite(self.C) else HARD_MARGIN
        return DualBlocks(C, coupling, together)

    def _limits(self) -> list[StoppingRule]:
        return [*super()._limits(), BoundStalled()]

    def _context(
        self, solver: Solver, training_set: TrainingSet, n_classes: int, seed: int, deadline: Deadline
    ) -> FitContext:
        context = super()._context(solver, training_set, n_classes, seed, deadline)
        if not training_set.certified:
            context.stopping = replace(context.stopping, make_goals=lambda tol: [ViolationBelow(tol)])
        context.strategy = self.strategy
        return context

    def _goes_on(self, n: int) -> bool:
        """Whether a fit of n rows begins at a model of nearly as many."""
        begins = (self.warm_start or self._adds_rows) and hasattr(self, "dual_coef_")
        return begins and n <= _MAX_GROWTH * self.shape_fit_[0]

    def _go_on(self, context: FitContext, targets: Targets) -> int:
        context.persistence = replace(context.persistence, keep=False)
        if self.warm_start or self._adds_rows:
            context.keeps_responses = True
            context.earlier = earlier_model(self, targets.classes)
        return 0 if context.earlier is None else int(self.n_kernel_evals_)

    def _keep_account(self, training_set: TrainingSet, result: AnyResult) -> None:
        super()._keep_account(training_set, result)
        C = self._solver(len(self.classes_)).C
        going_on = self._can_add_rows and (self.warm_start or self._adds_rows)
        self._rows_seen = None
        self._kept = Kept.of(C, self.classes_, training_set, result) if going_on else Kept(C, self.classes_)
        self.strategy_ = result.strategy
        self.decisions_ = result.decisions or Decisions()
        self.certified_ = training_set.certified and all(each.certified for each in result.binary_results)

    def _shortfall(self, results: Sequence[AnyBinaryResult]) -> str:
        """By how much training has missed its goals; nothing where it has not."""
        worst = max(result.assessment.gap for result in results)
        if not math.isnan(worst) and not self._aims_at_a_gap():
            return f"before the strategy ({self.strategy_}) was done, at an estimated relative gap of {worst:.3g}"
        name, aim = "tol=", self.tol
        if aim is None:
            tolerance = self._settings.tolerance
            name, aim = "the default tolerance ", tolerance.exact_gap
            if math.isnan(worst):
                aim = tolerance.exact_violation
        if math.isnan(worst):
            violation = max(result.assessment.violation for result in results)
            return f"with the optimality conditions violated by {violation:.3g}, above {name}{aim:g}"
        return short_of_gap(results, aim, name)

    def _or_else(self) -> str:
        if not self._aims_at_a_gap():
            return ""
        return ", or pass a larger tol to accept this one" if self.tol is None else super()._or_else()

    def _aims_at_a_gap(self) -> bool:
        """Whether the fit had a tolerance of its own, stated or by default, rather than one that a sample chose."""
        chosen = len(self.decisions_.of("sample")) > 0
        return self.tol is not None or (self.strategy_ == "exact" and not chosen)
