"""ONNX graphs, judged by onnxruntime."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from model_io.models import WORDS, four_classes, rbf_values, unseen
from slackwater import SVC, SBPClassifier
from slackwater.baselines import KernelPerceptron, SIMBAClassifier, SMOClassifier
from slackwater.model_io import onnx_graph

onnx = pytest.importorskip("onnx", reason="NOT TESTED AGAINST ONNX: pip install onnx onnxruntime skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="NOT TESTED AGAINST ONNX: pip install onnxruntime")
pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::slackwater.errors.IndefiniteKernelWarning"
)

TOLERANCES = {np.float32: 1e-4, np.float64: 1e-9}


def answers(graph, X):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(["label", "scores"], {session.get_inputs()[0].name: X})


def assert_same_answers(graph, model, X, dtype):
    X = X.astype(dtype)
    labels, scores = answers(graph, X)
    expected = model.decision_function(X.astype(np.float64))
    assert scores.dtype == dtype
    assert scores.shape == expected.shape
    np.testing.assert_allclose(scores, expected, rtol=0, atol=TOLERANCES[dtype])
    np.testing.assert_array_equal(labels, model.predict(X.astype(np.float64)))


MODELS = [
    *(SVC(kernel=kernel) for kernel in ("rbf", "laplacian", "linear", "poly", "sigmoid")),
    *(SVC(kernel=kernel, multi_class="ovr") for kernel in ("rbf", "laplacian", "linear", "poly", "sigmoid")),
    SVC(kernel="poly", degree=2, coef0=1.0, gamma=0.1),
    SVC(decision_function_shape="ovo"),
    SVC(break_ties=True),
    SBPClassifier(max_iter=300),
    SMOClassifier(max_iter=500),
    KernelPerceptron(),
    SIMBAClassifier(max_iter=300),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("estimator", MODELS, ids=str)
def test_onnxruntime_gives_our_labels_and_scores(estimator, classes, dtype):
    X, y = four_classes()
    model = estimator.fit(X, y % classes)
    assert_same_answers(model.to_onnx(dtype=dtype), model, unseen(), dtype)


@pytest.mark.parametrize(
    "labels", [WORDS, WORDS.astype(object), np.array([0.0, 2.0, 4.0, 6.0]), np.array([9, 8, 7, -1])], ids=str
)
def test_labels_keep_their_type(labels):
    X, y = four_classes()
    model = SVC().fit(X, labels[y])
    assert_same_answers(model.to_onnx(dtype=np.float64), model, unseen(), np.float64)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_models_of_sparse_rows(dtype, multi_class):
    X, y = four_classes()
    model = SVC(multi_class=multi_class).fit(sparse.csr_matrix(np.where(np.abs(X) > 0.7, X, 0.0)), y)
    assert_same_answers(model.to_onnx(dtype=dtype), model, unseen(), dtype)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_precomputed_kernels(multi_class):
    X, y = four_classes()
    model = SVC(kernel="precomputed", multi_class=multi_class).fit(rbf_values(X, X), y)
    for dtype in (np.float32, np.float64):
        assert_same_answers(model.to_onnx(dtype=dtype), model, rbf_values(unseen(), X), dtype)


def test_ties_of_votes_and_values_are_decided_as_predict_does():
    """Three classes in a circle, each beating the next: one vote each everywhere; and decision values of exactly 0."""
    model = SVC(kernel="linear").fit(np.eye(3), [0, 1, 2])
    model.support_vectors_ = np.eye(3)
    model.dual_coef_ = np.zeros((2, 3))
    for intercept in ([1.0, -1.0, 1.0], [0.0, 0.0, 0.0], [-1.0, 1.0, -1.0], [0.0, 1.0, -1.0]):
        model.intercept_ = np.array(intercept)
        for break_ties in (False, True):
            model.set_params(break_ties=break_ties)
            assert_same_answers(model.to_onnx(dtype=np.float64), model, np.ones((2, 3)), np.float64)


def test_rows_far_from_the_origin_do_not_lose_their_digits():
    X, y = four_classes()
    model = SVC(gamma=0.2).fit(X + 50.0, y)
    # Rounded to single precision first: what the rows themselves lose is not the graph's fault.
    rows = (unseen() + 50.0).astype(np.float32)
    assert_same_answers(model.to_onnx(), model, rows, np.float32)


def test_a_class_without_support_vectors():
    X, y = four_classes()
    model = SVC(kernel="linear").fit(X, y)
    keep = np.arange(len(model.support_)) >= model.n_support_[0]
    model.dual_coef_, model.support_, model.support_vectors_ = (
        model.dual_coef_[:, keep],
        model.support_[keep],
        model.support_vectors_[keep],
    )
    model.n_support_ = np.array([0, *model.n_support_[1:]])
    assert_same_answers(model.to_onnx(dtype=np.float64), model, unseen(), np.float64)


def test_a_file_is_written_on_demand(tmp_path):
    X, y = four_classes()
    graph = SVC().fit(X, y).to_onnx(tmp_path / "m.onnx")
    assert onnx.load(tmp_path / "m.onnx") == graph


def test_what_onnx_cannot_hold_is_refused():
    X, y = four_classes()
    with pytest.raises(ValueError, match=r"kernel must be one that the library knows for to_onnx"):
        SVC(kernel=rbf_values).fit(X, y).to_onnx()
    described = SVC().fit(X, y)._kernel_model("to_onnx")
    described = replace(described, kernel=replace(described.kernel, name="matern"))
    with pytest.raises(ValueError, match=r"kernel must be one of .*rbf.* or precomputed for ONNX, got 'matern'"):
        onnx_graph.to_model(described, np.dtype(np.float32))
    with pytest.raises(ValueError, match=r"dtype must be numpy.float32 or numpy.float64, got float16"):
        SVC().fit(X, y).to_onnx(dtype=np.float16)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "estimator",
    [SVC(), SVC(kernel="laplacian"), SVC(multi_class="ovr"), SVC(kernel="linear"), SBPClassifier(max_iter=300)],
    ids=str,
)
@pytest.mark.parametrize("labels", [np.arange(4), WORDS, np.array([False, True, False, True])], ids=str)
def test_pipelines_convert(estimator, labels, dtype):
    skl2onnx = pytest.importorskip("skl2onnx", reason="NOT TESTED WITH PIPELINES: pip install skl2onnx")
    from slackwater.model_io.onnx import register

    register()
    X, y = four_classes()
    pipeline = make_pipeline(StandardScaler(), estimator).fit(3.0 * X + 5.0, labels[y])
    graph = skl2onnx.to_onnx(pipeline, X[:1].astype(dtype))
    assert_same_answers(graph, pipeline, 3.0 * unseen() + 5.0, dtype)


def test_labels_beyond_what_onnx_has_are_refused():
    X, y = four_classes()
    labels = np.array([0, 2**63], dtype=np.uint64)[(y > 1).astype(int)]
    with pytest.raises(ValueError, match="labels must be at most"):
        SVC().fit(X, labels).to_onnx()
