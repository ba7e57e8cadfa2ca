"""``save`` and ``load``: the same estimator, bit for bit, from a file without code."""

from __future__ import annotations

import errno
import json
import os
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_classification

from model_io.models import WORDS, four_classes, letters_in_common, rbf_values, unseen
from slackwater import SVC, SBPClassifier, load
from slackwater.baselines import (
    FourierSVC,
    KernelPerceptron,
    NormBallSGDClassifier,
    PegasosClassifier,
    SDCAClassifier,
    SIMBAClassifier,
    SMOClassifier,
)
from slackwater.errors import ModelFileError
from slackwater.kernels import Gaussian

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::slackwater.errors.IndefiniteKernelWarning"
)

ESTIMATORS = [
    *(SVC(kernel=kernel) for kernel in ("rbf", "laplacian", "linear", "poly", "sigmoid")),
    SVC(multi_class="ovr", class_weight="balanced", tol=1e-3),
    SVC(decision_function_shape="ovo", C=100.0, random_state=3),
    SVC(break_ties=True, class_weight={0: 2.0, 1: 0.5}),
    SVC(kernel=Gaussian(0.3)),
    SBPClassifier(max_iter=200),
    SBPClassifier(max_iter=200, fit_intercept=True, random_state=5),
    PegasosClassifier(max_iter=300),
    NormBallSGDClassifier(max_iter=300),
    SDCAClassifier(max_iter=300),
    SMOClassifier(max_iter=300),
    KernelPerceptron(),
    SIMBAClassifier(max_iter=300),
    FourierSVC(n_pairs=20),
]


def round_trip(model, path, **given):
    model.save(path)
    return load(path, **given)


def assert_same_model(loaded, model, X):
    assert type(loaded) is type(model)
    values, expected = loaded.decision_function(X), model.decision_function(X)
    assert values.dtype == expected.dtype
    np.testing.assert_array_equal(values, expected)
    labels = loaded.predict(X)
    assert labels.dtype == model.predict(X).dtype
    np.testing.assert_array_equal(labels, model.predict(X))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("classes", [2, 4])
def test_a_loaded_model_is_the_saved_one_bit_for_bit(tmp_path, estimator, classes):
    X, y = four_classes()
    if classes == 2:
        estimator = estimator.__class__(**{**estimator.get_params(), "class_weight": None})
        y = y % 2
    model = estimator.fit(X, y)
    loaded = round_trip(model, tmp_path / "m.npz")
    assert_same_model(loaded, model, unseen())
    for name, value in model.get_params().items():
        assert name == "kernel" or getattr(loaded, name) == value
    assert repr(loaded.get_params().get("kernel")) == repr(model.get_params().get("kernel"))


def test_what_only_training_needs_is_left_out(tmp_path):
    X, y = four_classes()
    chance = np.random.RandomState(0)
    model = SBPClassifier(max_iter=100, random_state=chance, callback=lambda moment: None).fit(X, y)
    loaded = round_trip(model, tmp_path / "m.npz")
    assert loaded.callback is None
    assert loaded.random_state is None
    assert_same_model(loaded, model, unseen())


