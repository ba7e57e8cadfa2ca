"""Methods that ascend in the dual of the C-form: random coordinates, or the pair that violates optimality most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from slackwater.estimators.baselines.common import ROW_RULES, TOL, RowBaseline
from slackwater.estimators.parameters import COMMON, Rule, positive
from slackwater.fitting.result import AnyBinaryResult
from slackwater.solvers.sdca import SDCA
from slackwater.solvers.smo import SMO, SMOPairs, SMOSingles
from slackwater.stopping import StoppingRule, ViolationBelow

_C = {"C": positive("It is what a unit of hinge loss costs.")}


@dataclass(eq=False, repr=False)
class SDCAClassifier(RowBaseline):
    r"""Kernel SVM by stochastic dual coordinate ascent: a coefficient drawn at random is set to its best value.

    .. math::
        \min_w\ \tfrac12 \|w\|^2 + C \sum_i \omega_i \max(0,\ 1 - y_i \langle w, \Phi(x_i) \rangle)

    There is no bias: with one, no coefficient could move alone.

    **A step costs** n kernel evaluations, or none where the coefficient drawn is at its best already.

    Parameters
    ----------
    C : float, default=1.0
        What a unit of hinge loss costs.
    tol : float, default=1e-3
        Stop at this relative gap between primal and dual objective, ``gap_``.
    max_iter : int, default=100000
        Stop after this many steps (of each binary problem); -1 sets no limit.
    kernel, gamma, degree, coef0, class_weight, max_time, max_kernel_evals, early_stopping
        As in ``SBPClassifier``.
    validation_fraction, n_iter_no_change, cache_size, warm_start, checkpoint, n_jobs, verbose
        As in ``SBPClassifier``.
    random_state, callback
        As in ``SBPClassifier``.

    Attributes
    ----------
    gap_, margin_, slack_nu_
        Certified relative gap (primal - dual) / primal; 1 / ‖w‖; mean hinge loss divided by ‖w‖.
    support_, support_vectors_, dual_coef_, intercept_ (0), n_support_, classes_, n_features_in_
        As in ``SBPClassifier``.
    coef_ (linear), n_iter_, n_kernel_evals_, stop_reason_, history_
        As in ``SBPClassifier``.

    References
    ----------
    C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. Keerthi, S. Sundararajan: A Dual Coordinate Descent Method for Large-scale
    Linear SVM. ICML 2008.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from slackwater.baselines import SDCAClassifier
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = SDCAClassifier(C=1.0, gamma=2.0, random_state=0).fit(X, y)
    >>> bool(model.gap_ <= 1e-3), bool(model.score(X, y) > 0.95)
    (True, True)
    """

    C: float = 1.0
    _: KW_ONLY
    tol: float = 1e-3
    max_iter: int = 100_000

    _rules: ClassVar[Mapping[str, Rule]] = {**_C, **TOL, **ROW_RULES}

    def _solver(self, n_classes: int) -> SDCA:
        return SDCA(float(self.C))


@dataclass(eq=False, repr=False)
class SMOClassifier(RowBaseline):
    r"""Kernel SVM by sequential minimal optimisation with second-order working sets and shrinking, as in LIBSVM.

    .. math::
        \min_{w, b}\ \tfrac12 \|w\|^2 + C \sum_i \omega_i \max(0,\ 1 - y_i (\langle w, \Phi(x_i) \rangle + b))

    A step moves two coefficients, or one without bias. Several classes are trained one against the rest.

    **A step costs** n kernel evaluations for each coefficient moved whose row is not in the cache; the diagonal costs n
    once where K(x, x) is not 1 by formula.

    Parameters
    ----------
    C : float, default=1.0
        What a unit of hinge loss costs.
    fit_intercept : bool, default=True
        Learn an unregularised bias.
    tol : float, default=1e-3
        Stop when the optimality conditions are violated by no more than this: the rule of LIBSVM and of scikit-learn's
        SVC. ``gap_`` is certified beside it.
    max_iter : int, default=10000000
        Stop after this many steps (of each binary problem); -1 sets no limit.
    kernel, gamma, degree, coef0, class_weight, max_time, max_kernel_evals, early_stopping
        As in ``SBPClassifier``; chance has a part in the hold-out rows only.
    validation_fraction, n_iter_no_change, cache_size, warm_start, checkpoint, n_jobs, verbose
        As in ``SBPClassifier``; chance has a part in the hold-out rows only.
    random_state, callback
        As in ``SBPClassifier``; chance has a part in the hold-out rows only.

    Attributes
    ----------
    gap_, margin_, slack_nu_
        Certified relative gap (primal - dual) / primal; 1 / ‖w‖; mean hinge loss divided by ‖w‖.
    support_, support_vectors_, dual_coef_, intercept_, n_support_, classes_, n_features_in_
        As in ``SBPClassifier``.
    coef_ (linear), n_iter_, n_kernel_evals_, stop_reason_, history_
        As in ``SBPClassifier``.

    References
    ----------
    J. Platt: Fast Training of Support Vector Machines using Sequential Minimal Optimization. 1998.
    R.-E. Fan, P.-H. Chen, C.-J. Lin: Working Set Selection Using Second Order Information for Training SVM. JMLR 2005.
    I. Steinwart, D. Hush, C. Scovel: Training SVMs Without Offset. JMLR 2011.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from slackwater.baselines import SMOClassifier
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = SMOClassifier(C=1.0, gamma=2.0).fit(X, y)
    >>> bool(model.gap_ <= 1e-3), bool(model.score(X, y) > 0.95)
    (True, True)
    """

    C: float = 1.0
    _: KW_ONLY
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int = 10_000_000

    _rules: ClassVar[Mapping[str, Rule]] = {
        **_C,
        "fit_intercept": COMMON["fit_intercept"],
        "tol": COMMON["tol"]._replace(remedy="It is the violation of the optimality conditions to stop at."),
        **ROW_RULES,
    }

    def _solver(self, n_classes: int) -> SMO:
        kind = SMOPairs if self.fit_intercept else SMOSingles
        return kind(float(self.C), float(self.tol))

    def _goals(self, tol: float) -> list[StoppingRule]:
        return [ViolationBelow(tol)]

    def _shortfall(self, results: Sequence[AnyBinaryResult]) -> str:
        violation = max(result.assessment.violation for result in results)
        return f"with the optimality conditions violated by {violation:.3g}, above tol={self.tol}"
