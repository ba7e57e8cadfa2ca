"""Run the tests on every supported Python that this machine has, with the newest and with the oldest dependencies.

    python tests/release/matrix.py [--only 3.10-oldest 3.13 ...] [--tests tests/water ...]

The newest dependencies on each of them, the oldest ones on the oldest. Environments are kept in .venv-matrix. A Python
that is missing is named; exit code 1 if any tests fail, or if none but the running Python was found.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
VERSIONS = ("3.10", "3.11", "3.12", "3.13")


class Cell(NamedTuple):
    version: str
    oldest: bool

    @property
    def name(self) -> str:
        return f"{self.version}-oldest" if self.oldest else self.version


def interpreter(version: str) -> Path | None:
    """On the path, or among pyenv's; a shim that only tells what is missing does not count."""
    candidates = [shutil.which(f"python{version}")]
    candidates += sorted(map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")))
    for candidate in filter(None, candidates):
        asked = subprocess.run(
            [candidate, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"],
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        if asked.stdout.strip() == version:
            return Path(candidate)
    return None


def prepared(cell: Cell, python: Path) -> Path:
    """The Python of an environment with the package and what its tests need."""
    folder = ROOT / ".venv-matrix" / cell.name
    own = folder / "bin" / "python"
    if not own.exists():
        subprocess.run([python, "-m", "venv", folder], check=True, timeout=300)
    extras = "test,oldest" if cell.oldest else "test"
    install = [own, "-m", "pip", "install", "--quiet", "--upgrade", "--upgrade-strategy", "eager"]
    subprocess.run([*install, "pip"], check=True, timeout=600)
    subprocess.run([*install, "-e", f".[{extras}]"], check=True, cwd=ROOT, timeout=1800)
    return own


def passes(cell: Cell, python: Path, tests: list[str]) -> bool:
    own = prepared(cell, python)
    names = ("numpy", "scipy", "scikit-learn", "numba")
    said = f"from importlib.metadata import version; print(*[f'{{n}} {{version(n)}}' for n in {names}], sep=', ')"
    found = subprocess.run([own, "-c", said], capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    print(f"== Python {cell.name}: {found}", flush=True)
    command = [own, "-m", "pytest", "-n", "2", "-m", "not slow", *tests]
    return subprocess.run(command, cwd=ROOT, check=False, timeout=7200).returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", metavar="CELL")
    parser.add_argument("--tests", nargs="*", default=[])
    arguments = parser.parse_args()
    found = {version: python for version in VERSIONS if (python := interpreter(version)) is not None}
    cells = [Cell(version, False) for version in found]
    cells += [Cell(min(found, key=VERSIONS.index), True)] if found else []
    if arguments.only is not None:
        cells = [cell for cell in cells if cell.name in arguments.only]
    results = {cell.name: passes(cell, found[cell.version], arguments.tests) for cell in cells}
    for name, good in results.items():
        print(f"Python {name}: {'passed' if good else 'FAILED'}")
    missing = [version for version in VERSIONS if version not in found]
    print(f"not on this machine: {', '.join(missing) or 'none'}")
    sys.exit(0 if results and all(results.values()) else 1)


if __name__ == "__main__":
    main()