def test_the_account_of_the_fit_travels_along(tmp_path):
    X, y = four_classes()
    model = SVC(tol=1e-3).fit(X, y)
    loaded = round_trip(model, tmp_path / "m.npz")
    for name in ("support_", "support_vectors_", "dual_coef_", "intercept_", "n_support_", "gap_", "margin_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
        assert np.asarray(getattr(loaded, name)).dtype == np.asarray(getattr(model, name)).dtype
    for name in ("certified_", "stop_reason_", "strategy_", "n_kernel_evals_", "n_features_in_"):
        assert getattr(loaded, name) == getattr(model, name)
    np.testing.assert_array_equal(loaded.n_iter_, model.n_iter_)
    assert list(loaded.history_) == list(model.history_)
    for name, column in model.history_.items():
        np.testing.assert_array_equal(loaded.history_[name], column)
        assert loaded.history_[name].dtype == column.dtype
    assert str(loaded.decisions_) == str(model.decisions_)
    np.testing.assert_array_equal(loaded.certify(X, y), model.certify(X, y))


def test_decisions_of_a_fit_are_kept(tmp_path):
    X, y = four_classes(9000)
    model = SVC(gamma=0.05).fit(X, y % 2)
    assert len(model.decisions_) > 0
    loaded = round_trip(model, tmp_path / "m.npz")
    assert list(loaded.decisions_) == list(model.decisions_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_sparse_models_stay_sparse(tmp_path, dtype, kernel):
    X, y = four_classes()
    rows = sparse.csr_matrix(np.where(np.abs(X) > 1.0, X, 0.0), dtype=dtype)
    model = SVC(kernel=kernel).fit(rows, y)
    loaded = round_trip(model, tmp_path / "m.npz")
    assert type(loaded.support_vectors_) is type(model.support_vectors_)
    assert loaded.support_vectors_.dtype == dtype
    assert_same_model(loaded, model, rows)
    assert_same_model(loaded, model, unseen().astype(dtype))


def test_sparse_coefficients_are_kept_sparse(tmp_path):
    X, y = four_classes()
    model = SVC().fit(X, y)
    expected = model.dual_coef_
    model.dual_coef_ = sparse.csr_matrix(expected)
    loaded = round_trip(model, tmp_path / "m.npz")
    assert sparse.issparse(loaded.dual_coef_)
    np.testing.assert_array_equal(loaded.dual_coef_.toarray(), expected)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_precomputed_kernels(tmp_path, multi_class):
    X, y = four_classes()
    model = SVC(kernel="precomputed", multi_class=multi_class).fit(X @ X.T, y)
    assert_same_model(round_trip(model, tmp_path / "m.npz"), model, unseen() @ X.T)


@pytest.mark.parametrize(
    "labels",
    [
        WORDS,
        WORDS.astype(object),
        np.array([-3, 5, 7, 2**40]),
        np.array([0.0, 1.0, 2.0, 3.0]),
        np.array([0, 1, 2, 3], np.int8),
        np.array(["ä", "𝔸", "", "\n"]),
    ],
    ids=str,
)
def test_labels_of_any_type(tmp_path, labels):
    X, y = four_classes()
    model = SVC().fit(X, labels[y])
    loaded = round_trip(model, tmp_path / "m.npz")
    assert loaded.classes_.dtype == model.classes_.dtype
    assert_same_model(loaded, model, unseen())


def test_truth_values_as_labels(tmp_path):
    X, y = four_classes()
    model = SVC().fit(X, y > 1)
    assert_same_model(round_trip(model, tmp_path / "m.npz"), model, unseen())


def test_feature_names_are_kept_and_checked(tmp_path):
    X, y = four_classes()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = SVC().fit(frame, y)
    loaded = round_trip(model, tmp_path / "m.npz")
    assert loaded.feature_names_in_.tolist() == list("abcdef")
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns={"a": "z"}))


# ---- kernels of one's own


def test_a_custom_kernel_is_demanded_at_load(tmp_path):
    X, y = four_classes()
    model = SVC(kernel=rbf_values).fit(X, y)
    path = tmp_path / "m.npz"
    model.save(path)
    with pytest.raises(ModelFileError, match=r"kernel must be passed: it was trained with 'rbf_values'"):
        load(path)
    assert_same_model(load(path, kernel=rbf_values), model, unseen())
    assert load(path, kernel=rbf_values).kernel is rbf_values


def test_another_kernel_than_the_trained_one_is_noticed(tmp_path):
    X, y = four_classes()
    SVC(kernel=rbf_values).fit(X, y).save(tmp_path / "m.npz")
    with pytest.raises(ModelFileError, match="values of the support vectors differ by"):
        load(tmp_path / "m.npz", kernel=lambda A, B: rbf_values(A, B) ** 2)


