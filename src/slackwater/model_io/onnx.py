"""Converters for skl2onnx, so that whole pipelines become ONNX models.

This file, unlike the others of the folder, knows the estimators: skl2onnx finds converters by class.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from slackwater.estimators.loading import estimator_classes
from slackwater.estimators.portable import PortableClassifier
from slackwater.model_io.onnx_graph import TYPES, add_classifier, onnx_labels, score_shape, tensor


def register() -> None:
    """Tell skl2onnx how to convert the classifiers of this library; to call it twice does no harm.

    Needs the package ``skl2onnx``. Converted pipelines have the outputs ``label`` and ``scores``, as ``to_onnx`` has.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skl2onnx import to_onnx
    >>> from slackwater import SVC
    >>> from slackwater.model_io import onnx
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> pipeline = make_pipeline(StandardScaler(), SVC(gamma=2.0)).fit(X, y)
    >>> onnx.register()
    >>> converted = to_onnx(pipeline, X[:1].astype(np.float32))
    >>> [output.name for output in converted.graph.output]
    ['label', 'scores']
    """
    from skl2onnx import update_registered_converter

    for name, estimator in estimator_classes().items():
        if issubclass(estimator, PortableClassifier):
            update_registered_converter(estimator, f"Slackwater{name}", _shapes, _convert, parser=_parse)


def _parse(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> list[Any]:
    """Declare label and scores; a classifier's default would be probabilities."""
    from skl2onnx._supported_operators import sklearn_operator_name_map
    from skl2onnx.common.data_types import guess_tensor_type

    operator = scope.declare_local_operator(sklearn_operator_name_map[type(model)], model)
    operator.inputs.extend(inputs)
    kind = guess_tensor_type(inputs[0].type)
    operator.outputs.append(scope.declare_local_variable("label", kind))
    operator.outputs.append(scope.declare_local_variable("scores", kind))
    return list(operator.outputs)


def _shapes(operator: Any) -> None:
    from skl2onnx.common import data_types

    model = operator.raw_operator._kernel_model("skl2onnx")
    rows = operator.inputs[0].get_first_dimension()
    kinds = {"b": "BooleanTensorType", "i": "Int64TensorType", "f": "DoubleTensorType", "O": "StringTensorType"}
    operator.outputs[0].type = getattr(data_types, kinds[onnx_labels(model).dtype.kind])([rows])
    scores = data_types.guess_tensor_type(operator.inputs[0].type)
    scores.shape = [rows, *score_shape(model)[1:]]
    operator.outputs[1].type = scores


class _ContainerGraph:
    """Nodes and constants within the graph of a pipeline."""

    def __init__(self, scope: Any, container: Any) -> None:
        self._scope, self._container = scope, container

    def node(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        names = [self._scope.get_unique_variable_name(operator) for _ in range(outputs)]
        unique = self._scope.get_unique_operator_name(operator)
        self._container.add_node(operator, list(inputs), names, name=unique, **attributes)
        return names[0] if outputs == 1 else names

    def constant(self, value: NDArray[Any]) -> str:
        name = str(self._scope.get_unique_variable_name("constant"))
        self._container.initializers.append(tensor(name, value))
        return name


def _convert(scope: Any, operator: Any, container: Any) -> None:
    from onnx import TensorProto
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    given = operator.inputs[0].type
    dtype = TYPES[isinstance(given, DoubleTensorType)]
    graph = _ContainerGraph(scope, container)
    rows = operator.inputs[0].full_name
    if not isinstance(given, DoubleTensorType | FloatTensorType):  # whole numbers, say
        rows = graph.node("Cast", rows, to=TensorProto.FLOAT)
    labels, scores = add_classifier(graph, operator.raw_operator._kernel_model("skl2onnx"), rows, dtype)
    for name, variable in zip((labels, scores), operator.outputs, strict=True):
        container.add_node("Identity", [name], [variable.full_name], name=scope.get_unique_operator_name("Identity"))
