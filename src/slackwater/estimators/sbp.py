"""SBPClassifier: the paper's algorithm and the paper's formulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from slackwater.callbacks import Moment
from slackwater.estimators.base import KernelClassifier
from slackwater.estimators.parameters import CALLBACK, COMMON, Rule, is_real, one_of
from slackwater.solvers.averaging import AVERAGES
from slackwater.solvers.basins import OneBasin, TwoBasins
from slackwater.solvers.sbp import StochasticBatchPerceptron

NU = Rule(
    lambda v: is_real(v) and 0 <= v <= 1e9,
    "a number from 0 to 1e9",
    "nu is the average slack per example; 0 means hard margin.",
)


class SBPClassifier(KernelClassifier):
    r"""Kernel SVM by the Stochastic Batch Perceptron, one exact step at a time.

    Solves the slack-constrained problem

    .. math::
        \max_{\|w\| \le 1,\ \xi \succeq 0}\ \min_i\ (y_i \langle w, \Phi(x_i) \rangle + \xi_i)
        \quad\text{subject to}\quad \sum_i \omega_i \xi_i \le \nu \sum_i \omega_i

    and scales w so that the margin is one. Several classes are trained one against the rest over
    shared kernel rows.

    Parameters
    ----------
    nu : float, default=0.01
        Slack allowed on average per unit of weight, where K(x, x) <= 1; 0 is the hard margin.
    kernel : {"rbf", "laplacian", "linear", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable takes two collections of examples, A and B, and returns the len(A) × len(B)
        kernel values.
    gamma : {"scale", "auto"} or float, default="scale"
        Of rbf, laplacian, poly and sigmoid. "scale" is 1 / (n_features · variance of X), "auto" 1 /
        n_features, whatever the weights.
    degree : int, default=3
        Of poly.
    coef0 : float, default=0.0
        Of poly and sigmoid.
    fit_intercept : bool, default=False
        Learn an unregularised bias; a step then takes one example of each class and two kernel
        rows.
    class_weight : dict or "balanced", optional
        Multiplies the sample weights of each class; "balanced" counts rows, not their weights.
    tol : float, default=0.05
        Stop at this relative duality gap, ``gap_``.
    max_iter : int, default=10000
        Stop after this many steps (of each binary problem); -1 sets no limit.
    max_time : float, optional
        Stop after this many seconds.
    max_kernel_evals : int, optional
        Stop before computing more kernel values than this in one call of ``fit``.
    early_stopping : bool, default=False
        Hold out ``validation_fraction`` of the rows; stop when the error on them has not improved
        at ``n_iter_no_change`` assessments, which lie ever further apart, about a sixteenth of the
        steps made so far.
    validation_fraction : float, default=0.1
        The part of the rows that ``early_stopping`` holds out.
    n_iter_no_change : int, default=10
        Assessments without improvement after which ``early_stopping`` ends a fit.
    cache_size : float, default=200
        Memory for kernel rows, in MB; copies of X and at most 96 MB come on top. It changes the
        time, not the model (but for rounding).
    warm_start : bool, default=False
        Let ``fit`` on the same data go on from where the last one stopped, also with another
        ``nu``. ``max_iter`` then counts the further steps.
    checkpoint : path, optional
        File in which the training state is kept, and from which a fit with the same data and
        parameters resumes. ``max_iter`` then counts all steps.
    decision_function_shape : {"ovr"}, default="ovr"
        One column for each class.
    n_jobs : int, optional
        Threads; None uses as many as BLAS is set to use, -1 all processors.
    verbose : int, default=0
        1 shows a line of progress in a terminal or a notebook, and nothing in a pipe; 2 a line now
        and then there.
    random_state : int, RandomState or None, default=None
        Same seed and settings, same model. None means 0: unseeded fits are identical.
    average : {"uniform", "suffix", "last"}, default="uniform"
        The model is the mean of all iterates, as in the paper, of the later half to three quarters
        of them, or the last one.
    callback : callable, optional
        Called after every step with a ``slackwater.callbacks.Moment``: ``step``, ``evaluations``,
        ``seconds``, and ``model()``, which makes the current model. If it returns True, training
        ends. Nothing else that it does changes the model, and its time is not counted.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_, n_support_, classes_, n_features_in_, coef_ (linear)
        As in scikit-learn's SVC, but ``dual_coef_`` and ``intercept_`` have a row for each class
        against the rest.
    margin_ : float, or ndarray of shape (n_classes,)
        Objective value reached: a lower bound on the optimum.
    gap_ : float, or ndarray of shape (n_classes,)
        Certified relative gap: one less ``margin_`` / (upper bound on the optimum).
    slack_nu_ : float, or ndarray of shape (n_classes,)
        Average hinge loss of the model divided by its norm.
    n_iter_, n_kernel_evals_ : int
        Steps made, kernel values computed for them (testing a callable, sigmoid or precomputed
        kernel takes up to 4096 more). With ``warm_start`` both count from the first of the fits
        that were continued.
    stop_reason_ : str
        "tol", "early_stopping", "max_iter", "max_kernel_evals", "max_time", "callback" or
        "interrupted": after Ctrl-C ``fit`` raises KeyboardInterrupt, and the model reached is kept.
    history_ : History, a dict of ndarray
        Prints as a table; ``history_.to_pandas()`` is a data frame. One entry for each assessment
        of the model on the way: problem, step, evaluations, seconds, objective, bound, gap, margin,
        n_support, holdout_error (nan without a hold-out part), violation.

    References
    ----------
    A. Cotter, S. Shalev-Shwartz, N. Srebro: The Kernelized Stochastic Batch Perceptron. ICML 2012,
    arXiv:1204.0566.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from slackwater import SBPClassifier
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = SBPClassifier(nu=0.02, gamma=2.0, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "nu": NU,
        "average": one_of(tuple(AVERAGES), "It says which iterates the model is the mean of."),
        **COMMON,
        **CALLBACK,
    }

    def __init__(
        self,
        nu: float = 0.01,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = False,
        class_weight: Any = None,
        tol: float = 0.05,
        max_iter: int = 10_000,
        max_time: float | None = None,
        max_kernel_evals: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        cache_size: float = 200,
        warm_start: bool = False,
        checkpoint: Any = None,
        decision_function_shape: str = "ovr",
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
        average: str = "uniform",
        callback: Callable[[Moment], Any] | None = None,
    ) -> None:
        self.nu = nu
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
        self.average = average
        self.callback = callback

    def _solver(self, n_classes: int) -> StochasticBatchPerceptron:
        return StochasticBatchPerceptron(
            nu=float(self.nu), basins=TwoBasins() if self.fit_intercept else OneBasin(), average=self.average
        )