def test_a_kernel_is_refused_where_the_file_names_one(tmp_path):
    X, y = four_classes()
    SVC().fit(X, y).save(tmp_path / "m.npz")
    with pytest.raises(ModelFileError, match="kernel must be None"):
        load(tmp_path / "m.npz", kernel=rbf_values)


@pytest.mark.parametrize("container", [list, np.array])
def test_words_with_a_kernel_of_ones_own(tmp_path, container):
    words = ["tide", "edit", "wave", "weave", "sand", "dunes", "foam", "loam", "salt", "last"]
    labels = [0, 0, 1, 1, 0, 0, 1, 1, 0, 0]
    model = SVC(kernel=letters_in_common).fit(container(words), labels)
    loaded = round_trip(model, tmp_path / "m.npz", kernel=letters_in_common)
    assert_same_model(loaded, model, container(["slate", "moat", "wade"]))


class Stepped(Gaussian):
    """A subclass of a kernel that the library knows: its name alone would say too little."""

    def fill(self, left, right, out):
        super().fill(left, right, out)
        out *= 0.5


def test_a_subclass_of_a_known_kernel_is_a_custom_one(tmp_path):
    X, y = four_classes()
    model = SVC(kernel=Stepped(0.3)).fit(X, y)
    model.save(tmp_path / "m.npz")
    with pytest.raises(ModelFileError, match="'Stepped'"):
        load(tmp_path / "m.npz")
    assert_same_model(load(tmp_path / "m.npz", kernel=Stepped(0.3)), model, unseen())


# ---- the file


