"""Fit once and print, as JSON, how many bytes of resident memory the fit added at its peak; a script of test_memory.py.

    python peak_memory.py WAY CACHE_SIZE N [D FORM]

A smaller fit of the same kind comes first, so that neither imports nor compiled loops are counted.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from slackwater import SVC, SBPClassifier, baselines

WAYS = {
    "auto": SVC(),
    "tol": SVC(tol=1e-3),
    "exact": SVC(strategy="exact"),
    "screening": SVC(strategy="screening"),
    "subspace": SVC(strategy="subspace"),
    "sparse_kernel": SVC(strategy="sparse_kernel", gamma=8.0),
    "chunking": SVC(),
    "chunking, linear": SVC(kernel="linear", C=100.0),
    "small pairs": SVC(),
    "pairs side by side": SVC(n_jobs=2),
    "one-vs-one": SVC(),
    "one-vs-rest": SVC(multi_class="ovr"),
    "SBP": SBPClassifier(0.1, max_iter=2000),
    "SMO": baselines.SMOClassifier(max_iter=2000),
    "SDCA": baselines.SDCAClassifier(max_iter=2000),
    "Pegasos": baselines.PegasosClassifier(max_iter=2000),
    "SIMBA": baselines.SIMBAClassifier(max_iter=200),
}
CLASSES = {"small pairs": 10, "pairs side by side": 6, "one-vs-one": 3, "one-vs-rest": 3}
_WARM_UP = 9000  # rows, at most
_WARM_UP_CACHE = 80  # MB


def examples(n: int, n_classes: int, d: int = 10, form: str = "float32") -> tuple[Any, np.ndarray]:
    """Overlapping clusters, some of each class: neither separable nor mere noise."""
    rng = np.random.default_rng(0)
    centres = 1.2 * rng.standard_normal((3 * n_classes, d)) * np.sqrt(10 / d)
    cluster = rng.integers(0, 3 * n_classes, n)
    X = rng.standard_normal((n, d), dtype=np.float32)
    X += centres.astype(np.float32)[cluster]
    if form == "csr":
        X[rng.random((n, d), dtype=np.float32) < 0.9] = 0.0
        return sparse.csr_matrix(X), cluster % n_classes
    return X.astype(form, copy=False), cluster % n_classes


def data_bytes(X: Any) -> int:
    """Of the form that is computed with: a tenth of the values is enough to be dense."""
    return int(np.prod(X.shape) * X.dtype.itemsize)


def status(key: str) -> int:
    """A number of /proc/self/status, in bytes."""
    found = re.search(rf"{key}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    if found is None:
        raise RuntimeError(f"/proc/self/status has no {key}")
    return 1024 * int(found[1])


def main() -> None:
    way, cache_size, n = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    shape = (int(sys.argv[4]), sys.argv[5]) if len(sys.argv) > 4 else ()
    n_classes = CLASSES.get(way, 2)
    warnings.simplefilter("ignore")
    model = WAYS[way].set_params(random_state=0)
    limited = "cache_size" in model.get_params()
    warm_up = min(n, _WARM_UP // (1 + (n < _WARM_UP)))
    model.set_params(**({"cache_size": _WARM_UP_CACHE} if limited else {})).fit(*examples(warm_up, n_classes, *shape))
    del model.support_vectors_
    X, y = examples(n, n_classes, *shape)
    model.set_params(**({"cache_size": cache_size} if limited else {}))
    Path("/proc/self/clear_refs").write_text("5")  # from here on VmHWM is the peak since now
    before = status("VmRSS")
    model.fit(X, y)
    found = {"added": status("VmHWM") - before, "data": data_bytes(X), "support": len(model.support_)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
