"""How ``SVC`` is trained: by the first strategy that serves the data, or by the one that the user forces.

The order is low_rank, sparse_kernel, subspace, screening, exact. Where the gap is to be proven (a stated ``tol``), only
low_rank, sparse_kernel and exact are tried. Fits of few examples, and those that keep a state, count kernel evaluations
or hold out examples, are exact. Measurements that speak for or against a strategy are decisions, which users see.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import ModuleType

import numpy as np

from slackwater.deadline import CutShort
from slackwater.fitting import chunking
from slackwater.fitting.audit import Audit
from slackwater.fitting.context import FitContext
from slackwater.fitting.fallback import with_fallbacks
from slackwater.fitting.holdout import Holdout
from slackwater.fitting.result import BinaryResult, FitResult
from slackwater.fitting.sample import NAME as SAMPLE
from slackwater.fitting.sample import Start, stays_in_force
from slackwater.fitting.strategies import continued_subspace, exact, low_rank, screening, sparse_kernel, subspace
from slackwater.fitting.warm_start import WarmStart
from slackwater.fitting.working_set import bytes_for
from slackwater.solvers.stationary import StationaryBlocks

ORDER = (sparse_kernel, subspace, screening, exact)
STRATEGIES = (low_rank.NAME, *(strategy.NAME for strategy in ORDER))
PROVING = (sparse_kernel,)  # a stated gap, before the exact strategy does so from scratch


def fit(context: FitContext) -> FitResult:
    """Train one model for each binary problem."""
    _require_possible(context)
    by_features = low_rank.suits(context)
    if context.training_set.held_out.any() and (by_features or not _keeps_all_responses(context)):
        context.holdout = Holdout(context.training_set, context.n_classes)
        context.training_set = context.holdout.training_set
    context.warm = _warm_start(context)
    context.open_journal()
    if not context.training_set.certified:
        result = _stationary(context)
    else:
        result = (_by_features(context) if by_features else None) or _by_chunking(context) or _by_blocks(context)
    if context.journal is not None:
        context.journal.close(context.clock)
    if context.holdout is not None:
        result = context.holdout.restored(result)
    strategy = result.strategy or exact.NAME
    choice = None if context.choice is None else context.choice._replace(strategy=strategy)
    return result._replace(strategy=strategy, decisions=context.decisions, choice=choice)


def _warm_start(context: FitContext) -> WarmStart | None:
    """The dual point of an earlier model, if there is one, and if the budget of kernel values has room for it."""
    training_set, solver = context.training_set, context.solver
    if context.earlier is None or context.persistence.checkpoint is not None:
        return None
    warm = context.earlier.start(training_set, context.n_classes, solver)
    remaining = training_set.ledger.remaining
    if warm is None or remaining is None:
        return warm
    problems = 1 if context.n_classes == 2 else context.n_classes
    needed = training_set.n * len(warm.support) + problems * solver.least_evaluations(training_set.n)
    return warm if needed <= remaining else None


def _by_chunking(context: FitContext) -> FitResult | None:
    """The exact solution with a kernel matrix in memory; None where that is not possible."""
    n, most = context.training_set.n, context.settings.chunking.max_examples
    other = context.forced and context.strategy != exact.NAME
    if n > most or other or context.hindrance() is not None or context.training_set.held_out.any():
        return None
    features = exact.features_for(context)
    context.decide(exact.NAME, "examples", n, "<=", most)
    if features is None:
        return None
    if context.warm is not None and len(context.warm.support) > context.settings.chunking.max_working_set:
        return None
    first_working_set = bytes_for(min(n, context.settings.chunking.max_at_once), features.points.dtype)
    if first_working_set > features.cache_bytes:
        context.has_room(exact.NAME, "the first working set", first_working_set, features.cache_bytes)
        return None
    return _once(context, lambda: chunking.fit(context, features))


def _by_features(context: FitContext) -> FitResult | None:
    """The exact solution by the features of a linear kernel; None where rounding prevents it."""

    def solve() -> FitResult | None:
        found = low_rank.attempt(context)
        return None if found is None else FitResult(found, context.recorder)

    result = _once(context, solve)
    return None if result is None else result._replace(strategy=low_rank.NAME)


def _once(context: FitContext, solve: Callable[[], FitResult | None]) -> FitResult | None:
    """What is soon solved, or what a checkpoint says that came of it: only its end is kept."""
    kept = None if context.journal is None else context.journal.results()
    if kept is not None:
        return FitResult(kept, context.recorder)
    found = solve()
    if found is not None and context.journal is not None:
        context.journal.keep_results(found.binary_results, context.training_set.n, context.clock)
    return found


def _keeps_all_responses(context: FitContext) -> bool:
    """Whether hold-out examples may be examples of weight zero: the exact strategy has everybody's responses."""
    if context.strategy == exact.NAME or context.hindrance() is not None:
        return True
    if context.forced:
        return False
    return context.stopping.tol is not None or context.training_set.n < context.settings.min_examples


def _by_blocks(context: FitContext) -> FitResult:
    """By kernel rows that are computed as they are needed."""
    context.spare_memory.clear()
    return exact.from_scratch(context) if _exact_from_scratch(context) else _by_strategies(context)


