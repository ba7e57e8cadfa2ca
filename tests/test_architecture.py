"""The layers of ARCHITECTURE.md, held to by the import statements."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import slackwater
from slackwater.kernels import Custom
from slackwater.kernels.registry import KERNELS

PACKAGE = Path(slackwater.__file__).parent

# From the ground up: a module imports from its own layer or from lower ones.
LAYERS = [
    {"_code_cache", "_jit", "deadline", "errors"},
    {"workers", "memory", "votes", "files", "versions", "evaluation", "_loops"},
    {"points", "data_io", "datasets"},
    {"kernels"},
    {"water", "gram", "examples", "objectives", "features"},
    {"problem", "expansion", "prediction", "linear_functions", "report"},
    {"solvers.base", "stopping"},
    {"solvers", "tracing", "history", "progress", "checkpoint", "callbacks"},
    {"fitting"},
    {"shards"},
    {"model_io"},
    {"estimators"},
    {"baselines", "model_io.onnx", "dask", "path", "plotting"},
    {"__init__"},
    {"cli"},
    {"__main__"},
]


def layer(module: str) -> int:
    parts = module.split(".")
    for name in (".".join(parts[:2]), parts[0]):
        for height, members in enumerate(LAYERS):
            if name in members:
                return height
    raise AssertionError(f"{module} has no layer: add it to LAYERS and to ARCHITECTURE.md")


def modules() -> list[tuple[str, Path]]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[-1] == "__init__" and len(parts) > 1:
            parts = parts[:-1]
        found.append((".".join(parts), path))
    return found


def imported_modules(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "slackwater":
            inner = node.module.split(".")[1:]
            names |= {".".join(inner)} if inner else {_submodule(alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            ours = [a.name for a in node.names if a.name.split(".")[0] == "slackwater"]
            names |= {name.partition(".")[2] or "__init__" for name in ours}
    return names - {""}


def _submodule(name: str) -> str:
    """What ``from slackwater import name`` loads: a module, or the package itself for any other name."""
    return name if (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").exists() else "__init__"


@pytest.mark.parametrize(("module", "path"), modules(), ids=lambda value: value if isinstance(value, str) else "")
def test_imports_run_downwards(module: str, path: Path) -> None:
    own = layer(module)
    upward = {name for name in imported_modules(path) if layer(name) > own}
    assert not upward, f"{module} imports from a higher layer: {upward}"


def test_only_compiled_loops_import_the_compiler() -> None:
    users = {m for m, path in modules() if "numba" in path.read_text() and "import numba" in path.read_text()}
    assert users == {"_code_cache", "_jit"}


def test_importing_the_package_does_not_load_the_compiler() -> None:
    code = "import sys, slackwater, slackwater.water, slackwater.baselines; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_importing_the_package_does_not_load_what_only_some_formats_need() -> None:
    code = "import sys, slackwater; sys.exit(any(name in sys.modules for name in ('onnx', 'skl2onnx', 'sklearn.svm')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_only_the_registry_knows_kernels_by_their_names() -> None:
    """Others ask what a kernel can do: no comparison with a name of one, outside ``kernels``."""
    asking = {
        f"{module}:{node.lineno}"
        for module, path in modules()
        if module.split(".")[0] != "kernels"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Compare | ast.match_case)
        and any(isinstance(part, ast.Constant) and part.value in {*KERNELS, Custom.name} for part in ast.walk(node))
    }
    assert not asking


def test_files_can_be_read_in_one_sitting() -> None:
    long = {m: n for m, path in modules() if (n := len(path.read_text().splitlines())) > 400}
    assert not long


def test_no_function_is_longer_than_fifty_lines() -> None:
    """Without its docstring."""
    long = {}
    for module, path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
                if lines > 50:
                    long[f"{module}.{node.name}"] = lines
    assert not long


def test_there_is_one_row_cache() -> None:
    """Whoever keeps rows of the kernel matrix asks ``RowCache``; memory for them is laid out in one place."""
    assert {module for module, path in modules() if "SlotTable(" in path.read_text()} == {"gram.cache"}
    assert {module for module, path in modules() if "RowMemory(" in path.read_text()} == {
        "gram.features",
        "shards.rows",
    }


def test_public_names_are_there() -> None:
    code = "from slackwater import *; print(*sorted(name for name in dir() if name == '__version__' or name[0] != '_'))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.split() == sorted(slackwater.__all__)
