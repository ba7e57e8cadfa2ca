"""Where the examples lie to the margin: their distribution, and the water picture."""

from __future__ import annotations

import math

import numpy as np

from slackwater.report.charts import Axis, Level, Values, basin, histogram
from slackwater.report.markup import beside, facts, left_out, number, paragraph, percent, section, table, text
from slackwater.report.subject import Subject
from slackwater.water import level

_BINS = 48
_MOST_PROBLEMS = 10
_MOST_GROUND = 300  # points of the ground that are drawn
_LEAST_SHOWN = 0.1  # of the examples, in the water picture: else a dry model would show one pixel


def margins(subject: Subject) -> str:
    """The histogram."""
    found = subject.margins
    inside, wrong = (found >= 0) & (found < 1), found < 0
    has_scale = no_scale(subject) == ""
    rows = [("wrong side (below 0)", wrong), ("right side (0 or more)", ~wrong)]
    if has_scale and len(subject.names) == 2:
        rows = [
            ("wrong side (below 0)", wrong),
            ("within the margin (0 to 1)", inside),
            ("beyond (1 and more)", found >= 1),
        ]
    counted = [(words, f"{number(which.sum())} <span>({percent(which.mean())})</span>") for words, which in rows]
    quartiles = np.quantile(found, [0.05, 0.25, 0.5, 0.75])
    spread = [
        (name, number(value, 3))
        for name, value in zip(("5 % are below", "first quartile", "median", "third quartile"), quartiles, strict=True)
    ]
    chart = _histogram(found, has_scale and len(subject.names) == 2)
    return section(
        "margins",
        "Margin distribution",
        paragraph(subject.scheme.margin_words),
        beside(chart, facts("Margins", counted + spread)),
    )


def _histogram(found: Values, with_margin: bool) -> str:
    low, high = (float(each) for each in np.quantile(found, [0.0005, 0.9995]))
    low, high = min(low, -0.1), max(high, 1.1 if with_margin else 0.1)
    step = 1.0 / max(1, round(_BINS / (high - low)))  # bins end at 0 and at 1: none holds right and wrong labels
    edges = np.arange(math.floor(low / step), math.ceil(high / step) + 1, dtype=np.float64) * step
    counts = np.histogram(np.clip(found, edges[0], edges[-1]), edges)[0].astype(np.float64)
    middles = (edges[:-1] + edges[1:]) / 2
    kinds = ["wrong" if m < 0 else "inside" if with_margin and m < 1 else "right" for m in middles]
    levels = [Level(0.0, "", "boundary"), *([Level(1.0, "margin", "level")] if with_margin else [])]
    return histogram("Margins", Axis("margin", float(edges[0]), float(edges[-1])), edges, counts, kinds, levels)


def no_scale(subject: Subject) -> str:
    """Why decision values have no unit in which the margin is one; nothing, if they have."""
    margin = subject.at("margin_")
    if margin is None:
        return ""
    if np.isnan(margin).any():
        name = type(subject.model).__name__
        return f"{name} has no margin: its decision values have no unit in which slack could be measured."
    if not (np.asarray(margin) > 0).all():
        return "Training ended without a positive margin, so that decision values were not scaled to a margin of one."
    return ""


def water(subject: Subject) -> str:
    """Sorted margins as ground, slack as the water on it."""
    title = "Water picture"
    why = no_scale(subject)
    if why:
        return section("water", title, left_out(why))
    problem = subject.problems[subject.worst_problem]
    if not len(subject.worst):
        return section("water", title, left_out("No binary problem of the model has an example here."))
    words = (
        "Examples are sorted by their margins, which are the ground. Training pours slack over it like water, up to "
        "the level 1, the margin: what lies below is under water and has slack 1 − margin. The volume of the water is "
        "the hinge loss. These are examples the report was given, not those of training, unless they are the same."
    )
    several = ""
    if len(subject.problems) > 1:
        words += f" Shown is the binary problem with the most slack an example, {text(problem.name)}."
        several = _problems(subject)
    return section("water", title, paragraph(words), beside(_picture(subject.worst), _facts(subject)), several)


