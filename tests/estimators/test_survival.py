"""A process that is killed loses nothing but the time since its last checkpoint."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_moons

from fitting_problems import DATA, svc
from slackwater import SVC, SBPClassifier
from slackwater.errors import CheckpointError
from slackwater.fitting import journal

CASES = ["noisy", "smooth", "separated", "narrow", "detailed", "pairs", "stated", "sbp", "smo", "sdca"]


def survive(case: str, kills: int, folder: Path) -> dict[str, int]:
    script = Path(__file__).with_name("survival.py")
    arguments = [sys.executable, str(script), case, str(kills), "0", str(folder)]
    found = subprocess.run(arguments, capture_output=True, timeout=900, check=False)
    assert found.returncode == 0, found.stderr.decode()
    return json.loads(found.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_fifty_kills_over_all_strategies_change_no_bit_of_the_model(case, tmp_path):
    assert survive(case, 50 // len(CASES), tmp_path)["killed"] == 5


@pytest.mark.parametrize("case", ["separated", "sbp"])
def test_a_killed_run_resumes_to_the_model_of_an_undisturbed_one(case, tmp_path):
    assert survive(case, 1, tmp_path) == {"killed": 1, "compared": 1}


@pytest.fixture
def _kept_often(monkeypatch):
    monkeypatch.setattr(journal, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(journal, "SECONDS_BETWEEN_STAGES", 0.0)
    monkeypatch.setattr(journal, "WORK_BETWEEN_STATES", 2**22)


@pytest.mark.usefixtures("_kept_often")
@pytest.mark.parametrize("data", DATA)
def test_every_strategy_goes_on_from_any_state_that_was_written(data, tmp_path, monkeypatch):
    """Each file that is written is what a kill right after it would have left."""
    make, strategy = DATA[data]
    X, y, parameters = make(9000)
    written = []
    monkeypatch.setattr(journal, "replace_file", lambda path, content: written.append(content))
    whole = svc(strategy=strategy, checkpoint=tmp_path / "a", **parameters).fit(X, y)
    assert len(written) > 3
    for content in [written[1], written[len(written) // 2], written[-2], written[-1]]:
        (tmp_path / "b").write_bytes(content)
        resumed = svc(strategy=strategy, checkpoint=tmp_path / "b", **parameters).fit(X, y)
        np.testing.assert_array_equal(resumed.dual_coef_, whole.dual_coef_)
        np.testing.assert_array_equal(resumed.support_, whole.support_)
        assert resumed.n_kernel_evals_ == whole.n_kernel_evals_
        assert resumed.strategy_ == whole.strategy_ == strategy


def test_a_fit_that_was_over_costs_no_kernel_rows_again(tmp_path, monkeypatch):
    X, y, parameters = DATA["separated"][0](9000)
    svc(strategy="screening", checkpoint=tmp_path / "c", **parameters).fit(X, y)
    steps = []
    monkeypatch.setattr("slackwater.solvers.drive._Run.step", lambda run, active: steps.append(len(active)))
    svc(strategy="screening", checkpoint=tmp_path / "c", **parameters).fit(X, y)
    assert steps == []


@pytest.mark.parametrize(
    "change",
    [{"C": 2.0}, {"gamma": 0.3}, {"random_state": 1}, {"strategy": "exact"}, {"class_weight": {1: 2.0}}, "data"],
    ids=str,
)
def test_a_checkpoint_of_other_data_or_parameters_is_refused(change, tmp_path):
    X, y, parameters = DATA["noisy"][0](9000)
    svc(checkpoint=tmp_path / "c", **parameters).fit(X, y)
    if change == "data":
        X, change = X + 1e-3, {}
    with pytest.raises(CheckpointError, match="other data or other parameters"):
        svc(checkpoint=tmp_path / "c", **{**parameters, **change}).fit(X, y)


def test_a_checkpoint_of_another_version_is_refused(tmp_path, monkeypatch):
    X, y = make_moons(200, noise=0.2, random_state=0)
    SVC(checkpoint=tmp_path / "c").fit(X, y)
    monkeypatch.setattr(journal, "_VERSION", "99.0")
    with pytest.raises(CheckpointError, match=r"written by slackwater .*, and this is 99.0.*delete the file"):
        SVC(checkpoint=tmp_path / "c").fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.usefixtures("_kept_often")
def test_damaged_journals_are_refused_and_named(tmp_path):
    X, y = make_moons(500, noise=0.2, random_state=0)
    path = tmp_path / "c"
    SBPClassifier(0.02, tol=0.0, max_iter=300, checkpoint=path, random_state=0).fit(X, y)
    good, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(60):
        bad = bytearray(good)
        bad[rng.integers(len(bad))] ^= 1 << rng.integers(8)
        path.write_bytes(bad if rng.random() < 0.7 else good[: rng.integers(len(good))])
        with pytest.raises(CheckpointError, match="Delete the file"):
            SBPClassifier(0.02, tol=0.0, max_iter=300, checkpoint=path, random_state=0).fit(X, y)


SHARED = """
import sys
from sklearn.datasets import make_moons
from slackwater import SBPClassifier
from slackwater.fitting import journal
journal.SECONDS_BETWEEN_CHECKPOINTS, journal.WORK_BETWEEN_STATES = 0.0, 2**17
X, y = make_moons(500, noise=0.2, random_state=0)
SBPClassifier(0.02, tol=0.0, max_iter=2000, checkpoint=sys.argv[1], random_state=0).fit(X, y)
"""


def test_processes_that_share_a_path_do_not_take_each_others_part_file(tmp_path):
    arguments = [sys.executable, "-W", "ignore::UserWarning", "-c", SHARED, str(tmp_path / "c")]
    running = [subprocess.Popen(arguments, stderr=subprocess.PIPE) for _ in range(3)]
    found = [(each.communicate(timeout=300)[1], each.returncode) for each in running]
    assert found == [(b"", 0)] * 3
    assert [each.name for each in tmp_path.iterdir()] == ["c"]
