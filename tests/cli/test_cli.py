"""The command as a user types it."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import slackwater
from slackwater.cli.main import app


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # matplotlib 3.8 with a newer pyparsing
def test_the_demo_compares_and_draws(tmp_path):
    result = CliRunner().invoke(app, ["demo", "--steps", "300", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "slackwater.SBPClassifier" in result.output
    assert "sklearn.svm.SVC" in result.output
    assert re.search(r"within \S+\s+\(certified\).*within \S+\s+\(estimated", result.output, re.DOTALL)
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_info_names_versions_and_data():
    result = CliRunner().invoke(app, ["info"])
    assert result.exit_code == 0
    assert "scikit-learn" in result.output
    assert "data sets found" in result.output


def test_the_version_is_shown():
    result = CliRunner().invoke(app, ["--version"])
    assert result.output.strip() == f"slackwater {slackwater.__version__}"


@pytest.mark.parametrize("library", ["typer", "rich", "matplotlib"])
def test_a_missing_library_is_named_with_the_command_that_installs_it(library):
    code = f"import sys; sys.modules['{library}'] = None; sys.argv = ['slackwater', 'demo']; import slackwater.__main__"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode != 0
    assert "pip install 'slackwater[demo]'" in run.stderr
    assert library in run.stderr
