"""The online Perceptron (arXiv:1204.0566, Section 4.5 and Appendix D.3), kernelised.

Examples are passed through in random order. Where w errs, y_i <w, Φ(x_i)> <= 0, y_i Φ(x_i) is added to it (ω_i times).
A pass makes an online algorithm; a model comes of it by a conversion: the iterate before a step drawn at random, which
is what the paper's theorem is about, the mean of all iterates, or the last one.

**An iteration costs** one kernel evaluation for each support vector so far, whether or not w errs. The responses of
other examples are not known, so nothing is certified: what is known for nothing is the share of mistakes. A hold-out
part costs one evaluation for each of its examples and mistake, in the account of looking on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater.expansion import Expansion
from slackwater.gram.source import RowBlock
from slackwater.objectives import weighted_error
from slackwater.problem import Problem
from slackwater.solvers.averaging import LazyCoefficients
from slackwater.solvers.base import Assessment, Outlook, due_ever_further_apart

Floats = NDArray[np.float64]
_NONE = np.empty(0, dtype=np.intp)


@dataclass
class Tracked:
    """A quantity that is linear in w, and what it was at the sampled iterate. Mutated in place."""

    now: LazyCoefficients
    sampled: Floats

    @staticmethod
    def zeros(n: int) -> Tracked:
        return Tracked(LazyCoefficients.zeros(n), np.zeros(n))


@dataclass
class PerceptronState:
    """Everything the next step needs; mutated in place."""

    step: int
    order: NDArray[np.intp]  # of the examples in this pass
    position: int
    passes: int
    support: NDArray[np.intp]
    coefficients: Tracked  # y_i times how often, by weight, w erred on example i
    holdout: Tracked  # <w, Φ(x_i)> of the hold-out examples
    erred: bool  # on the example of the step being made, from draw to apply
    mistakes: int
    mistakes_before: int  # when the pass began
    last_pass: float  # mistakes of the last complete pass
    orders: np.random.Generator
    samples: np.random.Generator


def _last(tracked: Tracked, step: int) -> Floats:
    return tracked.now.current()


def _mean(tracked: Tracked, step: int) -> Floats:
    return tracked.now.total() / max(step, 1)


def _sampled(tracked: Tracked, step: int) -> Floats:
    return tracked.sampled


CONVERSIONS: dict[str, Callable[[Tracked, int], Floats]] = {"sampled": _sampled, "averaged": _mean, "last": _last}


@dataclass(frozen=True)
class Perceptron:
    average: str = "averaged"

    @property
    def rows_a_step(self) -> int:
        return 0  # whole rows are never needed

    def outlook(self, problem: Problem, state: PerceptronState) -> Outlook:
        """After a pass without mistakes w does not change any more: the mistakes of a pass are what is left to do."""
        return Outlook(len(state.support), violation=state.last_pass, passes=state.passes)

    def due(self, step: int) -> bool:
        return due_ever_further_apart(step)

    def start(self, problem: Problem, rng: np.random.Generator) -> PerceptronState:
        orders, samples = rng.spawn(2)
        return PerceptronState(
            step=0,
            order=orders.permutation(problem.all_examples.members),
            position=0,
            passes=0,
            support=_NONE,
            coefficients=Tracked.zeros(problem.n),
            holdout=Tracked.zeros(len(_held_out(problem))),
            erred=False,
            mistakes=0,
            mistakes_before=0,
            last_pass=math.inf,
            orders=orders,
            samples=samples,
        )

    def draw(self, problem: Problem, state: PerceptronState) -> NDArray[np.intp]:
        """Ask for the kernel values of the next example with the support alone; no whole row is needed."""
        index = state.order[state.position]
        values = problem.rows.rows(state.order[state.position : state.position + 1], state.support)[0]
        signed = state.coefficients.now.values[state.support]
        state.erred = bool(problem.labels[index] * (signed @ values) <= 0.0)
        return _NONE

    def foresee(self, problem: Problem, state: PerceptronState, most: int) -> NDArray[np.intp]:
        return _NONE

    def apply(self, problem: Problem, state: PerceptronState, indices: NDArray[np.intp], rows: RowBlock) -> None:
        self._perhaps_sample(state)
        if state.erred:
            self._add(problem, state, int(state.order[state.position]))
        state.coefficients.now.end_step(1.0)
        state.holdout.now.end_step(1.0)
        state.step += 1
        state.position += 1
        if state.position == len(state.order):
            self._begin_pass(problem, state)

    def assess(self, problem: Problem, state: PerceptronState) -> Assessment:
        holdout = problem.holdout
        error = None
        if holdout is not None:
            part = _held_out(problem)
            labels = problem.labels[part]
            values = CONVERSIONS[self.average](state.holdout, state.step)
            error = weighted_error(labels * values, labels, 0.0, holdout[part])
        coefficients = CONVERSIONS[self.average](state.coefficients, state.step)
        return Assessment(
            objective=state.mistakes / max(state.step, 1),
            bound=math.nan,
            gap=math.nan,
            margin=math.nan,
            slack_nu=math.nan,
            n_support=int(np.count_nonzero(coefficients)),
            holdout_error=error,
            violation=state.last_pass,
        )

    def remember(self, state: PerceptronState, assessment: Assessment) -> None:
        """Nothing: there is no bound."""

    def expansion(self, problem: Problem, state: PerceptronState) -> Expansion:
        return Expansion.from_dense(CONVERSIONS[self.average](state.coefficients, state.step), 0.0)

    def continued(self, state: PerceptronState) -> PerceptronState:
        return state

    def _perhaps_sample(self, state: PerceptronState) -> None:
        """Keep the iterate before this step with probability 1/t: each of the first t is kept equally often."""
        if state.samples.random() * (state.step + 1) < 1.0:
            for tracked in (state.coefficients, state.holdout):
                tracked.sampled = tracked.now.current()

    def _add(self, problem: Problem, state: PerceptronState, index: int) -> None:
        amount = float(problem.labels[index]) * (1.0 if problem.weights is None else float(problem.weights[index]))
        if state.coefficients.now.values[index] == 0.0:
            state.support = np.append(state.support, index)
        state.coefficients.now.add(index, amount)
        state.mistakes += 1
        part = _held_out(problem)
        if len(part):
            with problem.rows.ledger.charging("score"):
                row = problem.rows.rows(np.array([index]), part)[0]
            state.holdout.now.add_all(amount * row)

    def _begin_pass(self, problem: Problem, state: PerceptronState) -> None:
        state.passes += 1
        state.last_pass = float(state.mistakes - state.mistakes_before)
        state.mistakes_before = state.mistakes
        state.order = state.orders.permutation(problem.all_examples.members)
        state.position = 0


def _held_out(problem: Problem) -> NDArray[np.intp]:
    return _NONE if problem.holdout is None else np.flatnonzero(problem.holdout)
