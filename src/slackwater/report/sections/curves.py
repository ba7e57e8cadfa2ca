"""ROC and precision-recall curves: of the second of two classes, or of each class against the rest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_curve

from slackwater.evaluation import Measure, area_under_roc
from slackwater.report.charts import Axis, Level, Series, Values, line_chart, thinned
from slackwater.report.markup import beside, left_out, paragraph, percent, section, text
from slackwater.report.subject import Subject

_GRID = np.linspace(0.0, 1.0, 1001)  # on which curves are averaged
_NAMED = 3  # curves of several classes that have a colour: those with the least area
_MOST_LINES = 40


class ClassCurve(NamedTuple):
    """How the scores of one class tell its examples from the others."""

    code: int
    name: str
    area: Measure
    average_precision: float
    share: float  # of the examples, that are of this class: the precision of a guess
    roc: tuple[Values, Values]  # false positive rate, true positive rate
    precision_recall: tuple[Values, Values]  # recall, precision
    mean_of: Values  # true positive rate at the grid, for averages


def class_curves(subject: Subject) -> list[ClassCurve]:
    """Of the classes that have examples, and are not all examples."""
    found = []
    for code in [1] if len(subject.names) == 2 else range(len(subject.names)):
        positive = subject.codes == code
        if positive.any() and not positive.all():
            scores = subject.scores if subject.scores.ndim == 1 else subject.scores[:, code]
            found.append(_curve(code, subject.names[code], positive, scores, subject.evaluation.confidence))
    return found


def _curve(code: int, name: str, positive: NDArray[np.bool_], scores: Values, confidence: float) -> ClassCurve:
    false_positive, true_positive, _ = roc_curve(positive, scores)
    precision, recall, _ = precision_recall_curve(positive, scores)
    return ClassCurve(
        code,
        name,
        area_under_roc(positive, scores, confidence),
        float(average_precision_score(positive, scores)),
        float(positive.mean()),
        thinned(false_positive, true_positive),
        thinned(recall[::-1], precision[::-1]),
        np.interp(_GRID, false_positive, true_positive),
    )


def macro_area(curves: list[ClassCurve]) -> float:
    """The mean of the classes' areas under the ROC curve."""
    return float(np.mean([curve.area.value for curve in curves])) if curves else float("nan")


def curves_section(subject: Subject, curves: list[ClassCurve]) -> str:
    """Both figures, or why there are none."""
    title = "ROC and precision-recall"
    if not curves:
        return section("curves", title, left_out("All examples are of one class: there is nothing to tell apart."))
    words = _words_of_two(subject, curves[0]) if len(subject.names) == 2 else _words_of_several(subject, curves)
    return section("curves", title, paragraph(words), beside(_roc_chart(curves), _precision_recall_chart(curves)))


def _words_of_two(subject: Subject, curve: ClassCurve) -> str:
    value, low, high = curve.area
    sure = f" ({percent(subject.evaluation.confidence, 0)} interval {low:.4f} to {high:.4f})" if low == low else ""
    return (
        f"Class {text(curve.name)} is the positive one; examples are ordered by their decision values. The area under "
        f"the ROC curve is {value:.4f}{sure}: the chance that a positive example has a larger value than a negative. "
        f"Average precision is {curve.average_precision:.4f}; guessing has {curve.share:.4f}."
    )


def _words_of_several(subject: Subject, curves: list[ClassCurve]) -> str:
    missing = len(subject.names) - len(curves)
    words = (
        "Each class against the rest, by its column of the decision function. The macro average is the mean over "
        f"classes: area under the ROC curve {macro_area(curves):.4f}, average precision "
        f"{np.mean([curve.average_precision for curve in curves]):.4f}. Named are the classes with the least area; "
        "point at a line to see whose it is."
    )
    return words + (f" {missing} classes have no examples here, and no curve." if missing else "")


def _kinds(curves: list[ClassCurve]) -> dict[int, str]:
    """A colour for the weakest, the background for others, nothing for those that would only blacken the chart."""
    order = sorted(range(len(curves)), key=lambda k: curves[k].area.value)
    return {k: f"s{rank + 1}" if rank < _NAMED else "faint" for rank, k in enumerate(order[:_MOST_LINES])}


def _lines(curves: list[ClassCurve], macro: Series, which: str) -> list[Series]:
    if len(curves) == 1:
        return [_line(curves[0], which, "main")]
    lines = [_line(curves[k], which, kind) for k, kind in _kinds(curves).items()]
    return [*sorted(lines, key=lambda line: line.kind != "faint"), macro]


def _line(curve: ClassCurve, which: str, kind: str) -> Series:
    across, up = getattr(curve, which)
    return Series(curve.name, across, up, kind)


def _unit(title: str) -> Axis:
    return Axis(title, 0.0, 1.0, spelled=lambda value: f"{value:.3g}")


def _roc_chart(curves: list[ClassCurve]) -> str:
    mean = np.mean([curve.mean_of for curve in curves], axis=0)
    macro = Series("macro average", np.concatenate([[0.0], _GRID]), np.concatenate([[0.0], mean]), "main")
    lines = _lines(curves, macro, "roc")
    return line_chart("ROC", _unit("false positive rate"), _unit("true positive rate"), lines, diagonal=True)


def _precision_recall_chart(curves: list[ClassCurve]) -> str:
    at = [np.interp(_GRID, *curve.precision_recall) for curve in curves]
    macro = Series("macro average", _GRID, np.mean(at, axis=0), "main")
    guess = float(np.mean([curve.share for curve in curves]))
    lines = _lines(curves, macro, "precision_recall")
    levels = [Level(guess, "guessing", "chance")]
    return line_chart("Precision and recall", _unit("recall"), _unit("precision"), lines, levels)
