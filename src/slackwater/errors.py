"""Everything slackwater raises or warns of, beside the built-in ValueError and TypeError.

::

    ValueError
    ├── KernelError              a kernel returned something that is not a kernel value
    │   └── IndefiniteKernelError  a kernel is not positive semi-definite
    ├── CheckpointError          a checkpoint is damaged or belongs to another problem
    ├── DataError                a data file cannot be read: file, place, what was expected, what was found
    └── ModelFileError           a model file is damaged, of another kind, or lacks what is demanded at load
    RuntimeError
    └── ClusterError             workers or the scheduler of a cluster are gone, and so is what could be done about it
    UserWarning
    ├── ConvergenceWarning       scikit-learn's own: a budget ran out before the tolerance was met
    └── IndefiniteKernelWarning  the kernel is not positive semi-definite: trained without a duality gap
"""

from __future__ import annotations

import os
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

__all__ = [
    "CheckpointError",
    "ClusterError",
    "ConvergenceWarning",
    "DataError",
    "IndefiniteKernelError",
    "IndefiniteKernelWarning",
    "KernelError",
    "ModelFileError",
    "warn",
]

# Whose frames lie between a warning and the line of the user that caused it: ours, and what calls us for the user.
_BETWEEN = tuple(
    f"{Path(found.origin).parent}{os.sep}"
    for name in ("slackwater", "sklearn", "joblib")
    if (found := find_spec(name)) is not None and found.origin is not None
)


class KernelError(ValueError):
    """A kernel returned values of the wrong shape or type, or values that are not finite."""


class IndefiniteKernelError(KernelError):
    """A kernel was shown not to be positive semi-definite, so that no margin is defined."""


class CheckpointError(ValueError):
    """A checkpoint file is damaged, or was written for other data or other parameters."""


class DataError(ValueError):
    """A data file is damaged, or holds what a classifier cannot be trained on."""


class ModelFileError(ValueError):
    """A model file cannot be loaded: it is damaged, of another kind, or needs something that was not passed."""


class ClusterError(RuntimeError):
    """A fit on a cluster cannot go on: the scheduler is gone, no worker is left, or shards are lost again and again."""


class IndefiniteKernelWarning(UserWarning):
    """The kernel is not positive semi-definite: a stationary point is found, and no duality gap is defined."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line: the innermost that is neither here nor in scikit-learn or joblib."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_BETWEEN):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
