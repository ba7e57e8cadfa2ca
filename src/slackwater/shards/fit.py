"""How a model is trained over shards: by the exact strategy or in a subspace, each binary problem as a sample tells."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from slackwater.callbacks import Model, joined
from slackwater.expansion import Expansion
from slackwater.fitting.context import FitContext
from slackwater.fitting.result import BinaryResult, FitResult, Models, PairModels, result_of
from slackwater.fitting.strategies import subspace
from slackwater.fitting.strategies.exact import NAME as EXACT
from slackwater.fitting.train import train
from slackwater.gram.ledger import EvaluationLedger
from slackwater.shards.choice import Accepted, choose
from slackwater.shards.messages import Doubles
from slackwater.shards.session import Session
from slackwater.shards.solver import ShardedProblem, ShardedRows
from slackwater.shards.subspace import fit_subspace
from slackwater.solvers.drive import Task


@dataclass(frozen=True)
class ShardedSet:
    """What a fit over shards trains on: the part of a ``TrainingSet`` that the training loop asks for."""

    session: Session
    all_problems: list[ShardedProblem]
    n: int
    certified: bool = True
    features: None = None
    kept: None = None  # examples have ids instead

    @property
    def rows(self) -> ShardedRows:
        return ShardedRows(self.session, self.n)

    @property
    def ledger(self) -> EvaluationLedger:
        return self.session.ledger

    def problems(self, n_classes: int) -> list[ShardedProblem]:
        """All of them, whatever they are about."""
        return self.all_problems

    def identify(self) -> str:
        """A digest of everything that a training state belongs to, how the data are cut into shards included."""
        kernel = self.session.plan.kernel
        return f"{kernel.name} {sorted(kernel.parameters().items())} {' '.join(self.session.call_all('digest'))}"


def problems_of(n_classes: int, in_pairs: bool) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Classes and labels of each binary problem: of two classes the second is positive, of a pair the first."""
    if n_classes == 2:
        return (((0, -1), (1, 1)),)
    if in_pairs:
        return tuple(((a, 1), (b, -1)) for a in range(n_classes) for b in range(a + 1, n_classes))
    return tuple(tuple((code, 1 if code == each else -1) for code in range(n_classes)) for each in range(n_classes))


class Support(NamedTuple):
    """The support vectors of a model, in the order of their row numbers within each class."""

    row_numbers: NDArray[np.intp]
    codes: NDArray[np.intp]
    weights: Doubles


def fit(context: FitContext) -> FitResult:
    """Train a model for each binary problem: exactly from scratch, or as a sample of each suggests."""
    tolerance, stated = context.settings.tolerance, context.stopping.tol
    if stated is not None or _only_exact(context):
        _tell_exact(context)
        result = train(context, tolerance.exact_gap if stated is None else stated, context.training_set)
        return result._replace(strategy=EXACT, decisions=context.decisions)
    return _by_samples(context)


def _only_exact(context: FitContext) -> bool:
    """Whether nothing but the exact strategy from scratch is asked for, possible or worth it."""
    sharded = cast("Any", context.training_set)
    counted = context.persistence.used or sharded.ledger.limit is not None
    held_out = any(problem.held_out > 0.0 for problem in sharded.all_problems)
    if context.strategy == subspace.NAME:
        if counted or held_out:
            raise ValueError(
                "strategy='subspace' cannot serve this fit: it keeps no state, counts no kernel evaluations in advance "
                "and holds out no examples. Use strategy='auto' or 'exact'."
            )
        return False
    largest = max(problem.n for problem in sharded.all_problems)
    if context.strategy == EXACT or counted or held_out:
        return True
    return context.decide(EXACT, "examples", largest, "<", context.settings.min_examples)


def _by_samples(context: FitContext) -> FitResult:
    """Each problem by a subspace, or exactly from its sample's solution; the latter all together."""
    sharded = cast("Any", context.training_set)
    session, solver = sharded.session, context.solver
    results: dict[int, BinaryResult] = {}
    tasks: list[Task] = []
    for problem in sharded.all_problems:
        alone = _among_others(context, results, [problem.number])
        found = choose(alone, session, problem, context.seed)
        if isinstance(found, Accepted):
            results[problem.number] = fit_subspace(alone, session, problem, found)
            continue
        state = solver.start(problem, np.random.default_rng(context.seed))
        if len(found.support):
            state.support, state.turn, state.step = found.support, math.inf, found.steps
        tasks.append(Task(problem.number, problem, state, context.stopping.rules(found.tol)))
    if tasks:
        _tell_exact(context)
        together = _among_others(context, results, [task.number for task in tasks])
        together.run_loop(tasks, context.training_set)
        results.update({task.number: result_of(solver, task) for task in tasks})
    ordered = [results[number] for number in sorted(results)]
    names = [subspace.NAME] * (len(ordered) > len(tasks)) + [EXACT] * bool(tasks)
    strategy = ", ".join(sorted(names))
    return FitResult(ordered, context.recorder, strategy=strategy, decisions=context.decisions)


def _tell_exact(context: FitContext) -> None:
    sharded = cast("Any", context.training_set)
    context.stage(f"exact, {sharded.n:,} examples on {sharded.session.transport.count} shards")


def _among_others(context: FitContext, results: dict[int, BinaryResult], numbers: Sequence[int]) -> FitContext:
    """The fit of some problems, whose models are shown together with those of the others, as far as there are any."""
    watch, count = context.watch, len(cast("Any", context.training_set).all_problems)
    if watch is None or len(numbers) == count:
        return context
    nothing = Expansion(np.empty(0, np.intp), np.empty(0), 0.0)

    def shown(step: int, evaluations: int, seconds: float, models: Callable[[], Models]) -> bool:
        def everyone() -> Models:
            known = {number: each.expansion for number, each in results.items()}
            known.update(zip(numbers, cast("Sequence[Expansion]", models()), strict=True))
            return [known.get(number, nothing) for number in range(count)]

        return watch(step, evaluations, seconds, everyone)

    return replace(context, watch=shown)


def support_of(expansions: Sequence[Expansion], session: Session) -> tuple[Support, Model]:
    """The support vectors, and the models over them by their places: those of pairs as LIBSVM keeps them."""
    joint = joined(expansions)
    row_numbers, codes, weights = session.describe(joint.support.astype(np.int64))
    order = np.lexsort((row_numbers, codes))
    support = Support(row_numbers[order], codes[order], weights[order])
    plan, places = session.plan, np.arange(len(order))
    if plan.n_classes == 2 or len(plan.problems[0]) > 2:
        return support, Model(places, joint.dual_coef[:, order], joint.intercept)
    models = PairModels.none(plan.n_classes, len(order))
    for number, ((first, _), (second, _)) in enumerate(plan.problems):
        coefficients = joint.dual_coef[number, order]
        used = np.flatnonzero(coefficients)
        models.put(first, second, support.codes, used, coefficients[used], float(joint.intercept[number]))
    return support, Model(places, models.coefficients, models.biases)
