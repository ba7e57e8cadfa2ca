"""Stochastic subgradient descent on the hinge loss: with a regulariser, or within a ball."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from slackwater.estimators.baselines.common import ROW_RULES, TOL, RowBaseline
from slackwater.estimators.parameters import Rule, flag, one_of, positive
from slackwater.solvers.averaging import AVERAGES
from slackwater.solvers.norm_ball import NormBallDescent
from slackwater.solvers.pegasos import Pegasos

_AVERAGE = {"average": one_of(tuple(AVERAGES), "It says which iterates the model is the mean of.")}


@dataclass(eq=False, repr=False)
class PegasosClassifier(RowBaseline):
    r"""Kernel SVM by Pegasos, stochastic subgradient descent on the regularised objective.

    .. math::
        \min_w\ \tfrac{\lambda}{2} \|w\|^2
            + \frac{1}{W} \sum_i \omega_i \max(0,\ 1 - y_i \langle w, \Phi(x_i) \rangle)

    Step t draws an example in proportion to its weight, multiplies w by 1 - 1/t and, if the example violates its
    margin, adds y_i Φ(x_i)/(λt). There is no bias: subgradient steps do not naturally handle one.

    **A step costs** n kernel evaluations if the example drawn violates its margin, and none otherwise.

    Parameters
    ----------
    alpha : float, default=1e-3
        λ, named as in scikit-learn's SGDClassifier, whose objective this is. In terms of an SVC's C it is 1/(C·W), W
        the sum of the weights, which is the number of rows without weights.
    project : bool, default=False
        Project w on the ball of radius 1/√λ, which holds the optimum, after each step.
    average : {"last", "uniform", "suffix"}, default="last"
        The model is the last iterate, as published, the mean of all of them, or of the later half to three quarters.
    tol : float, default=0.05
        Stop at this relative gap, ``gap_``. The dual point is what the iterates give: the bound closes slowly.
    max_iter : int, default=20000
        Stop after this many steps (of each binary problem); -1 sets no limit.
    kernel, gamma, degree, coef0, class_weight, max_time, max_kernel_evals, early_stopping
        As in ``SBPClassifier``.
    validation_fraction, n_iter_no_change, cache_size, warm_start, checkpoint, n_jobs, verbose
        As in ``SBPClassifier``.
    random_state, callback
        As in ``SBPClassifier``.

    Attributes
    ----------
    gap_ : float, or ndarray of shape (n_classes,)
        Certified relative gap 1 - bound/objective, by the coefficients scaled until they are feasible in the dual.
    margin_ : float, or ndarray of shape (n_classes,)
        1 / ‖w‖.
    slack_nu_ : float, or ndarray of shape (n_classes,)
        Mean hinge loss divided by ‖w‖.
    support_, support_vectors_, dual_coef_, intercept_ (0), n_support_, classes_, n_features_in_
        As in ``SBPClassifier``.
    coef_ (linear), n_iter_, n_kernel_evals_, stop_reason_, history_
        As in ``SBPClassifier``.

    References
    ----------
    S. Shalev-Shwartz, Y. Singer, N. Srebro, A. Cotter: Pegasos: Primal Estimated sub-GrAdient SOlver for SVM.
    Mathematical Programming 127, 2011.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from slackwater.baselines import PegasosClassifier
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = PegasosClassifier(alpha=1 / 200, gamma=2.0, max_iter=10_000, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    alpha: float = 1e-3
    _: KW_ONLY
    project: bool = False
    average: str = "last"
    tol: float = 0.05
    max_iter: int = 20_000

    _rules: ClassVar[Mapping[str, Rule]] = {
        "alpha": positive("It is the weight λ of ½‖w‖² beside the mean loss; 1/(C·n) in terms of an SVC's C."),
        "project": flag("True projects on the ball of radius 1/√λ after each step."),
        **_AVERAGE,
        **TOL,
        **ROW_RULES,
    }

    def _solver(self, n_classes: int) -> Pegasos:
        return Pegasos(average=self.average, regularisation=float(self.alpha), project=bool(self.project))


@dataclass(eq=False, repr=False)
class NormBallSGDClassifier(RowBaseline):
    r"""Kernel SVM by stochastic subgradient descent on the hinge loss within a ball.

    .. math::
        \min_{\|w\| \le B}\ \frac{1}{W} \sum_i \omega_i \max(0,\ 1 - y_i \langle w, \Phi(x_i) \rangle)

    Step t draws an example in proportion to its weight; if it violates its margin, w moves by B/(r√t) towards it,
    r² = max K(x, x), and is projected on the ball. There is no bias.

    **A step costs** n kernel evaluations if the example drawn violates its margin, and none otherwise; r costs n once
    where K(x, x) is not 1 by formula.

    Parameters
    ----------
    radius : float, default=10.0
        B. An SVC's optimum w* is also that of this problem with B = ‖w*‖.
    average : {"uniform", "suffix", "last"}, default="uniform"
        The model is the mean of all iterates, of the later half to three quarters of them, or the last one.
    tol : float, default=0.05
        Stop at this relative gap, ``gap_``.
    max_iter : int, default=20000
        Stop after this many steps (of each binary problem); -1 sets no limit.
    kernel, gamma, degree, coef0, class_weight, max_time, max_kernel_evals, early_stopping
        As in ``SBPClassifier``.
    validation_fraction, n_iter_no_change, cache_size, warm_start, checkpoint, n_jobs, verbose
        As in ``SBPClassifier``.
    random_state, callback
        As in ``SBPClassifier``.

    Attributes
    ----------
    gap_ : float, or ndarray of shape (n_classes,)
        Certified relative gap 1 - bound/objective, by the coefficients scaled until they are feasible in the dual.
    margin_, slack_nu_
        1 / ‖w‖, and the mean hinge loss divided by ‖w‖.
    support_, support_vectors_, dual_coef_, intercept_ (0), n_support_, classes_, n_features_in_
        As in ``SBPClassifier``.
    coef_ (linear), n_iter_, n_kernel_evals_, stop_reason_, history_
        As in ``SBPClassifier``.

    References
    ----------
    M. Zinkevich: Online Convex Programming and Generalized Infinitesimal Gradient Ascent. ICML 2003.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from slackwater.baselines import NormBallSGDClassifier
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = NormBallSGDClassifier(radius=8.0, gamma=2.0, tol=0.2, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    radius: float = 10.0
    _: KW_ONLY
    average: str = "uniform"
    tol: float = 0.05
    max_iter: int = 20_000

    _rules: ClassVar[Mapping[str, Rule]] = {
        "radius": positive("It is the largest norm that w may have."),
        **_AVERAGE,
        **TOL,
        **ROW_RULES,
    }

    def _solver(self, n_classes: int) -> NormBallDescent:
        return NormBallDescent(average=self.average, ball=float(self.radius))
