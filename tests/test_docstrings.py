"""Public names have a page, and docstrings in numpydoc's form."""

from __future__ import annotations

import importlib
import pydoc
import re
from dataclasses import is_dataclass
from pathlib import Path

import pytest

import slackwater

numpydoc_validate = pytest.importorskip("numpydoc.validate", reason="make lint installs it")

REFERENCE = Path(__file__).parent.parent / "docs" / "api.rst"
PUBLIC_MODULES = (
    "slackwater",
    "slackwater.baselines",
    "slackwater.water",
    "slackwater.path",
    "slackwater.plotting",
    "slackwater.callbacks",
    "slackwater.datasets",
)
# What numpydoc may ask for and we do not: each with the reason.
NOT_ASKED = {
    "GL01": "text begins in the line of the quotes",
    "GL02": "text ends in the line of the quotes, where it is one line",
    "GL03": "blank lines are the formatter's",
    "GL08": "methods that scikit-learn adds have no docstring of ours",
    "SS05": "descriptions of values begin with what they are, not with a verb",
    "SS06": "a summary may need a second line",
    "ES01": "a summary may be enough",
    "PR03": "a method's own parameters come first, then those that all methods share",
    "PR04": "parameters that another class documents are listed together, without their types",
    "PR06": "'bool', 'path' and 'sequence of str' are words here, not types",
    "PR08": "descriptions may begin with a formula or a lower-case name",
    "PR09": "descriptions may end with a formula",
    "RT02": "a returned value may have a name",
    "RT03": "a returned value whose type says it all needs no description",
    "RT04": "as PR08",
    "RT05": "as PR09",
    "SA01": "the reference has the neighbours",
    "EX01": "the guide and the gallery have the examples",
    "YD01": "no public generators",
}


IN_A_SENTENCE = {"PR01", "RT01"}  # of methods that a sentence tells all about, and of records


def is_one_sentence(name: str) -> bool:
    """Whether a method's docstring has no sections; or a record, whose fields are attributes."""
    if name in documented():
        return isinstance(found := resolved(name), type) and (issubclass(found, tuple) or is_dataclass(found))
    owner, _, method = name.rpartition(".")
    member = getattr(resolved(owner), method, None) if owner in documented() else None
    return member is not None and "-----" not in (member.__doc__ or "-----")


def documented() -> list[str]:
    """Full names of the API reference."""
    names, module = [], ""
    for line in REFERENCE.read_text().splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif found := re.match(r"   ([A-Za-z_][\w.]*)$", line):
            names.append(f"{module}.{found[1]}")
    return names


def resolved(name: str) -> object:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def ours(name: str) -> list[str]:
    """A documented name, and the public methods and properties that its classes of slackwater define."""
    found = resolved(name)
    if not isinstance(found, type):
        return [name]
    classes = [each for each in found.__mro__ if each.__module__.startswith("slackwater")]
    members = {member for each in classes for member in vars(each) if not member.startswith("_")}
    callables = [member for member in sorted(members) if callable(getattr(found, member, None))]
    return [name, *(f"{name}.{member}" for member in callables)]


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_every_public_name_is_in_the_reference(module):
    names = {name for name in importlib.import_module(module).__all__ if not name.startswith("__")}
    assert {f"{module}.{name}" for name in names} <= set(documented())


@pytest.mark.parametrize("name", documented())
def test_docstrings_are_valid(name):
    complaints = [
        f"{each}: {code} {text}"
        for each in ours(name)
        for code, text in numpydoc_validate.validate(each)["errors"]
        if code not in NOT_ASKED and not (code in IN_A_SENTENCE and is_one_sentence(each))
    ]
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize("name", ["SVC", "SBPClassifier"])
def test_help_in_a_terminal_fits_and_has_its_parts_in_order(name):
    text = pydoc.plain(pydoc.render_doc(getattr(slackwater, name)))
    body = text[text.index("Parameters") : text.index("Methods defined here")]
    text_lines = [line for line in body.splitlines() if not re.match(r" \|  \S", line)]  # names have lines of their own
    assert max(map(len, text_lines)) <= 100, "docs/wrap_docstrings.py wraps them"
    assert body.index("Parameters") < body.index("Attributes") < body.index("Examples")
