"""How the model was found, and how sure it is that it is the optimum: convergence, decisions, certificate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.report.charts import Axis, Level, Series, covering, line_chart
from slackwater.report.markup import beside, facts, left_out, number, paragraph, percent, section, table, text
from slackwater.report.subject import Subject

_NAMED = 3  # problems with a colour of their own: those with the largest gaps
_MOST_LINES = 20
_MOST_DECISIONS = 50
_LIBSVM = "libsvm"

_REASONS = {
    "tol": "the tolerance was met",
    "converged": "the optimum within the subspace was found",
    "early_stopping": "the error on the hold-out part did not improve any more",
    "epochs": "the passes asked for were made",
    "max_iter": "the budget of steps ran out",
    "max_kernel_evals": "the budget of kernel evaluations ran out",
    "max_time": "the budget of time ran out",
    "callback": "a callback ended it",
    "stalled": "rounding did not let the gap close any further",
    "interrupted": "it was interrupted",
    _LIBSVM: "the model was read from LIBSVM's text, which does not say",
}

History = dict[str, NDArray[Any]]


# ---- convergence


def convergence(subject: Subject) -> str:
    """Gap and objectives on the way."""
    title = "Convergence"
    history: History | None = subject.at("history_")
    if not history or not len(history["step"]):
        return section("convergence", title, left_out(_no_history(subject)))
    problems, counts = np.unique(history["problem"], return_counts=True)
    if counts.max() < 2:
        return section("convergence", title, left_out(_assessed_once(history, len(problems))))
    order = _by_last_gap(history, problems)
    charts = [_gap_chart(subject, history, order), _objective_chart(subject, history, int(order[0]))]
    if np.isfinite(history["holdout_error"]).any():
        charts.append(_holdout_chart(history, order))
    words = (
        f"{number(len(history['step']))} assessments on the way, in {number(history['seconds'].max(), 3)} s and "
        f"{number(history['evaluations'].max())} kernel evaluations."
    )
    if subject.at("strategy_") is not None:
        words += " With a sample or screening, gaps and objectives are about the examples then at work."
    return section("convergence", title, paragraph(words), beside(*filter(None, charts)))


def _no_history(subject: Subject) -> str:
    if subject.at("strategy_") == _LIBSVM:
        return "The model was read from LIBSVM's text, which keeps the solution and not the way to it."
    return f"{type(subject.model).__name__} keeps no history of its training."


def _assessed_once(history: History, n_problems: int) -> str:
    gap = f"to the relative gap {number(history['gap'].max(), 2)}"
    cost = f"{number(history['evaluations'].max())} kernel evaluations"
    if n_problems == 1:
        return f"The model was assessed once, when it was done: solved {gap}, {cost}. One point makes no curve."
    return (
        f"Each of the {n_problems} binary problems was assessed once, when it was done: solved {gap} or less, {cost}. "
        "Single points make no curves."
    )


def _by_last_gap(history: History, problems: NDArray[Any]) -> NDArray[Any]:
    last = [history["gap"][history["problem"] == problem][-1] for problem in problems]
    return np.asarray(problems[np.argsort(-np.nan_to_num(last, nan=-1.0, posinf=np.inf), kind="stable")][:_MOST_LINES])


def _series(subject: Subject, history: History, order: NDArray[Any], column: str) -> list[Series]:
    names = subject.scheme.problem_names
    found = []
    for rank, problem in enumerate(order.tolist()):
        mine = (history["problem"] == problem) & np.isfinite(history[column]) & (history["step"] > 0)
        kind = "main" if len(order) == 1 else f"s{rank + 1}" if rank < _NAMED else "faint"
        name = names[problem] if problem < len(names) else str(problem)
        found.append(Series(name, history["step"][mine].astype(float), history[column][mine].astype(float), kind))
    return [each for each in found[::-1] if len(each.x)]


def _steps(series: list[Series]) -> Axis:
    return covering("steps", np.concatenate([each.x for each in series]), log=True)


def _gap_chart(subject: Subject, history: History, order: NDArray[Any]) -> str:
    series = [each for each in _series(subject, history, order, "gap") if (each.y > 0).any()]
    if not series:
        return ""
    y = covering("relative gap", np.concatenate([each.y for each in series]), log=True)
    tol = subject.at("tol")
    levels = [Level(float(tol), "tol", "level")] if tol else []
    return line_chart("Relative gap", _steps(series), y, series, levels)


def _objective_chart(subject: Subject, history: History, problem: int) -> str:
    """Objective and bound of one problem: the optimum is between them."""
    columns = {"objective": "main", "bound": "s2"}
    found = {column: _series(subject, history, np.array([problem]), column) for column in columns}
    lines = [line._replace(name=column, kind=columns[column]) for column, each in found.items() for line in each]
    if not found["objective"]:
        return ""
    name = f": {found['objective'][0].name}" if len(subject.problems) > 1 else ""
    # The first values may be so far off that nothing else would be seen.
    values = np.concatenate([each.y[len(each.y) // 8 :] for each in lines])
    words = "Objective and bound; the optimum is between them" if found["bound"] else "Objective"
    return line_chart(f"{words}{name}", _steps(lines), covering("value", values), lines)


def _holdout_chart(history: History, order: NDArray[Any]) -> str:
    mine = (history["problem"] == order[0]) & np.isfinite(history["holdout_error"])
    line = Series("hold-out error", history["step"][mine].astype(float), history["holdout_error"][mine], "main")
    return line_chart("Hold-out error", _steps([line]), covering("error", line.y), [line])


# ---- decisions


def decisions(subject: Subject) -> str:
    """What was measured to choose the strategy."""
    title = "Decisions"
    found = subject.at("decisions_")
    if not found:
        return section("decisions", title, left_out(_no_decisions(subject, found)))
    pairs = any(each.problem for each in found)
    names = subject.scheme.problem_names
    rows = []
    for each in list(found)[:_MOST_DECISIONS]:
        strategy, measured, value, limit, outcome, seconds, _ = map(text, each.cells())
        mark = f'<span class="outcome {text(each.outcome)}">{outcome}</span>'
        where = [text(names[each.problem])] if pairs else []
        rows.append([strategy, measured, mark, *where, value, limit or "–", seconds])
    head = ["strategy", "measured", "outcome", *(["pair"] if pairs else []), "value", "limit", "seconds"]
    words = (
        f"The model was found by the strategy <strong>{text(subject.at('strategy_'))}</strong>. Each row is a "
        "measurement that spoke for or against one."
    )
    left = len(found) - len(rows)
    more = paragraph(f"{left} further decisions are in <code>decisions_</code>.", "small") if left > 0 else ""
    return section("decisions", title, paragraph(words), table("Decisions", head, rows, words=4 if pairs else 3), more)


def _no_decisions(subject: Subject, found: Any) -> str:
    if found is None:
        return f"{type(subject.model).__name__} has one way to train, so that there was nothing to decide."
    if subject.at("strategy_") == _LIBSVM:
        return "The model was read from LIBSVM's text: it was trained elsewhere, and what was decided is not known."
    return f"The strategy {text(subject.at('strategy_'))} was taken without a measurement."


# ---- certificate


def certificate(subject: Subject) -> str:
    """What is known about the distance from the optimum, in words."""
    gap = subject.at("gap_")
    reason = subject.at("stop_reason_")
    rows = []
    if gap is not None:
        rows.append(("relative gap (<code>gap_</code>)", _gap_words(gap)))
    if gap is not None and not np.isnan(gap).all():
        name = "proven (<code>certified_</code>)" if subject.at("certified_") is not None else "proven"
        rows.append((name, "yes" if subject.at("certified_", True) else "no, estimated"))
    if reason is not None:
        rows.append(
            (
                "training ended (<code>stop_reason_</code>)",
                f"{text(reason)} <span>({_REASONS.get(str(reason), '')})</span>",
            )
        )
    for name, words in (("n_iter_", "steps"), ("n_kernel_evals_", "kernel evaluations"), ("margin_", "margin")):
        if subject.at(name) is not None and not np.isnan(subject.at(name)).any():
            rows.append((f"{words} (<code>{name}</code>)", _range(subject.at(name))))
    meaning = "".join(paragraph(words) for words in explanation(subject))
    return section("certificate", "Certificate", beside(meaning, facts("Certificate", rows)))


def _gap_words(gap: Any) -> str:
    return number(gap, 3) if np.ndim(gap) == 0 else f"{_range(gap)} <span>({len(gap)} problems)</span>"


def _range(values: Any) -> str:
    low, high = (float(each) for each in (np.min(values), np.max(values)))
    return number(low, 4) if low == high else f"{number(low, 3)} to {number(high, 3)}"


def explanation(subject: Subject) -> list[str]:
    """What the numbers mean, and what they do not."""
    gap = subject.at("gap_")
    if gap is None or np.isnan(gap).any():
        return [_no_gap(subject), "<code>certify(X, y)</code> with the training data proves a gap for an SVC."][
            : 2 if hasattr(subject.model, "certify") else 1
        ]
    worst = float(np.max(gap))
    each = " (the largest of all binary problems)" if np.ndim(gap) else ""
    nearness = _nearness(subject, worst, each)
    kind = _estimated(subject) if not subject.at("certified_", True) else (
        "This is a proof, not an estimate: it follows from a feasible point of the dual problem, and holds whatever "
        "way the model was found (up to rounding)."
    )  # fmt: skip
    limits = (
        "It speaks of the optimisation problem with these parameters on the training data. How well the model does on "
        "other examples is what the measures above are about."
    )
    return [nearness, kind, limits]


def _nearness(subject: Subject, gap: float, each: str) -> str:
    if not math.isfinite(gap) or gap >= 1.0:
        return f"The relative gap is {number(gap, 3)}{each}: nothing is known yet about the distance from the optimum."
    digits = 3 if gap < 1e-3 else 2
    if hasattr(subject.model, "nu"):
        return (
            f"The relative gap is {number(gap, 3)}{each}. The margin reached is at least {percent(1.0 - gap, digits)} "
            "of the largest one that any classifier with this kernel and this much slack can have."
        )
    return (
        f"The relative gap is {number(gap, 3)}{each}. The objective of the optimum is at most {percent(gap, digits)} "
        "lower than that of this model: no function of this kernel, with these parameters, does better than that."
    )


def _estimated(subject: Subject) -> str:
    if "subspace" in str(subject.at("strategy_")):
        how = "it is extrapolated from two parts of the data, with an allowance for its growth"
    else:
        how = "some losses are known from a sample only, and the gap is an upper limit that holds in 95 of 100 cases"
    return f"This is an estimate, not a proof: {how}. <code>certify(X, y)</code> with the training data proves a gap."


def _no_gap(subject: Subject) -> str:
    if subject.at("strategy_") == _LIBSVM:
        return (
            "The model was read from LIBSVM's text, which says nothing about its distance from the optimum: there is "
            "no certificate."
        )
    if subject.at("compression_") is not None:
        return (
            "The model was compressed after training: the gap it had does not hold any more. There is no certificate."
        )
    if subject.at("certified_") is not None:
        return (
            "The kernel is not positive semi-definite, so that no duality gap is defined: training ended at a point "
            "that satisfies the optimality conditions, and there need not be only one."
        )
    return f"{type(subject.model).__name__} does not bound its distance from an optimum: there is no certificate."