def test_the_same_model_is_the_same_file(tmp_path):
    X, y = four_classes()
    model = SVC().fit(X, y)
    model.save(tmp_path / "a")
    load(tmp_path / "a").save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_numpy_alone_can_read_header_and_arrays(tmp_path):
    X, y = four_classes()
    model = SVC(C=2.0).fit(X, WORDS[y])
    model.save(tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz", allow_pickle=False) as archive:
        header = json.loads(archive["header"].tobytes().split(b"\n", 1)[1])
        np.testing.assert_array_equal(archive["support_vectors_"], model.support_vectors_)
    assert header["version"] == 1
    assert header["estimator"] == "SVC"
    assert header["parameters"]["C"] == 2.0
    assert header["kernel"]["name"] == "rbf"
    assert header["attributes"]["classes_"]["short"] == WORDS.tolist()
    assert header["attributes"]["certified_"] is True
    assert {"slackwater", "numpy", "python"} <= set(header["written_by"])


def test_saving_needs_a_fitted_model(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        SVC().save(tmp_path / "m.npz")
    assert not list(tmp_path.iterdir())


def test_classes_of_ones_own_are_refused(tmp_path):
    class Mine(SVC):
        pass

    X, y = four_classes()
    with pytest.raises(TypeError, match=r"save knows SVC.*joblib"):
        Mine().fit(X, y).save(tmp_path / "m.npz")


def test_an_attribute_that_a_file_cannot_hold_is_named(tmp_path):
    X, y = four_classes()
    model = SVC().fit(X, y)
    model.helper_ = object()
    with pytest.raises(TypeError, match=r"helper_ must be numbers, text.*joblib"):
        model.save(tmp_path / "m.npz")


# ---- written whole or not at all


@pytest.fixture
def saved(tmp_path):
    X, y = four_classes()
    model = SVC().fit(X, y)
    path = tmp_path / "m.npz"
    model.save(path)
    return model, path, path.read_bytes()


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file(saved, monkeypatch, failure, moment):
    model, path, before = saved

    def fail(*_):
        raise failure

    monkeypatch.setattr(os, moment, fail)
    for write in (model.save, model.to_libsvm):
        with pytest.raises(type(failure)):
            write(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_device_is_an_error_of_the_system(saved, monkeypatch):
    model, path, before = saved
    real_open = open
    monkeypatch.setattr(
        "builtins.open",
        lambda name, mode="r", *a, **k: real_open(
            "/dev/full" if mode == "xb" else name, mode[-2:].replace("x", "w"), *a, **k
        ),
    )
    with pytest.raises(OSError, match="No space left"):
        model.save(path)
    assert path.read_bytes() == before


def test_a_link_stays_a_link(saved, tmp_path):
    model, path, _ = saved
    link = tmp_path / "link.npz"
    link.symlink_to(path)
    model.set_params(C=3.0).save(link)
    assert link.is_symlink()
    assert load(path).C == 3.0


# ---- pickles


def test_pickle_and_joblib_round_trips(tmp_path):
    import pickle

    import joblib

    X, y = four_classes()
    for model in (SVC().fit(X, y), SBPClassifier(max_iter=100).fit(X, y), FourierSVC(n_pairs=10).fit(X, y)):
        assert_same_model(pickle.loads(pickle.dumps(model)), model, unseen())
        joblib.dump(model, tmp_path / "m.joblib")
        assert_same_model(joblib.load(tmp_path / "m.joblib"), model, unseen())


@pytest.mark.parametrize(
    "estimator", [SVC(), SVC(kernel="linear", multi_class="ovr"), SBPClassifier(max_iter=100)], ids=str
)
def test_skops_round_trip(tmp_path, estimator):
    skops = pytest.importorskip("skops.io")
    X, y = four_classes()
    model = estimator.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        skops.dump(model, tmp_path / "m.skops")
        unknown = skops.get_untrusted_types(file=tmp_path / "m.skops")
        assert all(name.startswith("slackwater.") for name in unknown)
        loaded = skops.load(tmp_path / "m.skops", trusted=unknown)
    assert_same_model(loaded, model, unseen())


def test_no_pickle_is_ever_read(tmp_path):
    import pickle

    class Exploit:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "owned"),)

    for content in (pickle.dumps(Exploit()), pickle.dumps(Exploit(), protocol=0)):
        (tmp_path / "m").write_bytes(content)
        with pytest.raises(ModelFileError, match="pickle"):
            load(tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m", "w") as archive:
        archive.writestr(
            "header.npy",
            b"\x93NUMPY\x01\x00"
            + (118).to_bytes(2, "little")
            + b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(118)
            + pickle.dumps(Exploit()),
        )
    with pytest.raises(ModelFileError):
        load(tmp_path / "m")
    assert not (tmp_path / "owned").exists()


@pytest.fixture(scope="module")
def scaled_model():
    """A model found by blocks of rows, whose decision values are a multiple of what its coefficients give."""
    X, y = make_classification(2000, 6, n_informative=6, n_redundant=0, n_classes=3, flip_y=0.1, random_state=0)
    model = SVC(C=10.0, gamma=0.1, max_kernel_evals=10**12).fit(X, y)
    assert model.scale_.max() > 1.0
    return model, X + 0.1


def test_the_scale_of_a_model_travels(scaled_model, tmp_path):
    model, X = scaled_model
    expected = model.decision_function(X)
    np.testing.assert_array_equal(round_trip(model, tmp_path / "model").decision_function(X), expected)
    model.to_libsvm(tmp_path / "text")
    np.testing.assert_allclose(load(tmp_path / "text").decision_function(X), expected, atol=1e-9)
    smaller = model.compress(max_support=len(model.support_) - 1)
    np.testing.assert_allclose(smaller.decision_function(X), expected, atol=1e-2)


def test_probabilities_travel(tmp_path):
    for n_classes in (2, 4):
        X, y = four_classes()
        kept = y < n_classes
        model = SVC(probability=True).fit(X[kept], y[kept])
        loaded = round_trip(model, tmp_path / "model")
        np.testing.assert_array_equal(loaded.predict_proba(unseen()), model.predict_proba(unseen()))


def test_probabilities_that_do_not_fit_the_classes_are_refused(tmp_path):
    model = SVC(probability=True).fit(*four_classes())
    classifier = model._calibrator.calibrated_classifiers_[0]
    classifier.calibrators.pop()
    model.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="calibration must be 4 × 2 finite numbers"):
        load(tmp_path / "model")
