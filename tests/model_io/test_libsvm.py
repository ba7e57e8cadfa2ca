"""LIBSVM's text, judged by LIBSVM's own programs."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from model_io.models import WORDS, four_classes, rbf_values, unseen
from slackwater import SVC, SBPClassifier, load
from slackwater.baselines import SMOClassifier
from slackwater.errors import ModelFileError

needs_libsvm = pytest.mark.skipif(
    shutil.which("svm-train") is None or shutil.which("svm-predict") is None,
    reason="NOT TESTED AGAINST LIBSVM: svm-train and svm-predict are missing (apt-get install libsvm-tools)",
)
pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::slackwater.errors.IndefiniteKernelWarning"
)


def write_rows(path, X, y):
    """Rows as svm-predict reads them, with all digits."""
    X = sparse.csr_matrix(X)
    with open(path, "w") as stream:
        for row, label in zip(X, y, strict=True):
            entries = " ".join(f"{i + 1}:{v:.17g}" for i, v in zip(row.indices, row.data, strict=True))
            stream.write(f"{label} {entries}\n")


def write_kernel_values(path, K, y):
    with open(path, "w") as stream:
        for number, (row, label) in enumerate(zip(K, y, strict=True), start=1):
            entries = " ".join(f"{i}:{v:.17g}" for i, v in enumerate(row, start=1))
            stream.write(f"{label} 0:{number} {entries}\n")


def svm_predict(folder, data, model):
    subprocess.run(["svm-predict", data, model, folder / "labels"], check=True, capture_output=True)
    return np.loadtxt(folder / "labels").astype(int)


EXPORTED = [
    *(SVC(kernel=kernel) for kernel in ("rbf", "linear", "sigmoid")),
    SVC(kernel="poly", degree=2, coef0=1.0),
    SVC(multi_class="ovr"),
    SVC(kernel="poly", multi_class="ovr", C=10.0),
    SBPClassifier(max_iter=300),
    SMOClassifier(max_iter=300),
]


@needs_libsvm
@pytest.mark.parametrize("estimator", EXPORTED, ids=str)
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("sparsely", [False, True])
def test_svm_predict_gives_our_labels(tmp_path, estimator, classes, sparsely):
    X, y = four_classes()
    y = (y % classes) * 10 - 7
    test = unseen()
    if sparsely:
        X, test = (sparse.csr_matrix(np.where(np.abs(each) > 0.7, each, 0.0)) for each in (X, test))
    model = estimator.fit(X, y)
    model.to_libsvm(tmp_path / "model")
    write_rows(tmp_path / "rows", test, np.zeros(test.shape[0], int))
    expected = model.predict(test)
    assert len(set(expected)) == classes
    np.testing.assert_array_equal(svm_predict(tmp_path, tmp_path / "rows", tmp_path / "model"), expected)
    np.testing.assert_array_equal(load(tmp_path / "model", n_features=6).predict(test), expected)


@needs_libsvm
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_svm_predict_gives_our_labels_with_a_precomputed_kernel(tmp_path, multi_class):
    X, y = four_classes()
    model = SVC(kernel="precomputed", multi_class=multi_class).fit(X @ X.T, y)
    model.to_libsvm(tmp_path / "model")
    K = unseen() @ X.T
    write_kernel_values(tmp_path / "rows", K, np.zeros(len(K), int))
    np.testing.assert_array_equal(svm_predict(tmp_path, tmp_path / "rows", tmp_path / "model"), model.predict(K))
    loaded = load(tmp_path / "model", n_features=len(X))
    np.testing.assert_array_equal(loaded.predict(K), model.predict(K))


@needs_libsvm
@pytest.mark.parametrize(
    "options", ["-t 0", "-t 1 -d 2 -r 1", "-t 2 -g 0.1", "-t 2 -b 1", "-t 3 -g 0.05", "-s 1 -n 0.2"]
)
@pytest.mark.parametrize("classes", [2, 4])
def test_load_reads_what_svm_train_wrote(tmp_path, options, classes):
    """Also with labels in an order of their own, by which LIBSVM decides between classes with as many votes."""
    X, y = four_classes(seed=3)
    order = np.argsort(-y, kind="stable")
    X, y = X[order], (y % classes)[order]
    test = unseen(1500)
    write_rows(tmp_path / "train", X, y)
    write_rows(tmp_path / "rows", test, np.zeros(len(test), int))
    subprocess.run(["svm-train", "-q", *options.split(), tmp_path / "train", tmp_path / "model"], check=True)
    if "-b" in options:
        with pytest.warns(UserWarning, match="probA and probB"):
            loaded = load(tmp_path / "model")
    else:
        loaded = load(tmp_path / "model")
    assert isinstance(loaded, SVC)
    np.testing.assert_array_equal(loaded.predict(test), svm_predict(tmp_path, tmp_path / "rows", tmp_path / "model"))
    again = tmp_path / "again"
    loaded.to_libsvm(again)
    np.testing.assert_array_equal(load(again).predict(test), loaded.predict(test))
    loaded.save(tmp_path / "m.npz")
    np.testing.assert_array_equal(load(tmp_path / "m.npz").decision_function(test), loaded.decision_function(test))


@needs_libsvm
def test_load_reads_a_precomputed_model_of_svm_train(tmp_path):
    X, y = four_classes()
    write_kernel_values(tmp_path / "train", X @ X.T, y)
    subprocess.run(["svm-train", "-q", "-t", "4", tmp_path / "train", tmp_path / "model"], check=True)
    K = unseen() @ X.T
    write_kernel_values(tmp_path / "rows", K, np.zeros(len(K), int))
    expected = svm_predict(tmp_path, tmp_path / "rows", tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model", n_features=len(X)).predict(K), expected)


@needs_libsvm
def test_indices_from_zero_on_are_columns_from_zero_on(tmp_path):
    X, y = four_classes()
    dump_svmlight_file(X, y, str(tmp_path / "train"), zero_based=True)
    subprocess.run(["svm-train", "-q", tmp_path / "train", tmp_path / "model"], check=True)
    dump_svmlight_file(X, y, str(tmp_path / "rows"), zero_based=True)
    loaded = load(tmp_path / "model")
    assert loaded.n_features_in_ == 6
    np.testing.assert_array_equal(loaded.predict(X), svm_predict(tmp_path, tmp_path / "rows", tmp_path / "model"))


# ---- what the format has no place for


@pytest.mark.parametrize(
    ("model", "labels", "message"),
    [
        (SVC(), WORDS, r"labels must be whole numbers.*got 'ash'.*LabelEncoder"),
        (SVC(), np.array([0, 1, 2, 2**40]), r"labels must be whole numbers up to 2147483647"),
        (
            SVC(kernel="laplacian"),
            np.arange(4),
            r"kernel must be one of linear, poly, rbf, sigmoid.*got 'laplacian'.*to_onnx",
        ),
        (SVC(kernel=rbf_values), np.arange(4), r"kernel must be one that the library knows.*'rbf_values'.*save"),
        (SVC(break_ties=True), np.arange(4), r"break_ties must be False.*set_params"),
    ],
)
def test_models_without_a_place_in_the_format_are_refused(tmp_path, model, labels, message):
    X, y = four_classes()
    model.fit(X, labels[y])
    with pytest.raises(ValueError, match=message):
        model.to_libsvm(tmp_path / "model")
    assert not list(tmp_path.iterdir())


# ---- reading what is not a model

TEXT = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 2
rho 0.1
label 1 -1
nr_sv 1 1
SV
0.5 1:1 3:2
-0.5 2:1
"""