def _require_possible(context: FitContext) -> None:
    """Refuse a strategy that cannot serve this fit, before any long work."""
    if context.strategy in ("auto", exact.NAME):
        return
    hindrance = context.hindrance()
    if context.strategy == low_rank.NAME and low_rank.vectors_of(context) is None:
        hindrance = hindrance or "its kernel is no inner product of features. Use kernel='linear'"
    if context.stopping.tol is not None and context.strategy not in (low_rank.NAME, sparse_kernel.NAME):
        hindrance = hindrance or "it proves no gap, and tol is to be proven: leave tol=None"
    if hindrance is not None:
        raise ValueError(
            f"strategy={context.strategy!r} cannot serve this fit: {hindrance}, or use strategy='auto' or 'exact'."
        )


def _exact_from_scratch(context: FitContext) -> bool:
    """Whether the exact strategy is forced, the only one, or quick and precise where others are not."""
    if context.strategy == exact.NAME or context.hindrance() is not None or context.training_set.held_out.any():
        return True
    if context.forced:
        return False
    n, settings = context.training_set.n, context.settings
    if context.decide(exact.NAME, "examples", n, "<", settings.min_examples):
        return True
    error = exact.single_precision_error(context)
    if error <= settings.precision.max_error or n > settings.precision.max_examples_double:
        return False
    return context.decide(exact.NAME, "error of single precision, in margins", error, ">", settings.precision.max_error)


def _stationary(context: FitContext) -> FitResult:
    """An indefinite kernel: a stationary point, by the rows as they are."""
    solver, stated = context.solver, context.stopping.tol
    context.solver = StationaryBlocks(solver.C, solver.coupling, solver.problems, solver.deadline)
    tol = context.settings.tolerance.exact_violation if stated is None else stated
    return exact.on_rows_of(context.training_set.features, context, tol)


def _by_strategies(context: FitContext) -> FitResult:
    """Models by the first strategy that serves; where none does and a gap is to be proven, by the exact one."""
    results, strategy = _as_before(context)
    if results is None:
        results, strategy = _first_that_serves(Start(context))
    if results is None and context.forced:
        raise ValueError(_cannot_serve(context))
    if results is None:
        return exact.from_scratch(context)
    comparison_examples = np.random.default_rng(context.seed).permutation(context.training_set.order)
    with context.deadline.shielded():
        results = with_fallbacks(
            results,
            context.fallbacks,
            context.training_set,
            context.n_classes,
            context.solver.C,
            comparison_examples[: context.settings.fallback_examples],
        )
    return FitResult(results, context.recorder, strategy=strategy)


def _first_that_serves(start: Start) -> tuple[list[BinaryResult] | None, str]:
    """The models of the first strategy that serves, and its name."""
    context = start.context
    if math.isfinite(context.deadline.limit) and context.stopping.tol is None and not context.persistence.used:
        _ = start.sample  # solved first: its models are there where a strategy takes too long
    for strategy in _tried(context):
        if context.strategy not in ("auto", strategy.NAME):
            continue
        try:
            results = strategy.attempt(start)
        except CutShort:
            return _unfinished(start), SAMPLE
        if results is not None:
            return results, strategy.NAME
        if start.ended is not None:
            return _unfinished(start), SAMPLE
    return None, exact.NAME


def _as_before(context: FitContext) -> tuple[list[BinaryResult] | None, str]:
    """On a warm start, models by the strategy of the earlier one, if what chose it is still in force."""
    warm = context.warm
    if warm is None or warm.choice is None or not stays_in_force(context):
        return None, ""
    context.choice = choice = warm.choice
    if choice.strategy != subspace.NAME:
        return _first_that_serves(Start(context))
    results = None
    if choice.span is not None:
        growth = max(1.0, context.training_set.n / choice.setting.examples)
        results = continued_subspace.attempt(Start(context), warm, choice.span, growth)
    if results is None:
        context.choice = None
    return results, choice.strategy


def _tried(context: FitContext) -> Sequence[ModuleType]:
    """The strategies in order: on a warm start, from the one that made the earlier model."""
    if context.stopping.tol is not None:
        return PROVING
    made_by = "" if context.choice is None else context.choice.strategy  # "": by the sample of this very fit
    names = [strategy.NAME for strategy in ORDER]
    return ORDER[names.index(made_by) :] if made_by in names else ORDER


def _unfinished(start: Start) -> list[BinaryResult]:
    """The models of the sample, or of what it has grown to, when a budget ended the fit; CutShort if there are none."""
    if "sample" not in start.__dict__:
        raise CutShort(start.context.deadline.interrupted.is_set())
    with start.context.deadline.shielded():
        results = Audit.of(start.sample.active, brief=start.ended is not None).results()
    return [each._replace(reason=start.ended) if each.reason.reached and start.ended else each for each in results]


def _cannot_serve(context: FitContext) -> str:
    declined = [each for each in context.decisions.of(context.strategy) if not each.positive]
    why = f"{declined[-1].measured} is {declined[-1].value:.4g}, not {declined[-1].limit}" if declined else "its kernel"
    remedy = " or a larger cache_size" if declined and declined[-1].measured.startswith("memory") else ""
    return f"strategy={context.strategy!r} cannot serve this data ({why}). Use strategy='auto'{remedy}."
