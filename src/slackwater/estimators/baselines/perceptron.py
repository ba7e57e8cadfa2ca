"""The online Perceptron as an estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from slackwater.estimators.baselines.common import KERNEL_RULES, KernelBaseline
from slackwater.estimators.parameters import Rule, is_whole, one_of, whole_from
from slackwater.fitting.result import AnyBinaryResult
from slackwater.solvers.perceptron import CONVERSIONS, Perceptron
from slackwater.stopping import MaxEpochs, StoppingRule, ViolationBelow


@dataclass(eq=False, repr=False)
class KernelPerceptron(KernelBaseline):
    r"""The online Perceptron with a kernel: passes over the examples, adding each on which w errs.

    It is no optimiser of an SVM's objective and certifies nothing, but one pass has the same learning guarantee as the
    SBP. Further passes may overfit. Examples are passed through in random order; one of weight ω is added ω times. Rows
    that are equal, and of one class, are one example.

    **A step costs** one kernel evaluation for each support vector so far, whether or not w errs. Nothing is kept for
    later: a further pass pays again.

    Parameters
    ----------
    epochs : int, default=1
        Passes over the examples. Training also ends after a pass without mistakes (``stop_reason_`` "tol"): from then
        on w would not change any more.
    average : {"averaged", "sampled", "last"}, default="averaged"
        How a model is made of the iterates: their mean; the iterate before a step drawn at random, as in the paper's
        theorem (which can be w = 0, of no use, with probability 1/steps); or the last one.
    max_iter : int, optional
        Stop after this many steps at the latest; a step is an example.
    kernel, gamma, degree, coef0, class_weight, max_time, max_kernel_evals, early_stopping
        As in ``SBPClassifier``. A hold-out part costs one evaluation more for each of its rows and mistake, not counted
        in ``n_kernel_evals_``. With ``warm_start`` ``epochs`` counts all passes.
    validation_fraction, n_iter_no_change, warm_start, checkpoint, n_jobs, verbose, random_state
        As in ``SBPClassifier``. A hold-out part costs one evaluation more for each of its rows and mistake, not counted
        in ``n_kernel_evals_``. With ``warm_start`` ``epochs`` counts all passes.
    callback
        As in ``SBPClassifier``. A hold-out part costs one evaluation more for each of its rows and mistake, not counted
        in ``n_kernel_evals_``. With ``warm_start`` ``epochs`` counts all passes.

    Attributes
    ----------
    gap_, margin_, slack_nu_
        nan: not known.
    history_ : dict of ndarray
        As in ``SBPClassifier``; "objective" is the share of mistakes among all steps so far, which the theorem bounds,
        "violation" the mistakes of the last complete pass.
    stop_reason_ : str
        "epochs", "tol" (a pass without mistakes), or a budget.
    support_, support_vectors_, dual_coef_, intercept_ (0), n_support_, classes_, n_features_in_
        As in ``SBPClassifier``.
    coef_ (linear), n_iter_, n_kernel_evals_
        As in ``SBPClassifier``.

    References
    ----------
    F. Rosenblatt: The Perceptron. Psychological Review 65, 1958. Its guarantee: arXiv:1204.0566, Theorem D.4.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from slackwater.baselines import KernelPerceptron
    >>> X, y = make_moons(400, noise=0.2, random_state=0)
    >>> model = KernelPerceptron(gamma=2.0, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9), model.stop_reason_
    (True, 'epochs')
    """

    epochs: int = 1
    _: KW_ONLY
    average: str = "averaged"
    max_iter: int | None = None

    _rules: ClassVar[Mapping[str, Rule]] = {
        **KERNEL_RULES,
        "epochs": whole_from(1, "It is the number of passes over the examples."),
        "average": one_of(tuple(CONVERSIONS), "It says how a model is made of the iterates."),
        "max_iter": Rule(
            lambda v: v is None or (is_whole(v) and v >= 1),
            "a whole number >= 1 or None",
            "It limits the number of steps; None sets no limit beside epochs.",
        ),
    }
    tol: ClassVar[float] = 0.0  # mistakes in a pass
    cache_size: ClassVar[float] = 0  # whole rows are never asked for

    def _solver(self, n_classes: int) -> Perceptron:
        return Perceptron(self.average)

    def _goals(self, tol: float) -> list[StoppingRule]:
        return [ViolationBelow(tol), MaxEpochs(self.epochs)]

    def _or_else(self) -> str:
        return ""

    def _shortfall(self, results: Sequence[AnyBinaryResult]) -> str:
        steps = min(result.steps for result in results)
        return f"after {steps} steps, before the end of {self.epochs} passes over the examples"
