"""The page: a header with what matters most, then the sections."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from slackwater.files import replace_file
from slackwater.report.markup import number, percent, text
from slackwater.report.sections.about import environment, parameters
from slackwater.report.sections.curves import ClassCurve, class_curves, curves_section, macro_area
from slackwater.report.sections.margins import margins, water
from slackwater.report.sections.measures import confusion, measures
from slackwater.report.sections.training import certificate, convergence, decisions
from slackwater.report.subject import Report, Subject, see

_CONTENTS = {
    "measures": "Measures",
    "confusion": "Confusion",
    "curves": "ROC and PR",
    "margins": "Margins",
    "water": "Water",
    "convergence": "Convergence",
    "decisions": "Decisions",
    "certificate": "Certificate",
    "parameters": "Parameters",
    "environment": "Environment",
}


def write_report(
    model: Any,
    X: Any,
    y: Any,
    path: Any,
    *,
    title: str | None = None,
    confidence: float = 0.95,
    about: Mapping[str, str] | None = None,
    progress: Report | None = None,
) -> None:
    """Write the page to a file, whole or not at all; mistakes are found before the work.

    Parameters
    ----------
    model : fitted classifier of this package
    X, y : examples with labels, of the model's classes
    path : str or path
        An existing file is replaced.
    title : str, optional
    confidence : float, default=0.95
        Of the intervals.
    about : mapping of str to str, optional
        Where model and data come from, for the section on the environment.
    progress : callable, optional
        Called with the number of rows done, and of all rows.
    """
    check_is_fitted(model)
    if not 0.5 <= confidence < 1:
        raise ValueError(f"confidence must be from 0.5 to below 1, got {confidence}. It is that of the intervals.")
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise FileNotFoundError(2, "path must be in a folder that exists", str(folder))
    subject = replace(see(model, X, y, confidence, progress), about=dict(about or {}))
    replace_file(Path(path), page(subject, title).encode())


def page(subject: Subject, title: str | None = None) -> str:
    """The whole page, which needs nothing beside itself."""
    curves = class_curves(subject)
    name = text(title or f"{type(subject.model).__name__} on {number(subject.n)} examples")
    style = files("slackwater.report").joinpath("page.css").read_text(encoding="utf-8")
    links = "".join(f'<a href="#{anchor}">{words}</a>' for anchor, words in _CONTENTS.items())
    sections = [
        measures(subject, curves),
        confusion(subject),
        curves_section(subject, curves),
        margins(subject),
        water(subject),
        convergence(subject),
        decisions(subject),
        certificate(subject),
        parameters(subject),
        environment(subject),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{name}</title><style>{style}</style></head><body>"
        f'<header><p class="kicker">slackwater · model report</p><h1>{name}</h1><p class="lead">{_lead(subject)}</p>'
        f'{_tiles(subject, curves)}<nav aria-label="Sections">{links}</nav></header>'
        f"<main>{''.join(sections)}</main>"
        "<footer>Made by slackwater. The page holds everything it shows and loads nothing.</footer></body></html>\n"
    )


def _lead(subject: Subject) -> str:
    model = subject.model
    kernel = getattr(model, "kernel", None)
    words = f"<strong>{text(type(model).__name__)}</strong>"
    if isinstance(kernel, str):
        words += f" with the {text(kernel)} kernel"
    words += f", {len(subject.names)} classes"
    if len(subject.names) > 2:
        words += f" {subject.scheme.words}"
    value, low, high = subject.evaluation.overall["accuracy"]
    return (
        f"{words}. It is right on {percent(value)} of {number(subject.n)} examples "
        f"({percent(subject.evaluation.confidence, 0)} interval {percent(low)} to {percent(high)})."
    )


def _tiles(subject: Subject, curves: list[ClassCurve]) -> str:
    overall = subject.evaluation.overall
    tiles = [
        ("accuracy", percent(overall["accuracy"].value), f"largest class {percent(overall['largest class'].value)}"),
        ("balanced accuracy", percent(overall["balanced accuracy"].value), "mean recall of the classes"),
        ("macro F1", f"{overall['macro F1'].value:.3f}", "mean over the classes"),
    ]
    if curves:
        words = "macro average, one-vs-rest" if len(curves) > 1 else f"positive: {text(curves[0].name)}"
        tiles.append(("ROC AUC", f"{macro_area(curves):.4f}", words))
    support = subject.at("support_")
    if support is not None:
        tiles.append(("support vectors", number(len(support)), f"{number(subject.at('n_features_in_'))} features"))
    gap = subject.at("gap_")
    if gap is not None and not np.isnan(gap).any():
        tiles.append(
            ("relative gap", number(np.max(gap), 2), "proven" if subject.at("certified_", True) else "estimated")
        )
    items = "".join(
        f'<div class="tile"><dt>{name}</dt><dd>{value}<span>{words}</span></dd></div>' for name, value, words in tiles
    )
    return f'<dl class="tiles" aria-label="In short">{items}</dl>'