def test_the_small_model_below_is_valid(tmp_path):
    (tmp_path / "model").write_text(TEXT)
    loaded = load(tmp_path / "model")
    x = np.array([[1.0, 0.0, 2.0]])
    expected = 0.5 - 0.5 * np.exp(-0.5 * 6.0) - 0.1
    assert loaded.decision_function(x)[0] == pytest.approx(expected, rel=1e-14)
    assert loaded.predict(x).tolist() == [1]
    assert np.isnan(loaded.gap_)
    assert loaded.certified_ is False
    assert load(tmp_path / "model", n_features=9).n_features_in_ == 9


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("c_svc", "epsilon_svr", r"svm_type must be one of c_svc, nu_svc, got 'epsilon_svr'"),
        ("kernel_type rbf", "kernel_type fancy", r"kernel_type must be one of .* got 'fancy'"),
        ("gamma 0.5\n", "", r"must have a line gamma with kernel_type rbf"),
        ("gamma 0.5", "gamma nan", r"gamma must be a finite number, got 'nan'"),
        ("gamma 0.5", "gamma -1", r"gamma must be .*>= 0, got -1"),
        ("nr_class 2", "nr_class 1000000000", r"rho must have 499999999500000000 values, got 1"),
        ("nr_class 2", "nr_class 1", r"nr_class must be at least 2, got 1"),
        ("total_sv 2", "total_sv 900000000", r"nr_sv must add up to total_sv 900000000"),
        ("total_sv 2", "total_sv two", r"total_sv must be a whole number, got 'two'"),
        ("nr_sv 1 1", "nr_sv 3 -1", r"nr_sv must add up"),
        ("label 1 -1", "label 1 1", r"label must be 2 different"),
        ("label 1 -1", "label a b", r"label must be a whole number, got 'a'"),
        ("SV\n", "", r"line 9 must begin with one of svm_type"),
        ("-0.5 2:1\n", "", r"total_sv 2 support vectors, got 1 lines"),
        ("0.5 1:1 3:2", "0.5 3:1 1:2", r"line 10 must have indices .* in rising order"),
        ("0.5 1:1 3:2", "0.5 1:1 99999999999:2", r"line 10 must have indices from 0 to 2147483647"),
        ("0.5 1:1 3:2", "0.5 1:1 x", r"line 10 must have index:value after its coefficients, got 'x'"),
        ("0.5 1:1 3:2", "inf 1:1 3:2", r"line 10 must be a finite number, got 'inf'"),
        ("0.5 1:1 3:2", "1_0 1:1 3:2", r"line 10 must be a finite number, got '1_0'"),
        ("gamma 0.5", "gamma 0.5\ngamma 0.5", r"line 4 must be the only one of gamma"),
    ],
)
def test_text_that_is_no_model_is_refused_with_the_reason(tmp_path, old, new, message):
    assert old in TEXT
    (tmp_path / "model").write_text(TEXT.replace(old, new, 1))
    with pytest.raises(ModelFileError, match=message) as caught:
        load(tmp_path / "model")
    assert str(tmp_path / "model") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_too_few_features_are_refused(tmp_path):
    (tmp_path / "model").write_text(TEXT)
    with pytest.raises(ModelFileError, match="n_features must be at least 3"):
        load(tmp_path / "model", n_features=2)


def test_text_that_is_cut_off_is_refused(tmp_path):
    model = SVC().fit(*four_classes())
    model.to_libsvm(tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    for size in range(1, 100):
        (tmp_path / "model").write_bytes(content[:-size])
        with pytest.raises(ModelFileError):
            load(tmp_path / "model")