def _picture(found: Values) -> str:
    ground = np.sort(found)
    wet = float((ground < 1.0).mean())
    shown = min(1.0, max(1.6 * wet, _LEAST_SHOWN))
    count = min(len(ground), max(2, math.ceil(shown * len(ground))))
    chosen = np.unique(np.linspace(0, count - 1, min(count, _MOST_GROUND)).astype(int))
    across = 100.0 * (chosen + 0.5) / len(ground)
    height = ground[chosen]
    top = max(1.5, min(float(height[-1]), 3.0))
    y = Axis("margin", min(float(ground[0]), 0.0) - 0.25, top)
    x = Axis("examples, from the smallest margin, %", 0.0, 100.0 * count / len(ground))
    if len(across) == 1:
        across, height = np.array([0.0, 100.0]), np.repeat(height, 2)
    return basin(
        "Slack as water", x, y, (across, height), Level(1.0, "level 1", "surface"), [Level(0.0, "", "boundary")]
    )


def _facts(subject: Subject) -> str:
    found, problem = subject.worst, subject.problems[subject.worst_problem]
    rows = [
        ("examples", number(problem.n)),
        ("under water", f"{number(problem.wet)} <span>({percent(problem.wet / problem.n)})</span>"),
        ("on the wrong side", f"{number(problem.wrong)} <span>({percent(problem.wrong / problem.n)})</span>"),
        ("slack an example (mean hinge loss)", number(problem.slack / problem.n, 3)),
        ("deepest", number(max(0.0, 1.0 - float(found.min())), 3)),
    ]
    trained = training_slack(subject)
    if trained is not None:
        reached = level(found, trained * len(found)) if trained > 0.0 else float(found.min())
        rows.append(("slack in training, an example of weight 1", number(trained, 3)))
        rows.append(("level that this slack reaches here", number(reached, 3)))
    return facts("Water", rows) + (paragraph(_level_words(reached), "small") if trained is not None else "")


def _level_words(reached: float) -> str:
    compared = "lower than" if reached < 1.0 else "no lower than"
    return (
        "In training the water stands at the level 1. The same slack an example, poured over these examples, reaches "
        f"{number(reached, 3)}: they lie {compared} the training examples."
    )


def training_slack(subject: Subject) -> float | None:
    """The mean hinge loss of the training examples in the problem shown, from ``slack_nu_`` and ``margin_``."""
    # The paper's form fixes it: volume nu, level margin_. In the C-form slack_nu_ = loss / ‖w‖ and margin_ = 1 / ‖w‖.
    margin, slack = subject.at("margin_"), subject.at("nu", subject.at("slack_nu_"))
    if margin is None or slack is None or subject.at("class_weight") is not None:  # weights are not known here
        return None
    sizes = [np.atleast_1d(np.asarray(each, dtype=np.float64)) for each in (slack, margin)]
    of_problem = [each[subject.worst_problem if len(each) > 1 else 0] for each in sizes]
    found = float(of_problem[0] / of_problem[1])
    return found if math.isfinite(found) else None


def _problems(subject: Subject) -> str:
    order = sorted(subject.problems, key=lambda each: -each.slack / max(each.n, 1))[:_MOST_PROBLEMS]
    rows = [
        [
            text(each.name), number(each.n), percent(each.wet / max(each.n, 1)), percent(each.wrong / max(each.n, 1)),
            number(each.slack / max(each.n, 1), 3),
        ]
        for each in order
    ]  # fmt: skip
    head = ["binary problem", "examples", "under water", "wrong side", "slack an example"]
    title = f"Problems with the most slack, {len(order)} of {number(len(subject.problems))}"
    return f"<h3>{title}</h3>{table(title, head, rows)}"
