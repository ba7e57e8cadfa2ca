"""slackwater demo: train on data that ships with scikit-learn, beside scikit-learn's own SVC."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from slackwater import SVC, SBPClassifier
from slackwater.errors import ConvergenceWarning

console = Console()


class Result(NamedTuple):
    name: str
    seconds: float
    error: float
    n_support: int
    predict_seconds: float


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the figure.")] = Path("demo"),
    steps: Annotated[int, typer.Option(help="Steps of the Stochastic Batch Perceptron.", min=1)] = 12_000,
) -> None:
    """Train on scikit-learn's handwritten digits, compare with sklearn.svm.SVC, draw what happened."""
    import matplotlib  # noqa: F401  -- if it is missing, say so before training, not after
    from sklearn import svm

    X_train, y_train, X_test, y_test = _digits()
    console.print(
        f"Handwritten digits that ship with scikit-learn, shifted copies added: "
        f"{len(X_train):,} training rows × {X_train.shape[1]}, {len(X_test):,} test rows; is it an 8?"
    )
    with console.status("Compiling (once; kept on disk) …"):
        _warm_up(X_train, y_train, X_test)
    sbp = SBPClassifier(nu=1e-3, gamma=0.5, tol=0.01, max_iter=steps, random_state=0, verbose=1)
    svc = SVC(C=10.0, gamma=0.5, random_state=0)
    data = X_train, y_train, X_test, y_test
    results = [_measure("slackwater.SBPClassifier", sbp, *data), _measure("slackwater.SVC", svc, *data)]
    with console.status("sklearn.svm.SVC trains …"):
        results.append(_measure("sklearn.svm.SVC", svm.SVC(C=10.0, gamma=0.5), *data))
    console.print(_table(results))
    console.print(
        f"Gap to the optimum: SBPClassifier's margin is within {sbp.gap_:.1%} (certified) after {sbp.n_iter_:,} steps "
        f"of a single kernel row; SVC's objective is within {svc.gap_:.2%} ({_kind_of_gap(svc)}), "
        f"and certify proves {svc.certify(X_train, y_train):.2%}."
    )
    console.print(f"SVC's strategy: {svc.strategy_}. What was measured to choose it:")
    console.print(str(svc.decisions_), soft_wrap=True, highlight=False, markup=False)
    with console.status("Training once more, looking at the test error on the way …"):
        errors = _errors_on_the_way(X_train, y_train, X_test, y_test, steps)
    figure = _draw(sbp, results, errors, out)
    console.print(f"Figure: [bold]{figure.resolve()}[/bold]")


def _digits() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """1797 images of 8 × 8 pixels; the training part also shifted by a pixel in each direction."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    data = load_digits()
    images = (data.images / 16.0).astype(np.float32)
    train, test, y_train, y_test = train_test_split(
        images, data.target == 8, test_size=0.4, random_state=0, stratify=data.target
    )
    moves = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1), (1, -1), (-1, 1)]
    shifted = np.concatenate([_shifted(train, rows, columns) for rows, columns in moves])
    return shifted.reshape(-1, 64), np.tile(y_train, len(moves)), test.reshape(-1, 64), y_test


def _shifted(images: NDArray[Any], rows: int, columns: int) -> NDArray[Any]:
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    return padded[:, 1 + rows : 9 + rows, 1 + columns : 9 + columns]


def _warm_up(X: NDArray[Any], y: NDArray[Any], X_test: NDArray[Any]) -> None:
    """On all of the data: fewer would go other ways, and what is compiled then would be counted as training."""
    for model in (SBPClassifier(gamma=0.5, max_iter=2000, random_state=0), SVC(C=10.0, gamma=0.5, random_state=0)):
        _quietly(partial(model.fit, X, y))
        model.predict(X_test)


def _measure(name: str, model: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> Result:
    start = time.perf_counter()
    _quietly(lambda: model.fit(X, y))
    fitted = time.perf_counter()
    error = float(np.mean(model.predict(X_test) != y_test))
    return Result(name, fitted - start, error, int(model.n_support_.sum()), time.perf_counter() - fitted)


def _quietly(action: Callable[[], Any]) -> Any:
    """The demo shows the gap itself; the warning that a budget ended the run would say it twice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return action()


def _errors_on_the_way(X: Any, y: Any, X_test: Any, y_test: Any, steps: int) -> list[tuple[int, float]]:
    """Test error of the model at ever more steps: one run, continued."""
    model = SBPClassifier(nu=1e-3, gamma=0.5, tol=0.0, random_state=0, warm_start=True)
    errors = []
    done = 0
    for target in np.unique(np.geomspace(min(16, steps), steps, 16).astype(int)):
        model.set_params(max_iter=int(target) - done)
        _quietly(lambda: model.fit(X, y))
        done = int(target)
        errors.append((done, float(np.mean(model.predict(X_test) != y_test))))
    return errors


def _kind_of_gap(model: SVC) -> str:
    return "proven" if model.certified_ else "estimated"


def _table(results: list[Result]) -> Table:
    table = Table()
    for column in ("", "fit (s)", "test error", "support", "predict (s)"):
        table.add_column(column, justify="left" if column == "" else "right")
    for r in results:
        table.add_row(r.name, f"{r.seconds:.2f}", f"{r.error:.2%}", f"{r.n_support:,}", f"{r.predict_seconds:.3f}")
    return table


def _draw(model: Any, results: list[Result], errors: list[tuple[int, float]], out: Path) -> Path:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    history = model.history_
    shown = history["margin"] > 0
    left.fill_between(
        history["step"][shown],
        history["margin"][shown],
        history["bound"][shown],
        alpha=0.2,
        label="certified gap",
    )
    left.plot(history["step"][shown], history["margin"][shown], label="margin reached (lower bound)")
    left.plot(history["step"][shown], history["bound"][shown], label="upper bound on the best margin")
    left.set(xscale="log", yscale="log", xlabel="steps", title="The optimum is between the two lines")
    left.legend()
    steps, wrong = np.array(errors).T
    right.plot(steps, 100 * wrong, marker="o", label=results[0].name)
    right.axhline(100 * results[-1].error, color="black", linestyle="--", label=f"{results[-1].name}, converged")
    right.set(xscale="log", xlabel="steps", ylabel="test error [%]", title="A usable model at any moment")
    right.legend()
    out.mkdir(parents=True, exist_ok=True)
    path = out / "demo.png"
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path
