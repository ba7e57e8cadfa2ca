"""How good the predictions are: measures with confidence intervals, and what was taken for what."""

from __future__ import annotations

import math

import numpy as np

from slackwater.evaluation import Measure
from slackwater.report.charts import Axis, interval_bar
from slackwater.report.markup import beside, left_out, number, paragraph, percent, scrolling, section, table, text
from slackwater.report.sections.curves import ClassCurve
from slackwater.report.subject import Subject

_MOST_CLASSES = 30  # of a confusion matrix that can still be read
_MOST_CONFUSIONS = 20
_MOST_ROWS = 40  # classes with measures of their own


def measures(subject: Subject, curves: list[ClassCurve]) -> str:
    """Over all classes, and class by class."""
    found = subject.evaluation
    axis = _axis([each for name, each in found.overall.items() if name != "largest class"])
    rows = [_row(name[0].upper() + name[1:], each, axis) for name, each in found.overall.items()]
    level = percent(found.confidence, 0)
    words = (
        f"On {number(subject.n)} examples, with {level} confidence intervals: Wilson's for accuracy, precision and "
        "recall, a parametric bootstrap of the confusion matrix for balanced accuracy and macro F1"
        f"{', DeLong’s for the area under the ROC curve' if 'ROC AUC' in found.overall else ''}. “Largest class” is "
        "the accuracy of always answering with the most frequent class."
    )
    return section(
        "measures",
        "Measures",
        paragraph(words),
        table("Measures over all classes", _head(axis), rows),
        _by_class(subject, curves),
    )


def _head(axis: Axis) -> list[str]:
    return [
        "measure",
        "value",
        "from",
        "to",
        f'<span class="ends"><span>{number(axis.low)}</span><span>1</span></span>',
    ]


def _row(name: str, measure: Measure, axis: Axis) -> list[str]:
    return [
        name,
        *(f"{value:.4f}" if not math.isnan(value) else "–" for value in measure),
        interval_bar(*measure, axis),
    ]


def _axis(measures: list[Measure]) -> Axis:
    """From the next tenth below all intervals to 1."""
    lows = [low if not math.isnan(low) else value for value, low, _ in measures if not math.isnan(value)]
    return Axis("", math.floor(10 * min(lows, default=0.0) - 1e-9) / 10, 1.0)


def _by_class(subject: Subject, curves: list[ClassCurve]) -> str:
    found = subject.evaluation
    counts = found.confusion.sum(axis=1)
    areas = {curve.code: curve for curve in curves}
    several = len(subject.names) > 2
    order = np.argsort([recall.value for recall in found.recall], kind="stable")[:_MOST_ROWS]
    shown = sorted(order.tolist())
    rows = [
        [
            text(subject.names[k]), number(counts[k]),
            *(cell for each in (found.precision[k], found.recall[k]) for cell in _with_interval(each)),
            _f1(found.precision[k].value, found.recall[k].value),
            *(_areas(areas.get(k)) if several else []),
        ]
        for k in shown
    ]  # fmt: skip
    head = ["class", "examples", "precision", "interval", "recall", "interval", "F1"]
    head += ["ROC AUC", "average precision"] if several else []
    left = len(subject.names) - len(shown)
    more = paragraph(f"The {left} classes with a higher recall are left out of this table.", "small") if left else ""
    return f"<h3>Class by class</h3>{table('Measures class by class', head, rows)}{more}"


def _with_interval(measure: Measure) -> list[str]:
    if math.isnan(measure.value):
        return ["–", ""]
    return [f"{measure.value:.4f}", f'<span class="soft">{measure.low:.3f} to {measure.high:.3f}</span>']


def _f1(precision: float, recall: float) -> str:
    if math.isnan(recall):
        return "–"
    precision = 0.0 if math.isnan(precision) else precision  # nothing was predicted as this class
    return f"{2 * precision * recall / (precision + recall) if precision + recall else 0.0:.4f}"


def _areas(curve: ClassCurve | None) -> list[str]:
    return ["–", "–"] if curve is None else [f"{curve.area.value:.4f}", f"{curve.average_precision:.4f}"]


def confusion(subject: Subject) -> str:
    """True classes in rows, predicted ones in columns."""
    counts = subject.evaluation.confusion
    wrong = int(counts.sum() - np.trace(counts))
    if len(counts) > _MOST_CLASSES:
        note = left_out(f"A matrix of {len(counts)} classes could not be read; these are the most frequent confusions.")
        return section("confusion", "Confusion matrix", note, _list_of_confusions(subject, _MOST_CONFUSIONS))
    words = (
        f"{number(subject.n - wrong)} of {number(subject.n)} labels are right, {number(wrong)} wrong. Rows are the "
        "true classes, columns the predicted ones; shades are shares of the row."
    )
    matrix = _matrix(subject)
    if len(counts) > 2 and wrong:
        matrix = beside(matrix, _list_of_confusions(subject, 8), kind="beside-wide")
    return section("confusion", "Confusion matrix", paragraph(words), matrix)


def _matrix(subject: Subject) -> str:
    counts, names = subject.evaluation.confusion, [text(name) for name in subject.names]
    totals = counts.sum(axis=1)
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    rows = []
    for k, name in enumerate(names):
        cells = "".join(_cell(int(counts[k, j]), int(totals[k]), k == j, name, names[j]) for j in range(len(names)))
        rows.append(f'<tr><th scope="row">{name}</th>{cells}</tr>')
    corner = '<th scope="col" class="corner">true ╲ predicted</th>'
    content = f'<table class="matrix"><thead><tr>{corner}{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    return scrolling(content, "Confusion matrix")


def _cell(count: int, total: int, right: bool, true: str, said: str) -> str:
    share = count / total if total else 0.0
    # A rare confusion must still be seen: the shade of an error begins strong and grows with the root of its share.
    strength = round(100 * (share if right else 0.3 + 0.7 * math.sqrt(share)))
    kind = "right" if right else "wrong" if count else "none"
    hint = f"{true} taken for {said}: {count} of {total} ({percent(share)})"
    return f'<td class="{kind}" style="--share:{strength}%" title="{hint}">{count if count or right else "·"}</td>'


def _list_of_confusions(subject: Subject, most: int) -> str:
    counts = subject.evaluation.confusion
    off = counts - np.diag(np.diag(counts))
    order = [int(k) for k in np.argsort(-off, axis=None, kind="stable")[:most] if off.flat[k]]
    pairs = [divmod(k, len(counts)) for k in order]
    rows = [
        [text(subject.names[a]), text(subject.names[b]), number(off[a, b]), percent(off[a, b] / counts[a].sum())]
        for a, b in pairs
    ]
    if not rows:
        return paragraph("No label is wrong.")
    return "<h3>Most frequent confusions</h3>" + table(
        "Most frequent confusions", ["true", "predicted", "examples", "of its class"], rows, words=2
    )
