"""The experiments use what slackwater promises to its users, and nothing else of it."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import sbp_paper

PACKAGE = Path(sbp_paper.__file__).parent
PUBLIC = {
    "slackwater",
    "slackwater.baselines",
    "slackwater.callbacks",
    "slackwater.datasets",
    "slackwater.errors",
    "slackwater.objectives",
    "slackwater.water",
}
FILES = sorted(PACKAGE.rglob("*.py"))


def used_of_slackwater(path: Path) -> set[tuple[str, str | None]]:
    """Modules that are imported, with the names taken from them; None for the module as a whole."""
    found: set[tuple[str, str | None]] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {(node.module, alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {(alias.name, None) for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "slackwater." in node.value:
            words = node.value.replace("`", " ").replace(",", " ").split()
            found |= {(w, None) for w in words if w.startswith("slackwater.") and _is_module(w)}
    return {(module, name) for module, name in found if module.split(".")[0] == "slackwater"}


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_only_public_modules_and_their_listed_names_are_imported(path):
    for module, name in used_of_slackwater(path):
        assert module in PUBLIC, f"{module} is no public module of slackwater"
        if name is not None:
            assert name in importlib.import_module(module).__all__, f"{module} does not list {name}"


def test_no_private_attribute_of_anything_else_is_reached_for():
    reached = {
        f"{path.name}: {node.attr}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and node.attr not in {"_asdict", "_replace"}  # public methods of named tuples
        and not (isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"})
    }
    assert not reached


def test_slackwater_does_not_know_of_the_paper():
    import slackwater

    root = Path(slackwater.__file__).parent
    assert not [path for path in root.rglob("*.py") if "sbp_paper" in path.read_text(encoding="utf-8")]
