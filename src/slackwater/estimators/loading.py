"""From a model file to a fitted estimator, whatever the file's format."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from slackwater.errors import ModelFileError
from slackwater.estimators.model_checks import require_expansion
from slackwater.estimators.parameters import check_parameters
from slackwater.fitting.decisions import Decisions
from slackwater.kernels.registry import kernel_of
from slackwater.model_io import archive, libsvm, stored
from slackwater.model_io.model import Form, KernelModel, StoredModel

_PICKLES = (b"\x80", b"(", b"c__")
_OTHER_REMEDY = "Load models that save or to_libsvm wrote, or LIBSVM's svm-train"


def estimator_classes() -> Mapping[str, Any]:
    """The estimators that can be stored, by the names that files have for them."""
    from slackwater.estimators.baselines.descent import NormBallSGDClassifier, PegasosClassifier
    from slackwater.estimators.baselines.dual import SDCAClassifier, SMOClassifier
    from slackwater.estimators.baselines.fourier import FourierSVC
    from slackwater.estimators.baselines.perceptron import KernelPerceptron
    from slackwater.estimators.baselines.simba import SIMBAClassifier
    from slackwater.estimators.sbp import SBPClassifier
    from slackwater.estimators.svc import SVC

    known = (
        SVC,
        SBPClassifier,
        PegasosClassifier,
        NormBallSGDClassifier,
        SDCAClassifier,
        SMOClassifier,
        KernelPerceptron,
        SIMBAClassifier,
        FourierSVC,
    )
    return {each.__name__: each for each in known}


def load(path: Any, *, kernel: Any = None, n_features: int | None = None) -> Any:
    """Make a fitted estimator of a model file, without executing anything that is in it.

    Parameters
    ----------
    path : str or path
        A file that ``save`` wrote, with this version or an earlier one, or the text of a LIBSVM model (``to_libsvm``,
        ``svm-train``; ``c_svc`` and ``nu_svc``). From the latter an ``SVC`` is made, with ``classes_`` in the file's
        order, which decides between classes with as many votes. Estimates of probabilities (probA, probB) are ignored
        with a warning.
    kernel : callable or Kernel, optional
        The kernel of a model that was trained with one's own; it must give the values it gave then.
    n_features : int, optional
        Columns of the rows to be classified, for LIBSVM's text, which does not name them. By default the largest
        index of a support vector; where a support vector has the index 0, indices are taken to begin there.

    Returns
    -------
    estimator
        The fitted estimator. Its predictions are those of the model that was saved.

    Raises
    ------
    ModelFileError
        A ValueError: the file is damaged, of another format, of a later version, or needs ``kernel``.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import make_moons
    >>> from slackwater import SVC, load
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = SVC(gamma=2.0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "moons.npz")
    ...     model.save(path)
    ...     same = load(path)
    >>> bool((same.decision_function(X) == model.decision_function(X)).all()), same.certified_
    (True, True)
    """
    return load_bytes(_content(path), str(path), kernel=kernel, n_features=n_features)


def load_bytes(content: bytes, name: str, *, kernel: Any = None, n_features: int | None = None) -> Any:
    """The same, of the file's bytes; ``name`` is what errors call it, in one line."""
    try:
        return _from_content(content, kernel, n_features)
    except ModelFileError as error:
        reason = " ".join(str(error).split())
        raise ModelFileError(f"model file {name!r} cannot be loaded: {reason}.") from None


def _content(path: Any) -> bytes:
    """All bytes of a regular file: a pipe or a device might never end."""
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise ModelFileError(f"model file {str(path)!r} must be a regular file. Copy what it gives to a file first.")
    return Path(path).read_bytes()


def _from_content(content: bytes, kernel: Any, n_features: int | None) -> Any:
    if content.startswith(archive.MAGIC):
        if n_features is not None:
            raise ModelFileError(f"n_features must be None: the file says how many there are, got {n_features}")
        return _estimator(stored.from_bytes(content), kernel)
    if kernel is not None:
        raise ModelFileError("kernel must be None: only a model with a kernel of one's own has to be given it")
    if libsvm.is_model(content):
        return _svc(libsvm.from_text(content, n_features))
    if content.startswith(_PICKLES):
        raise ModelFileError(f"it looks like a pickle, which is not read: that could execute code. {_OTHER_REMEDY}")
    raise ModelFileError(f"it must be an archive (.npz) or LIBSVM's text, got {content[:20]!r}. {_OTHER_REMEDY}")


def _estimator(model: StoredModel, kernel: Any) -> Any:
    classes = estimator_classes()
    if model.estimator not in classes:
        raise ModelFileError(f"its estimator must be one of {', '.join(classes)}, got {model.estimator[:60]!r}")
    custom = model.kernel is not None and model.kernel.custom
    if custom and kernel is None:
        assert model.kernel is not None
        raise ModelFileError(
            f"kernel must be passed: it was trained with {model.kernel.name[:200]!r}, and a file holds no code. "
            "Use load(path, kernel=...)"
        )
    if kernel is not None and not custom:
        raise ModelFileError("kernel must be None: the file names a kernel that the library knows")
    made = classes[model.estimator]()
    unknown = set(model.parameters) - set(made.get_params(deep=False))
    if unknown:
        raise ModelFileError(f"its parameters must be those of {model.estimator}, got {min(unknown)[:60]!r}")
    try:
        made.set_params(**model.parameters)
        check_parameters(made, made._rules)
        made._restore(model, kernel)
    except ModelFileError:
        raise
    except (ValueError, TypeError, OverflowError) as error:  # from rules that training has, too
        raise ModelFileError(str(error).rstrip(".")) from None
    return made


def _svc(model: KernelModel) -> Any:
    """An ``SVC`` around a model of LIBSVM's."""
    kernel = model.kernel
    parameters: dict[str, Any] = {"kernel": "precomputed"} if kernel is None else {"kernel": kernel.name}
    if kernel is not None:
        parameters |= kernel.parameters
    made = estimator_classes()["SVC"](**parameters)
    try:
        made._kernel = None if kernel is None else kernel_of(kernel.name, kernel.parameters)
        check_parameters(made, made._rules)
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelFileError(str(error).rstrip(".")) from None
    made._in_pairs = model.form is Form.ONE_VS_ONE
    made.classes_, made.n_features_in_ = model.classes, model.n_features
    made.support_, made.n_support_ = model.support, model.n_support
    made.support_vectors_ = np.empty((0, 0)) if kernel is None else model.support_vectors
    made.dual_coef_, made.intercept_ = model.dual_coef, model.intercept
    made.gap_, made.certified_ = float("nan"), False
    made.strategy_, made.stop_reason_, made.decisions_ = "libsvm", "libsvm", Decisions()
    require_expansion(made)
    return made
