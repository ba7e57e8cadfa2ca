"""What the documentation prints is what happens."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import slackwater.estimators.baselines.descent
import slackwater.estimators.baselines.dual
import slackwater.estimators.baselines.fourier
import slackwater.estimators.baselines.perceptron
import slackwater.estimators.baselines.simba
import slackwater.estimators.loading
import slackwater.estimators.sbp
import slackwater.estimators.svc
import slackwater.model_io.onnx
import slackwater.path.front

README = Path(__file__).parent.parent / "README.md"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "module",
    [
        slackwater.estimators.sbp,
        slackwater.estimators.svc,
        slackwater.estimators.baselines.descent,
        slackwater.estimators.baselines.dual,
        slackwater.estimators.baselines.fourier,
        slackwater.estimators.baselines.perceptron,
        slackwater.estimators.baselines.simba,
        slackwater.estimators.loading,
        slackwater.model_io.onnx,
        slackwater.path.front,
    ],
    ids=lambda module: module.__name__,
)
def test_docstring_examples_hold(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_five_lines_of_the_readme_print_what_it_says(capsys):
    text = README.read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    score, gap, reason = capsys.readouterr().out.split()
    said_score, said_gap, said_reason = re.search(r"prints about `(\S+) (\S+) (\S+)`", text).groups()
    assert float(score) == pytest.approx(float(said_score), abs=0.005)
    assert float(gap) <= 1e-3
    assert float(said_gap) <= 1e-3
    assert reason == said_reason


def test_files_that_the_readme_links_to_exist():
    links = re.findall(r"\]\((?!http)([^)#]+)\)", README.read_text())
    assert links
    assert all((README.parent / link).exists() for link in links)
