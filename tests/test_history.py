"""The table of a fit."""

from __future__ import annotations

import pickle

import numpy as np
import pandas
import pytest
from sklearn.datasets import make_blobs

from slackwater import SVC, SBPClassifier, load
from slackwater.history import History

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

COLUMNS = ["problem", "step", "evaluations", "seconds", "objective", "bound", "gap", "margin", "n_support"]


@pytest.fixture(scope="module")
def model():
    X, y = make_blobs(90, centers=3, cluster_std=2.0, random_state=0)
    return SBPClassifier(0.05, max_iter=64, tol=0.0, random_state=0).fit(X, y)


def test_each_assessment_of_each_problem_is_a_row(model):
    frame = model.history_.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns)[:9] == COLUMNS
    assert not frame.duplicated(["problem", "step"]).any()
    assert set(frame["problem"]) == {0, 1, 2}
    assert frame[["problem", "step", "evaluations", "n_support"]].dtypes.eq(np.int64).all()
    assert (frame.groupby("problem")["seconds"].diff().dropna() >= 0).all()
    np.testing.assert_array_equal(frame["gap"], model.history_["gap"])


def test_the_rows_of_one_problem_can_be_had_alone(model):
    part = model.history_.of(1)
    assert set(part["problem"].tolist()) == {1}
    assert part.n_rows == int(np.sum(model.history_["problem"] == 1))


def test_it_prints_as_a_table_with_the_first_and_last_rows():
    table = History({"step": np.arange(30), "gap": np.linspace(1.0, 0.0, 30)})
    lines = str(table).splitlines()
    assert lines[0].split() == ["step", "gap"]
    assert len(lines) == 12
    assert lines[1].split() == ["0", "1"]
    assert lines[-1].split() == ["29", "0"]
    assert "30 assessments" in repr(table)


def test_it_survives_pickles_and_model_files(model, tmp_path):
    model.save(tmp_path / "m")
    for copy in (pickle.loads(pickle.dumps(model)), load(tmp_path / "m")):
        assert isinstance(copy.history_, History)
        pandas.testing.assert_frame_equal(copy.history_.to_pandas(), model.history_.to_pandas())


def test_a_subspace_enters_its_model_for_all_examples():
    from fitting_problems import noisy, svc

    X, y, parameters = noisy()
    model = svc(**parameters).fit(X, y)
    assert model.strategy_ == "subspace"
    last = model.history_.to_pandas().iloc[-1]
    assert last["n_support"] == len(model.support_)
    assert last["step"] == model.n_iter_[0]
    assert last["gap"] == model.gap_
    assert isinstance(model, SVC)
