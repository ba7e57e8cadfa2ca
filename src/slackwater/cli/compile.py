"""slackwater compile: fill the cache of compiled loops, so that no first fit has to wait."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from scipy import sparse

from slackwater import SVC, SBPClassifier

console = Console()

Work = Callable[[], Any]


def compile_loops() -> None:
    """Compile the loops that fits and predictions of SVC and SBPClassifier use, for this processor, and keep them.

    Run it once when building an image: processes that start from it then fit at once, also if its files are read-only.
    NUMBA_CACHE_DIR names another folder to keep them in.
    """
    from slackwater import _code_cache

    folder, start = _code_cache.writable_folder(), time.perf_counter()
    if folder is None:
        raise SystemExit(
            "There is no folder to keep compiled loops in. Set NUMBA_CACHE_DIR to one that can be written to."
        )
    before = len(list(folder.iterdir()))
    works = list(_works())
    columns = (
        TextColumn("Compiling"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[name]}"),
    )
    with Progress(*columns, console=console, transient=True) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fits are cut short
        task = progress.add_task("", total=len(works), name="")
        for name, work in works:
            progress.update(task, name=name)
            work()
            progress.advance(task)
    added = len(list(folder.iterdir())) - before
    console.print(f"{added} compiled loops added in {time.perf_counter() - start:.0f} s: {folder}", soft_wrap=True)


def _works() -> Iterator[tuple[str, Work]]:
    """Small fits and predictions that together use the loops that users' fits do."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 12))
    noisy = (X[:, 0] + X[:, 1] * X[:, 2] + rng.standard_normal(len(X)) > 0).astype(int)
    clear = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    pixels = rng.integers(0, 17, (20_000, 16)) / 16.0
    dark = (pixels[:, :8].sum(axis=1) > pixels[:, 8:].sum(axis=1)).astype(int)
    classes = np.digitize(X[:, 0], [-0.5, 0.5])
    rows = sparse.random(2_000, 5_000, 0.01, "csr", random_state=0)
    weights = rng.integers(1, 3, 2_000).astype(float)
    for dtype in (np.float64, np.float32):
        values, grid = X.astype(dtype), pixels.astype(dtype)
        name = np.dtype(dtype).name
        yield f"few rows, {name}", _fit_and_predict(SVC(), values[:500], noisy[:500])
        yield f"some thousand rows, {name}", _fit_and_predict(SVC(), values[:2_500], noisy[:2_500])
        yield f"a stated tolerance, {name}", _fit_and_predict(SVC(tol=1e-3), values[:2_500], noisy[:2_500])
        yield f"many rows, {name}", _fit_and_predict(SVC(), values, clear)
        yield f"noisy labels, {name}", _fit_and_predict(SVC(), values, noisy)
        yield f"pixels, {name}", _fit_and_predict(SVC(), grid, dark)
        yield f"several classes, {name}", _fit_and_predict(SVC(), values[:300], classes[:300])
        yield f"several classes of pixels, {name}", _fit_and_predict(SVC(), grid[:4_000], classes[:4_000])
        yield f"one against the rest, {name}", _fit_and_predict(SVC(multi_class="ovr"), values[:900], classes[:900])
        yield f"a narrow kernel, {name}", _fit_and_predict(SVC(gamma=20.0, C=10.0), values[:9_000, :4], clear[:9_000])
        yield f"SBP, {name}", _fit_and_predict(SBPClassifier(max_iter=300), values[:2_500], noisy[:2_500])
    yield "sparse rows", _fit_and_predict(SVC(), rows, noisy[:2_000])
    yield "weights", _fit_and_predict(SVC(), X[:2_000], noisy[:2_000], weights)
    yield "no bias", _fit_and_predict(SVC(fit_intercept=False), X[:2_000], noisy[:2_000])
    for kernel in ("linear", "poly", "sigmoid"):
        yield kernel, _fit_and_predict(SVC(kernel=kernel), X[:600], noisy[:600])
    yield "SBP with a bias", _fit_and_predict(SBPClassifier(max_iter=300, fit_intercept=True), X[:2_500], noisy[:2_500])


def _fit_and_predict(model: Any, X: Any, y: Any, weights: Any = None) -> Work:
    def work() -> None:
        model.fit(X, y, sample_weight=weights)
        model.predict(X[:2_000])
        model.predict(X[:1])

    return work
