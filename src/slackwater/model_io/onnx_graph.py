"""A kernel model as an ONNX graph of standard operators, in single or double precision.

``ai.onnx.ml.SVMClassifier`` has float32 attributes and LIBSVM's kernels only; matrix products and exponentials are all
that is needed: kernel values of X and the support vectors, decision values, votes, labels. Works from opset 13 on.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from slackwater.linear_functions import weighted_sums
from slackwater.model_io.model import Form, KernelModel
from slackwater.points import DensePoints

OPSET = 15
_IR_VERSION = 8  # of that opset's time, so that older runtimes read the file
_MAX_BYTES = 2**31 - 2**20  # of a protocol buffer
TYPES = (np.dtype(np.float32), np.dtype(np.float64))


class Graph(Protocol):
    """Where operators are put: a model of its own, or a part of a pipeline's."""

    def node(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Add an operator; the name of its output, or a list of names where there are several."""

    def constant(self, value: NDArray[Any]) -> str:
        """Add a constant; its name."""


class ModelGraph:
    """Nodes and constants of a model of its own."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._names = 0

    def _name(self, kind: str) -> str:
        self._names += 1
        return f"{kind}_{self._names}"

    def node(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        from onnx import helper

        names = [self._name(operator) for _ in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value: NDArray[Any]) -> str:
        self.constants.append(tensor(self._name("constant"), value))
        return str(self.constants[-1].name)


def tensor(name: str, value: NDArray[Any]) -> Any:
    """An array as a constant of a graph."""
    from onnx import numpy_helper

    return numpy_helper.from_array(np.ascontiguousarray(value), name)


def to_model(model: KernelModel, dtype: np.dtype[Any]) -> Any:
    """A whole ONNX model: input ``X``, outputs ``label`` and ``scores``."""
    try:
        from onnx import checker, helper
    except ImportError as error:
        raise ImportError('to_onnx needs the package onnx: pip install "slackwater[onnx]"') from error
    if dtype not in TYPES:
        raise ValueError(f"dtype must be numpy.float32 or numpy.float64, got {dtype}. It is the type of X and scores.")
    graph = ModelGraph()
    labels, scores = add_classifier(graph, model, "X", dtype)
    graph.nodes += [
        helper.make_node("Identity", [labels], ["label"]),
        helper.make_node("Identity", [scores], ["scores"]),
    ]
    kind = helper.np_dtype_to_tensor_dtype(dtype)
    inputs = [helper.make_tensor_value_info("X", kind, [None, model.n_features])]
    outputs = [
        helper.make_tensor_value_info("label", helper.np_dtype_to_tensor_dtype(onnx_labels(model).dtype), [None]),
        helper.make_tensor_value_info("scores", kind, score_shape(model)),
    ]
    made = helper.make_model(
        helper.make_graph(graph.nodes, "slackwater", inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=_IR_VERSION,
        producer_name="slackwater",
    )
    checker.check_model(made)
    return made


def score_shape(model: KernelModel) -> list[int | None]:
    """The shape of ``decision_function``; the number of rows is not known."""
    if model.form is Form.TWO_CLASSES:
        return [None]
    return [None, len(model.intercept) if model.scores_by_pair else model.n_classes]


def onnx_labels(model: KernelModel) -> NDArray[Any]:
    """Labels in a type that ONNX has: whole numbers as int64, text as str objects, others in double precision."""
    classes = model.classes
    if classes.dtype.kind == "u" and classes.max() > np.iinfo(np.int64).max:
        raise ValueError(
            f"labels must be at most 2**63 - 1 in ONNX, got {classes.max()}. Number the classes otherwise."
        )
    if classes.dtype.kind in "biu":
        return classes.astype(np.bool_ if classes.dtype.kind == "b" else np.int64)
    if classes.dtype.kind == "f":
        return classes.astype(np.float64)
    labels = classes.tolist()
    if not all(isinstance(label, str) for label in labels):
        raise ValueError(
            f"labels must be numbers or text for ONNX, got {labels[0]!r}. Train with text or numbers as labels."
        )
    return np.array(labels, dtype=object)


def add_classifier(graph: Graph, model: KernelModel, rows: str, dtype: np.dtype[Any]) -> tuple[str, str]:
    """Add the operators from rows to labels and scores; the names of both."""
    n, d = len(model.support), model.n_features
    if dtype.itemsize * n * (d + model.dual_coef.shape[0]) > _MAX_BYTES:
        raise ValueError(
            f"an ONNX model must be smaller than 2 GB, and {n} support vectors of {d} features are not. "
            "Use compress to have fewer support vectors."
        )
    values = _decision_values(graph, model, rows, dtype)
    codes, scores = _FORMS[model.form](graph, model, values, dtype)
    return str(graph.node("Gather", graph.constant(onnx_labels(model)), codes, axis=0)), scores


# ---- decision values


def _decision_values(graph: Graph, model: KernelModel, rows: str, dtype: np.dtype[Any]) -> str:
    """Values of all functions: (rows, functions), where one-vs-one has a function for each pair of classes."""
    pairs = model.form is Form.ONE_VS_ONE
    if model.is_inner_product:  # w itself is smaller, and loses no digits to sums that cancel
        coefficients = model.pair_coefficients.dense if pairs else model.dual_coef
        weights = weighted_sums(DensePoints(model.dense_support()), coefficients)
        return _gemm(graph, rows, weights, model.intercept, dtype)
    values = _kernel_values(graph, model, rows, dtype)
    if pairs:
        return _pair_values(graph, model, values, dtype)
    return _gemm(graph, values, model.dual_coef, model.intercept, dtype)


def _kernel_values(graph: Graph, model: KernelModel, rows: str, dtype: np.dtype[Any]) -> str:
    if model.kernel is None:
        return str(graph.node("Gather", rows, graph.constant(model.support.astype(np.int64)), axis=1))
    if model.kernel.name not in _KERNELS:
        raise ValueError(
            f"kernel must be one of {', '.join(_KERNELS)} or precomputed for ONNX, got {model.kernel.name!r}, which "
            "has no graph. Use save, or add one to model_io/onnx_graph.py."
        )
    support = model.dense_support().astype(np.float64)
    return _KERNELS[model.kernel.name](graph, rows, support, model.kernel.parameters, dtype)


def _gemm(graph: Graph, rows: str, factor: NDArray[Any], added: NDArray[Any] | float, dtype: np.dtype[Any]) -> str:
    """rows · factorᵀ + added. A scale belongs into the factor: Gemm's own is in single precision."""
    shift = np.broadcast_to(np.asarray(added, dtype), (len(factor),))
    return str(graph.node("Gemm", rows, graph.constant(factor.T.astype(dtype)), graph.constant(shift)))


def _polynomial(graph: Graph, rows: str, support: Any, parameters: dict[str, Any], dtype: np.dtype[Any]) -> str:
    inner = _gemm(graph, rows, parameters["gamma"] * support, parameters["coef0"], dtype)
    return str(graph.node("Pow", inner, graph.constant(np.array(parameters["degree"], dtype))))


def _sigmoid(graph: Graph, rows: str, support: Any, parameters: dict[str, Any], dtype: np.dtype[Any]) -> str:
    return str(graph.node("Tanh", _gemm(graph, rows, parameters["gamma"] * support, parameters["coef0"], dtype)))


def _gaussian(graph: Graph, rows: str, support: Any, parameters: dict[str, Any], dtype: np.dtype[Any]) -> str:
    """exp(2γ<x, z> - γ‖z‖² - γ‖x‖²), seen from the mean of the support vectors, where norms cancel least."""
    gamma = parameters["gamma"]
    # In the type of the graph first, so that rows and support vectors are shifted alike.
    origin = (support.mean(axis=0) if len(support) else np.zeros(support.shape[1])).astype(dtype)
    centred = graph.node("Sub", rows, graph.constant(origin))
    shifted = (support.astype(dtype) - origin).astype(np.float64)
    inner = _gemm(graph, centred, 2.0 * gamma * shifted, -gamma * (shifted**2).sum(axis=1), dtype)
    squared = _row_sums(graph, graph.node("Mul", centred, centred), 1)
    own = graph.node("Mul", squared, graph.constant(np.array(-gamma, dtype)))
    exponents = graph.node("Min", graph.node("Add", inner, own), graph.constant(np.array(0.0, dtype)))
    return str(graph.node("Exp", exponents))


def _laplacian(graph: Graph, rows: str, support: Any, parameters: dict[str, Any], dtype: np.dtype[Any]) -> str:
    """exp(-γ Σ|x - z|), the sum feature by feature (Scan), so that memory is that of the kernel values."""
    count = graph.node("Slice", graph.node("Shape", rows), *_integers(graph, [0], [1]))
    shape = graph.node("Concat", count, *_integers(graph, [len(support)]), axis=0)
    zeros = graph.node("ConstantOfShape", shape, value=tensor("zero", np.zeros(1, dtype)))
    turned = graph.node("Transpose", rows, perm=[1, 0])
    distances, _ = graph.node(
        "Scan",
        zeros,
        turned,
        graph.constant(support.T.astype(dtype)),
        outputs=2,
        num_scan_inputs=2,
        body=_distance_body(len(support), dtype),
    )
    return str(graph.node("Exp", graph.node("Mul", distances, graph.constant(np.array(-parameters["gamma"], dtype)))))


def _distance_body(n: int, dtype: np.dtype[Any]) -> Any:
    """One step of that sum: |x_f - z_f| of all rows and support vectors is added. Scan wants an output a step, too."""
    from onnx import helper

    kind = helper.np_dtype_to_tensor_dtype(dtype)
    nodes = [
        helper.make_node("Unsqueeze", ["left", "last_axis"], ["column"]),
        helper.make_node("Sub", ["column", "right"], ["difference"]),
        helper.make_node("Abs", ["difference"], ["distance"]),
        helper.make_node("Add", ["before", "distance"], ["after"]),
        helper.make_node("Identity", ["nothing"], ["done"]),
    ]
    constants = [tensor("last_axis", np.array([1], np.int64)), tensor("nothing", np.zeros(1, dtype))]
    shapes: dict[str, list[Any]] = {
        "before": ["rows", n],
        "left": ["rows"],
        "right": [n],
        "after": ["rows", n],
        "done": [1],
    }
    infos = {name: helper.make_tensor_value_info(name, kind, shape) for name, shape in shapes.items()}
    inputs, outputs = [infos[name] for name in ("before", "left", "right")], [infos["after"], infos["done"]]
    return helper.make_graph(nodes, "add_feature", inputs, outputs, constants)


_KERNELS = {
    "poly": _polynomial,
    "rbf": _gaussian,
    "laplacian": _laplacian,
    "sigmoid": _sigmoid,
}


# ---- from decision values to classes and scores


def _two_classes(graph: Graph, model: KernelModel, values: str, dtype: np.dtype[Any]) -> tuple[str, str]:
    from onnx import TensorProto

    scores = graph.node("Squeeze", values, *_integers(graph, [1]))
    positive = graph.node("Greater", scores, graph.constant(np.array(0.0, dtype)))
    return graph.node("Cast", positive, to=TensorProto.INT64), scores


def _one_vs_rest(graph: Graph, model: KernelModel, values: str, dtype: np.dtype[Any]) -> tuple[str, str]:
    return _largest(graph, values), values


def _one_vs_one(graph: Graph, model: KernelModel, values: str, dtype: np.dtype[Any]) -> tuple[str, str]:
    """As ``votes.py``: a value of 0 is a vote for the second class in ``winners``, for the first in ``scores``."""
    zero = graph.constant(np.array(0.0, dtype))
    votes = _votes(graph, model, graph.node("Greater", values, zero), dtype)
    if model.scores_by_pair:
        return _largest(graph, votes), values
    own = graph.node("Gather", values, graph.constant(_own_pairs(model)), axis=1)
    signs = graph.constant(np.where(_is_second(model), -1.0, 1.0).astype(dtype))
    sums = _row_sums(graph, graph.node("Mul", own, signs), 2, keep=False)
    three, one = (graph.constant(np.array(value, dtype)) for value in (3.0, 1.0))
    bound = graph.node("Mul", three, graph.node("Add", graph.node("Abs", sums), one))
    counted = _votes(graph, model, graph.node("GreaterOrEqual", values, zero), dtype)
    scores = graph.node("Add", counted, graph.node("Div", sums, bound))
    return _largest(graph, scores if model.break_ties else votes), scores


_FORMS = {Form.TWO_CLASSES: _two_classes, Form.ONE_VS_REST: _one_vs_rest, Form.ONE_VS_ONE: _one_vs_one}


def _pair_values(graph: Graph, model: KernelModel, values: str, dtype: np.dtype[Any]) -> str:
    """Decision values of all pairs: k - 1 products for the support vectors of each class, then one from each class."""
    coefficients, k = model.pair_coefficients, model.n_classes
    counts = model.n_support.astype(np.int64)
    parts = graph.node("Split", values, graph.constant(counts), outputs=k, axis=1)
    ends = coefficients.ends
    products = [
        graph.node("MatMul", part, graph.constant(model.dual_coef[:, end - count : end].T.astype(dtype)))
        for part, end, count in zip(parts, ends, counts, strict=True)
    ]
    joined = graph.node("Concat", *products, axis=1)  # column a (k - 1) + row of the table
    first, second = np.triu_indices(k, 1)
    of_first = graph.node("Gather", joined, graph.constant(first * (k - 1) + second - 1), axis=1)
    of_second = graph.node("Gather", joined, graph.constant(second * (k - 1) + first), axis=1)
    both = graph.node("Add", of_first, of_second)
    return str(graph.node("Add", both, graph.constant(model.intercept.astype(dtype))))


def _own_pairs(model: KernelModel) -> NDArray[np.int64]:
    """The numbers of the k - 1 pairs of each class."""
    return np.stack(model.pair_coefficients.pairs_with).astype(np.int64)


def _is_second(model: KernelModel) -> NDArray[np.bool_]:
    """Whether a class is the second one of each of its pairs."""
    return np.arange(model.n_classes - 1) < np.arange(model.n_classes)[:, None]


def _votes(graph: Graph, model: KernelModel, for_first: str, dtype: np.dtype[Any]) -> str:
    from onnx import helper

    second = _is_second(model)
    signs, offsets = (graph.constant(table.astype(dtype)) for table in (np.where(second, -1.0, 1.0), second))
    won = graph.node("Cast", for_first, to=helper.np_dtype_to_tensor_dtype(dtype))
    own = graph.node("Gather", won, graph.constant(_own_pairs(model)), axis=1)  # (rows, classes, pairs of a class)
    return _row_sums(graph, graph.node("Add", graph.node("Mul", own, signs), offsets), 2, keep=False)


def _row_sums(graph: Graph, values: str, axis: int, keep: bool = True) -> str:
    return str(graph.node("ReduceSum", values, *_integers(graph, [axis]), keepdims=int(keep)))


def _largest(graph: Graph, scores: str) -> str:
    """The first of the largest, as NumPy has it."""
    return str(graph.node("ArgMax", scores, axis=1, keepdims=0))


def _integers(graph: Graph, *values: list[int]) -> list[str]:
    return [graph.constant(np.array(value, np.int64)) for value in values]
