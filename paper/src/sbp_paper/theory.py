"""What the paper proves about the methods it compares (arXiv:1204.0566, Table 1 and Appendices D and E).

The question is always the same: some predictor u, not known, has the norm ‖u‖ and the expected hinge loss L(u). How
many kernel evaluations does a method need to find a predictor whose expected 0/1 loss is at most L(u) + ε? Answers are
orders: constants, logarithms and the dependence on the probability of failure are left out, so that ratios and growth
mean something and single values do not. With q = (L(u) + ε)/ε and r² = max K(x, x):

=====================  ==================  ====================  ===============
method                 kernel evaluations  support vectors       where
=====================  ==================  ====================  ===============
sbp                    q³ r³ ‖u‖⁴ / ε      q² r² ‖u‖²            Theorem D.2
perceptron             q³ r⁴ ‖u‖⁴ / ε      q² r² ‖u‖²            Theorem D.4
dual_decomposition     q² r² ‖u‖⁴ / ε²     q r ‖u‖² / ε          Section 4.3
sgd (norm ball)        q r³ ‖u‖⁴ / ε³      r² ‖u‖² / ε²          Section 4.2
pegasos                the less of q² r³ ‖u‖⁴ / ε³ (Theorem D.3) and r⁴ ‖u‖⁴ / ε⁴ (one pass);  r² ‖u‖² / ε²
sdca                   q² r² ‖u‖⁶ / ε⁴     q r ‖u‖² / ε          Section 4.4
=====================  ==================  ====================  ===============
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple


class LearningRuntime(NamedTuple):
    """Orders of what a method needs to learn to within ε of L(u)."""

    examples: float  # n, the training examples
    iterations: float
    kernel_evaluations: float
    support: float  # at most so many of the examples are support vectors


class _Target(NamedTuple):
    loss: float  # L(u)
    norm: float  # ‖u‖
    epsilon: float
    radius: float  # r

    @property
    def ease(self) -> float:
        """q = (L(u) + ε)/ε: about 1 where a constant factor over L(u) is good enough."""
        return (self.loss + self.epsilon) / self.epsilon

    @property
    def sample(self) -> float:
        """The examples that suffice if ‖w‖ <= 2‖u‖ (Lemma D.1): q r ‖u‖²/ε."""
        return self.ease * self.radius * self.norm**2 / self.epsilon

    @property
    def gradient_steps(self) -> float:
        """Steps of subgradient descent to within ε of the loss: r² ‖u‖²/ε²."""
        return (self.radius * self.norm / self.epsilon) ** 2


def _sbp(t: _Target) -> LearningRuntime:
    steps = (t.ease * t.radius * t.norm) ** 2
    return LearningRuntime(t.sample, steps, t.sample * steps, steps)


def _perceptron(t: _Target) -> LearningRuntime:
    examples = t.ease * (t.radius * t.norm) ** 2 / t.epsilon
    mistakes = (t.ease * t.radius * t.norm) ** 2
    return LearningRuntime(examples, examples, examples * mistakes, mistakes)


def _dual_decomposition(t: _Target) -> LearningRuntime:
    return LearningRuntime(t.sample, t.sample, t.sample**2, t.sample)


def _sgd(t: _Target) -> LearningRuntime:
    return LearningRuntime(t.sample, t.gradient_steps, t.sample * t.gradient_steps, t.gradient_steps)


def _pegasos(t: _Target) -> LearningRuntime:
    # Its ‖w‖² is bounded by q‖u‖² only (eq. D.4), which takes q times as many examples; or each example is used once.
    examples = t.ease * t.sample
    batch = LearningRuntime(examples, t.gradient_steps, examples * t.gradient_steps, t.gradient_steps)
    online = LearningRuntime(t.gradient_steps, t.gradient_steps, t.gradient_steps**2, t.gradient_steps)
    return min(batch, online, key=lambda bound: bound.kernel_evaluations)


def _sdca(t: _Target) -> LearningRuntime:
    # n/(λε) iterations with λ = ε/‖u‖²: n times Pegasos'. The authors suspect that this is not tight.
    steps = t.sample * (t.norm / t.epsilon) ** 2
    return LearningRuntime(t.sample, steps, t.sample * steps, t.sample)


METHODS: dict[str, Callable[[_Target], LearningRuntime]] = {
    "sbp": _sbp,
    "perceptron": _perceptron,
    "dual_decomposition": _dual_decomposition,
    "sgd": _sgd,
    "pegasos": _pegasos,
    "sdca": _sdca,
}


def learning_runtime(method: str, loss: float, norm: float, epsilon: float, radius: float = 1.0) -> LearningRuntime:
    """Orders of examples, iterations, kernel evaluations and support vectors that a method needs.

    Parameters
    ----------
    method : {"sbp", "perceptron", "dual_decomposition", "sgd", "pegasos", "sdca"}
    loss : float
        L(u) >= 0, the expected hinge loss of the predictor to compete with.
    norm : float
        ‖u‖ > 0.
    epsilon : float
        ε > 0, by how much the error found may exceed ``loss``.
    radius : float, default=1.0
        r, the largest K(x, x)^1/2.

    Examples
    --------
    To halve ε where it is as large as L(u) costs the SBP twice as much and descent on the loss eight times:

    >>> from sbp_paper.theory import learning_runtime
    >>> def growth(method):
    ...     fine, coarse = (learning_runtime(method, 0.0, 10.0, e).kernel_evaluations for e in (0.01, 0.02))
    ...     return round(fine / coarse, 6)
    >>> growth("sbp"), growth("dual_decomposition"), growth("sgd")
    (2.0, 4.0, 8.0)
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    for name, value, holds, rule in (
        ("loss", loss, 0.0 <= loss < math.inf, ">= 0"),
        ("norm", norm, 0.0 < norm < math.inf, "> 0"),
        ("epsilon", epsilon, 0.0 < epsilon < math.inf, "> 0"),
        ("radius", radius, 0.0 < radius < math.inf, "> 0"),
    ):
        if not holds:
            raise ValueError(f"{name} must be a number {rule}, got {value!r}.")
    return METHODS[method](_Target(loss, norm, epsilon, radius))


def mistake_bound(total_loss: float, norm: float, radius: float = 1.0) -> float:
    """Most mistakes the online Perceptron can make in a pass (eq. D.7): Λ + r‖u‖√Λ + r²‖u‖².

    Λ is the sum of u's hinge losses over the examples of the pass, for any u of that norm; where u separates them with
    margin 1, Λ = 0 and the bound is (r‖u‖)². It holds for the mistakes of a pass that begins with w = 0.
    """
    reach = radius * norm
    return total_loss + reach * math.sqrt(total_loss) + reach**2


def dual_accuracy_needed(primal_accuracy: float, lam: float) -> float:
    """How accurate a dual solution must be to guarantee a primal accuracy: λ ε²/118 (Theorem E.2).

    The guarantee cannot be much better in general: for every ε there are problems with a dual solution, zero, that is
    ε-accurate and whose w, zero, is off by 1 - ε in the primal (Lemma E.1). Hence certified gaps, not dual values.
    """
    return lam * primal_accuracy**2 / 118.0
