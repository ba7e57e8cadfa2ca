"""What lets a fitted classifier travel: files of our own, LIBSVM's text, ONNX.

The formats are below (``model_io``) and know plain descriptions only; here an estimator describes itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from slackwater.errors import ModelFileError
from slackwater.estimators.model_checks import require_expansion
from slackwater.files import replace_file
from slackwater.history import History
from slackwater.kernels.base import Kernel
from slackwater.kernels.registry import is_built_in, kernel_of, make_kernel
from slackwater.model_io import libsvm, stored
from slackwater.model_io.model import Form, KernelModel, StoredKernel, StoredModel
from slackwater.points import as_points

_MAX_PROBED = 8  # support vectors whose kernel values tell one custom kernel from another
_PROBE_TOLERANCE = 1e-6  # of the largest of these values: a kernel may be computed in another order elsewhere
_ONLY_FOR_TRAINING = ("callback",)  # parameters that are code


class StorableClassifier:
    """A classifier that can be written to a file, from which ``slackwater.load`` makes it again."""

    def save(self, path: Any) -> None:
        """Write the fitted model to a file that ``slackwater.load`` reads, here or on another machine.

        The file is a ``.npz`` archive of arrays with a JSON header, without pickle: to load it executes nothing.
        It is written whole or not at all. Predictions of the loaded model are the same, bit for bit, on the same
        machine with the same versions.

        Not kept are what only training needs: ``callback``, a ``random_state`` that is a generator, the state that
        ``warm_start`` would continue. A kernel of one's own is kept by its name, and must be passed to ``load``.

        Parameters
        ----------
        path : str or path
            An existing file is replaced.
        """
        check_is_fitted(self)
        replace_file(Path(path), stored.to_bytes(self._stored()))

    def report(self, X: Any, y: Any, path: Any, *, title: str | None = None, confidence: float = 0.95) -> None:
        """Write a page about the fitted model and how it does on X: one HTML file, which opens without a network.

        It has measures with confidence intervals, the confusion matrix, ROC and precision-recall curves, the
        distribution of margins, convergence, the water picture, decisions, the certificate, parameters and environment.
        What a model does not know (LIBSVM's text has no history) is left out with the reason.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (m, d)
            Examples, as for ``predict``; usually not those of training.
        y : array-like of shape (m,)
            Their labels, of the model's classes.
        path : str or path
            An existing file is replaced.
        title : str, optional
            By default the estimator and the number of examples.
        confidence : float, default=0.95
            Of the intervals.
        """
        from slackwater.report import write_report  # what it needs is not needed to train or to predict

        write_report(self, X, y, path, title=title, confidence=confidence)

    def _stored(self) -> StoredModel:
        from slackwater.estimators.loading import estimator_classes

        name = type(self).__name__
        if estimator_classes().get(name) is not type(self):
            raise TypeError(
                f"save knows {', '.join(estimator_classes())}, got a {type(self).__module__}.{name}. "
                "Use joblib.dump for classes of your own."
            )
        attributes = {key: value for key, value in vars(self).items() if key.endswith("_") and key[0] != "_"}
        return StoredModel(name, self._stored_parameters(), attributes, self._internals(), self._stored_kernel())

    def _stored_parameters(self) -> dict[str, Any]:
        given: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]
        left_out = {name for name in _ONLY_FOR_TRAINING if name in given}
        if isinstance(given.get("random_state"), np.random.RandomState | np.random.Generator):
            left_out.add("random_state")
        if not isinstance(given.get("kernel", ""), str):
            left_out.add("kernel")  # ``StoredModel.kernel`` says what it was
        return {name: value for name, value in given.items() if name not in left_out}

    def _internals(self) -> dict[str, Any]:
        """What the class needs for predictions beside its public attributes."""
        return {}

    def _stored_kernel(self) -> StoredKernel | None:
        return None

    def _restore(self, model: StoredModel, kernel: Any) -> None:
        """Take over fitted attributes from a file, and refuse those that do not fit each other."""
        raise TypeError(f"{type(self).__name__} does not say how to restore it")


class PortableClassifier(StorableClassifier):
    """A kernel expansion that can be written in other programs' formats, too."""

    _kernel: Any
    _internal_names: ClassVar[tuple[str, ...]] = ()  # private attributes that predictions need

    def to_libsvm(self, path: Any) -> None:
        """Write the fitted model as LIBSVM's text, which ``svm-predict`` and ``slackwater.load`` read.

        One-vs-one models are written as they are. One-vs-rest models are embedded: in LIBSVM's votes among pairs of
        classes, each pair compares two of the functions, so that the largest one wins. A support vector is then written
        once for each function that it is part of. What ``probability=True`` has learned has no place in it.

        Parameters
        ----------
        path : str or path
            An existing file is replaced.

        Raises
        ------
        ValueError
            Where the format has no place for the model: labels other than whole numbers, the Laplacian kernel, a kernel
            of one's own, ``break_ties=True``.
        """
        check_is_fitted(self)
        replace_file(Path(path), libsvm.to_text(self._kernel_model("to_libsvm")))

    def to_onnx(self, path: Any = None, *, dtype: Any = np.float32) -> Any:
        """The fitted model as an ONNX graph: from rows ``X`` to ``label`` and ``scores``.

        ``label`` is what ``predict`` returns, ``scores`` what ``decision_function`` returns. Needs the package ``onnx``
        (``pip install "slackwater[onnx]"``). For whole pipelines see ``slackwater.model_io.onnx.register``.

        Parameters
        ----------
        path : str or path, optional
            A file to write the model to; an existing one is replaced.
        dtype : {numpy.float32, numpy.float64}, default=numpy.float32
            Of ``X``, of all computations and of ``scores``. In single precision a row very near to a decision boundary
            may get another label than here.

        Returns
        -------
        onnx.ModelProto
        """
        check_is_fitted(self)
        from slackwater.model_io.onnx_graph import to_model

        model = to_model(self._kernel_model("to_onnx"), np.dtype(dtype))
        if path is not None:
            replace_file(Path(path), model.SerializeToString())
        return model

    def compress(
        self,
        *,
        max_support: int | None = None,
        max_loss: float | None = None,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        """A fitted estimator with fewer support vectors: smaller files, quicker predictions. This one does not change.

        Support vectors are chosen greedily, each time the one by which the functions of the model gain most. If X and y
        are the training data, an ``SVC`` is solved anew in the span of those chosen, with the losses of all rows of X;
        else the functions are projected on that span.

        Parameters
        ----------
        max_support : int, optional
            Support vectors that may remain.
        max_loss : float, optional
            Share of the rows of X by which ``accuracy`` may fall, or, without y, that may change their label. The model
            is the smallest of about a dozen sizes tried that loses no more. One of both limits must be given.
        X, y : array-like, optional
            Data to measure the loss on: the training data, which are then also trained on, or others.
        sample_weight : array-like of shape (n,), optional
            As for ``fit``; the loss is weighted by it.

        Returns
        -------
        estimator
            With ``compression_``, a dict: "method" ("hinge", "projection", or "none" where nothing was left out),
            "n_support_before", "n_support"; with X also "loss", "changed_labels" (share of rows), "mean_change" and
            "max_change" of the decision values; with y also "accuracy_before", "accuracy". ``gap_`` is nan:
            ``certify`` proves one.
        """
        check_is_fitted(self)
        from slackwater.estimators.compressing import compressed

        return compressed(self, max_support, max_loss, X, y, sample_weight)

    # ---- descriptions

    def _stored_kernel(self) -> StoredKernel | None:
        kernel: Kernel | None = self._kernel
        if kernel is None:
            return None
        if is_built_in(kernel):
            return StoredKernel(kernel.name, kernel.parameters())
        return StoredKernel(kernel.label, {}, custom=True, probe=_probe(kernel, self.support_vectors_))  # type: ignore[attr-defined]

    def _internals(self) -> dict[str, Any]:
        return {name[1:]: getattr(self, name) for name in self._internal_names}

    def _kernel_model(self, purpose: str) -> KernelModel:
        kernel = self._stored_kernel()
        if kernel is not None and kernel.custom:
            raise ValueError(
                f"kernel must be one that the library knows for {purpose}, got the kernel {kernel.name!r}: other "
                "programs cannot call it. Use save, and pass the kernel to load."
            )
        fitted: Any = self
        in_pairs = getattr(self, "_in_pairs", False)
        several = Form.ONE_VS_ONE if in_pairs else Form.ONE_VS_REST
        return KernelModel(
            kernel=kernel,
            form=Form.TWO_CLASSES if len(fitted.classes_) == 2 else several,
            classes=fitted.classes_,
            n_features=fitted.n_features_in_,
            support=fitted.support_,
            support_vectors=None if kernel is None else fitted.support_vectors_,
            n_support=fitted.n_support_,
            dual_coef=fitted._coefficients,
            intercept=fitted._biases,
            scores_by_pair=in_pairs and fitted.decision_function_shape == "ovo",
            break_ties=in_pairs and fitted.break_ties,
            is_inner_product=kernel is not None and self._kernel.is_inner_product,
        )

    # ---- back from a file

    def _restore(self, model: StoredModel, kernel: Any) -> None:
        self._kernel = self._restored_kernel(model, kernel)
        if set(model.internals) != {name[1:] for name in self._internal_names}:
            raise ModelFileError(f"internals must be those of {model.estimator}, got {sorted(model.internals)}"[:200])
        for name in self._internal_names:
            setattr(self, name, model.internals[name[1:]])
        set_attributes(self, model.attributes)
        if isinstance(history := getattr(self, "history_", None), dict):
            self.history_ = History(history)
        require_expansion(self)
        if model.kernel is not None and model.kernel.custom:
            _require_same_kernel(model.kernel, self._kernel, self.support_vectors_)  # type: ignore[attr-defined]

    def _restored_kernel(self, model: StoredModel, given: Any) -> Kernel | None:
        precomputed = getattr(self, "kernel", None) == "precomputed"
        if model.kernel is None and not precomputed:
            raise ModelFileError("it must name its kernel")
        if model.kernel is None or precomputed:
            return None
        if not model.kernel.custom:
            kernel = kernel_of(model.kernel.name, model.kernel.parameters)
        else:
            kernel = make_kernel(given)
        if "kernel" not in model.parameters and "kernel" in self.get_params(deep=False):  # type: ignore[attr-defined]
            self.set_params(kernel=given if model.kernel.custom else kernel)  # type: ignore[attr-defined]
        return kernel


def set_attributes(estimator: Any, attributes: Mapping[str, Any]) -> None:
    """Take over what a file says, unless it has the name of something that the class itself has."""
    for name, value in attributes.items():
        if hasattr(type(estimator), name):
            raise ModelFileError(f"fitted attributes must not replace what {type(estimator).__name__} has: {name}")
        setattr(estimator, name, value)


def _probe(kernel: Kernel, support_vectors: Any) -> Any:
    """Kernel values of the first support vectors with one another."""
    points = as_points(support_vectors)
    first = points.slice(0, min(_MAX_PROBED, len(points)))
    values = np.empty((len(first), len(first)), dtype=first.dtype)
    kernel.fill(first, first, values)
    return values.astype(np.float64)


def _require_same_kernel(kernel: StoredKernel, given: Any, support_vectors: Any) -> None:
    if kernel.probe is None or len(kernel.probe) != min(_MAX_PROBED, len(as_points(support_vectors))):
        raise ModelFileError("it must have values of its custom kernel")
    values = _probe(given, support_vectors)
    difference = np.abs(values - kernel.probe).max(initial=0.0)
    if difference > _PROBE_TOLERANCE * np.abs(kernel.probe).max(initial=0.0):
        raise ModelFileError(
            f"kernel must be the one it was trained with, {kernel.name!r}, got one whose values of the support vectors "
            f"differ by {difference:.3g}. Pass the same function, with the same parameters"
        )
