"""Build wheel and sdist, look into them, install each into an empty environment, run and type-check a user's scripts.

    python tests/release/dist_check.py [--out dist]

Nothing of this checkout is on the path of what is installed. Exit code 0 if all is well.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
FOREIGN = ("tests/", "docs/", "bench/", "paper/", "examples/")  # what a wheel must not hold
NEEDED = ("slackwater/__init__.py", "slackwater/py.typed", "slackwater/report/page.css")


def run(*command: str | Path, cwd: Path, minutes: float = 15) -> None:
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], cwd=cwd, check=True, timeout=60 * minutes)


def check_wheel(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    strays = [name for name in names if name.startswith(FOREIGN)]
    missing = [name for name in NEEDED if name not in names]
    if strays or missing:
        sys.exit(f"{wheel.name} holds {strays[:5]}, lacks {missing}")


def check_sdist(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    missing = {"LICENSE", "README.md", "CHANGELOG.md", "Makefile", "tests/conftest.py", "docs/conf.py"} - names
    if missing:
        sys.exit(f"{sdist.name} lacks {sorted(missing)}")


def empty_environment(folder: Path) -> Path:
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def check_installed(distribution: Path, place: Path, *, typed: bool) -> None:
    """Install into an empty environment and use it from an empty folder: the library alone, then with the command."""
    python = empty_environment(place / "env")
    run(python, "-m", "pip", "install", "--quiet", distribution, cwd=place)
    shutil.copy(HERE / "smoke.py", place)
    run(python, "-I", "smoke.py", cwd=place)
    run(python, "-m", "pip", "install", "--quiet", f"{distribution}[cli]", cwd=place)
    run(python, "-I", "smoke.py", "--command", cwd=place)
    if typed:
        run(python, "-m", "pip", "install", "--quiet", "mypy>=1.15", cwd=place)
        shutil.copy(HERE / "user_script.py", place)
        run(python, "-m", "mypy", "--strict", "--python-version", "3.12", "user_script.py", cwd=place)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    out = parser.parse_args().out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", out, ROOT, cwd=ROOT)
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    check_wheel(wheel)
    check_sdist(sdist)
    for distribution in (wheel, sdist):
        with tempfile.TemporaryDirectory() as folder:
            check_installed(distribution, Path(folder), typed=distribution == wheel)
    print(f"{wheel.name} and {sdist.name}: built, installed, used")


if __name__ == "__main__":
    main()
