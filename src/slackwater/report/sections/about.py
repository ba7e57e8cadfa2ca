"""What the model is and where the page was made: parameters, environment."""

from __future__ import annotations

import os
import platform
from datetime import datetime, timezone
from typing import Any

import numpy as np

from slackwater.report.markup import beside, facts, number, paragraph, section, table, text
from slackwater.report.subject import Subject
from slackwater.versions import core_versions


def parameters(subject: Subject) -> str:
    """As they were given; those that are not the default stand out."""
    given: dict[str, Any] = subject.model.get_params(deep=False)
    usual: dict[str, Any] = type(subject.model)().get_params(deep=False)
    rows = [
        [f"<code>{text(name)}</code>", _value(value, _differs(value, usual.get(name))), text(_spelled(usual.get(name)))]
        for name, value in given.items()
    ]
    words = f"Of <code>{text(type(subject.model).__name__)}</code>; those that differ from their defaults are in bold."
    return section(
        "parameters",
        "Parameters",
        paragraph(words),
        beside(
            table("Parameters", ["parameter", "value", "default"], rows, words=3),
            facts("The fitted model", _fitted(subject)),
        ),
    )


def _differs(value: Any, usual: Any) -> bool:
    return value is not usual and not bool(value == usual)


def _value(value: Any, other: bool) -> str:
    return f"<strong>{text(_spelled(value))}</strong>" if other else text(_spelled(value))


def _spelled(value: Any) -> str:
    return str(getattr(value, "__qualname__", value)) if callable(value) else str(value)


def _fitted(subject: Subject) -> list[tuple[str, str]]:
    support = subject.at("support_")
    rows = [
        ("classes", f"{len(subject.names)} <span>({subject.scheme.words})</span>" if len(subject.names) > 2 else "2"),
        ("features", number(subject.at("n_features_in_"))),
        ("support vectors", number(len(support)) if support is not None else ""),
        ("strategy", text(subject.at("strategy_", ""))),
    ]
    names = subject.at("feature_names_in_")
    if names is not None:
        shown = ", ".join(map(str, np.asarray(names)[:12])) + (", …" if len(names) > 12 else "")
        rows.append(("feature names", text(shown)))
    return [(name, value) for name, value in rows if value]


def environment(subject: Subject) -> str:
    """Versions, machine, time; and where model and data come from, if that is known."""
    rows = [(text(name), text(value)) for name, value in subject.about.items()]
    rows += [
        ("page made", f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC"),
        *((library, text(found)) for library, found in core_versions().items()),
        ("system", text(f"{platform.system()} {platform.release()}, {platform.machine()}")),
        ("processors", number(os.cpu_count() or 1)),
    ]
    words = "Where this page was made; the model may have been trained elsewhere."
    return section("environment", "Environment", paragraph(words), facts("Environment", rows))
