"""SVC on a cluster of Dask workers."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from slackwater.dask.fit import ClusterFit
from slackwater.dask.partitions import is_collection
from slackwater.dask.prediction import lazily
from slackwater.estimators import svc
from slackwater.estimators.callback_support import with_callbacks
from slackwater.estimators.parameters import Rule, check_parameters, positive
from slackwater.fitting.training_set import TrainingSet

LocalSVC = svc.SVC
Cluster = TypeVar("Cluster", bound="SVC")


class SVC(LocalSVC):
    """``slackwater.SVC`` over the workers of a Dask cluster: rows stay where they are, only those that matter travel.

    Parameters
    ----------
    C, kernel, gamma, degree, coef0, fit_intercept, shrinking, probability, class_weight, tol, max_iter, max_time, \
max_kernel_evals, early_stopping, validation_fraction, n_iter_no_change, cache_size, warm_start, checkpoint, strategy, \
multi_class, decision_function_shape, break_ties, n_jobs, verbose, random_state :
        As of ``slackwater.SVC``. Refused are what a cluster cannot serve: ``kernel="precomputed"``, kernels that are
        not positive semi-definite, ``probability=True``, and the strategies "low_rank", "sparse_kernel" and
        "screening". ``cache_size`` is that of each worker for the kernel rows it keeps, by default a sixth of its
        memory; ``n_jobs`` are threads of the driver, and workers use all of theirs. For the sample that decides on
        strategy and tolerance the driver needs up to 2 GB.
    worker_timeout : float, default=60.0
        Seconds that a worker may be silent before its shard is made again on another one.
    on_disk : bool, optional
        Whether workers keep their rows in files, and read them piece by piece. By default where these would take more
        than a quarter of a worker's memory.

    Attributes
    ----------
    As of ``slackwater.SVC``, and
    cluster_log_ : list of str
        What was lost during training, and what became of it.
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        **LocalSVC._rules,
        "worker_timeout": positive("It is how many seconds a worker may be silent."),
        "on_disk": Rule(lambda v: v is None or isinstance(v, bool), "True, False or None", "None lets memory decide."),
    }
    _can_add_rows = False
    client: Any = None  # the Dask client to use; by default the current one, or that of a cluster on this machine

    def __init__(
        self, C: float = 1.0, *, worker_timeout: float = 60.0, on_disk: bool | None = None, **parameters: Any
    ) -> None:
        super().__init__(C, **parameters)
        self.worker_timeout = worker_timeout
        self.on_disk = on_disk

    @with_callbacks
    def fit(self: Cluster, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, y_val: Any = None) -> Cluster:
        """Train on X and y.

        Parameters
        ----------
        X : Dask array or data frame of shape (n, d), or array-like or CSR matrix in memory
            Blocks may be dense or CSR matrices.
        y : Dask array or series of shape (n,), or array-like
            Labels, partitioned as X is.
        sample_weight : Dask array or series of shape (n,), or array-like, optional
            What each row's slack costs.
        X_val, y_val : None
            Not on a cluster, where ``early_stopping=True`` holds out ``validation_fraction`` of X.

        Returns
        -------
        self
        """
        check_parameters(self, self._rules)
        if X_val is not None or y_val is not None:
            raise ValueError(
                "X_val and y_val must be None on a cluster, got hold-out rows. early_stopping=True holds out "
                "validation_fraction of X; slackwater.SVC takes hold-out rows."
            )
        ClusterFit(self, X, y, sample_weight).run()
        return self

    def predict(self, X: Any) -> Any:
        """The class of each row of X; a lazy Dask array where X is a Dask collection."""
        if not is_collection(X):
            return super().predict(X)
        check_is_fitted(self)
        return lazily(self.to_local(), "predict", X, None, self.classes_.dtype)

    def decision_function(self, X: Any) -> Any:
        """Values of the decision function; a lazy Dask array where X is a Dask collection."""
        if not is_collection(X):
            return super().decision_function(X)
        check_is_fitted(self)
        k = len(self.classes_)
        in_pairs = self._in_pairs and self.decision_function_shape == "ovo"
        columns = None if k == 2 else k * (k - 1) // 2 if in_pairs else k
        return lazily(self.to_local(), "decision_function", X, columns, np.dtype(np.float64))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy; computed at once, also of Dask collections."""
        predicted, y, sample_weight = _in_memory(self.predict(X), y, sample_weight)
        return float(accuracy_score(column_or_1d(y), predicted, sample_weight=sample_weight))

    def certify(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """As of ``slackwater.SVC``, with all rows of Dask collections brought here."""
        return super().certify(*_in_memory(X, y, sample_weight))

    def to_local(self) -> LocalSVC:
        """The same model as a ``slackwater.SVC``, which knows nothing of Dask."""
        local = LocalSVC(**{name: getattr(self, name) for name in LocalSVC._get_param_names()})
        local.__dict__.update({k: v for k, v in vars(self).items() if k not in _OWN})
        return local

    def _stored(self) -> Any:
        return self.to_local()._stored()

    def __getstate__(self) -> dict[str, Any]:
        """Without the client, which belongs to this process."""
        return {name: value for name, value in super().__getstate__().items() if name != "client"}

    def _least_evaluations(self, solver: Any, training_set: TrainingSet, n_classes: int) -> int:
        sizes = [each.n for each in cast("Any", training_set).all_problems]
        return sum(int(solver.least_evaluations(n)) for n in sizes)


def _in_memory(*values: Any) -> tuple[Any, ...]:
    """What Dask collections come to, one by one, since they may be of several kinds; anything else as it is."""
    return tuple(each.compute() if is_collection(each) else each for each in values)


_OWN = ("worker_timeout", "on_disk", "client", "cluster_log_", "_prediction")
_local, _own = (inspect.signature(each.__init__) for each in (LocalSVC, SVC))
SVC.__init__.__signature__ = _local.replace(  # type: ignore[attr-defined]
    parameters=[*_local.parameters.values(), *(_own.parameters[name] for name in ("worker_timeout", "on_disk"))]
)
