"""The tasks that slackwater.SVC is raced on: the paper's data and others, which are generated here."""

from __future__ import annotations

from typing import Any

import numpy as np

RACES: dict[str, dict[str, Any]] = {
    "adult": {"data": "adult", "C": 1.0, "gamma": 0.05},
    "adult-100": {"data": "adult", "C": 100.0, "gamma": 0.005},
    "mnist": {"data": "mnist", "C": 1.0, "gamma": 0.02},
    "mnist-1000": {"data": "mnist", "C": 1000.0, "gamma": 0.02},
    "mnist-10": {"data": "mnist10", "C": 10.0, "gamma": 0.02},
    "forest-12k": {"data": "forest", "C": 1e4, "gamma": 1e-4, "rows": 12_500},
    "forest-25k": {"data": "forest", "C": 1e4, "gamma": 1e-4, "rows": 25_000},
    "forest-100k": {"data": "forest", "C": 1e4, "gamma": 1e-4, "rows": 100_000},
    "forest": {"data": "forest", "C": 1e4, "gamma": 1e-4},
    # Other tasks, widths and C than those the engine was developed with: a check that nothing is tuned to the above.
    "odd-digits": {"data": "mnist10", "task": "odd", "C": 5.0, "gamma": 0.01},
    "wide-digits": {"data": "mnist", "C": 1.0, "gamma": 0.001},
    "narrow-digits": {"data": "mnist", "C": 10.0, "gamma": 0.1},
    "narrow-adult": {"data": "adult", "C": 10.0, "gamma": 0.5},
    "wide-adult": {"data": "adult", "C": 1.0, "gamma": 0.002},
    "scaled-forest": {"data": "forest", "task": "scaled", "C": 10.0, "gamma": 0.5, "rows": 50_000},
    "clusters": {"data": "clusters", "C": 1.0, "gamma": 0.02},
    "rings": {"data": "rings", "C": 100.0, "gamma": 2.0},
    "checkers": {"data": "checkers", "C": 10.0, "gamma": 4.0},
    "spirals": {"data": "spirals", "C": 100.0, "gamma": 1.0},
    "surface": {"data": "surface", "C": 10.0, "gamma": 1.0},
    "mixture": {"data": "mixture", "C": 10.0, "gamma": 0.3},
    "letters": {"data": "letters", "C": 10.0, "gamma": 0.1},
    # Fewer examples, where there is less to save.
    "few-digits": {"data": "mnist", "C": 0.1, "gamma": 0.02, "rows": 25_000},
    "few-digits-100": {"data": "mnist", "C": 100.0, "gamma": 0.03, "rows": 25_000},
    "few-forest": {"data": "forest", "task": "scaled", "C": 1.0, "gamma": 0.1, "rows": 25_000},
    "few-forest-1000": {"data": "forest", "task": "scaled", "C": 1000.0, "gamma": 0.02, "rows": 25_000},
    # And further ones.
    "adult-0.1": {"data": "adult", "C": 0.1, "gamma": 0.1},
    "adult-10": {"data": "adult", "C": 10.0, "gamma": 0.02},
    "adult-1000": {"data": "adult", "C": 1000.0, "gamma": 0.001},
    "three-five": {"data": "mnist10", "task": "three-five", "C": 10.0, "gamma": 0.02},
    "half-digits": {"data": "mnist10", "task": "halves", "C": 1.0, "gamma": 0.03, "rows": 30_000},
    "few-digits-10": {"data": "mnist10", "C": 5.0, "gamma": 0.015, "rows": 20_000},
    "wide-forest": {"data": "forest", "C": 10.0, "gamma": 1e-6, "rows": 50_000},
    "raw-forest": {"data": "forest", "C": 100.0, "gamma": 1e-5, "rows": 50_000},
    "scaled-forest-100": {"data": "forest", "task": "scaled", "C": 100.0, "gamma": 0.05, "rows": 40_000},
    "five-classes": {"data": "five_classes", "C": 3.0, "gamma": 0.1},
    "blobs": {"data": "blobs", "C": 1.0, "gamma": 0.2},
    "moons": {"data": "moons", "C": 100.0, "gamma": 5.0},
    "waves": {"data": "waves", "C": 50.0, "gamma": 0.5},
    "noisy-waves": {"data": "noisy_waves", "C": 10.0, "gamma": 2.0},
    "signs": {"data": "signs", "C": 1.0, "gamma": 0.002},
    # Fewer examples.
    "forest-10k": {"data": "forest", "task": "scaled", "C": 1.0, "gamma": 0.3, "rows": 10_000},
    "forest-20k": {"data": "forest", "task": "scaled", "C": 1.0, "gamma": 0.05, "rows": 20_000},
    "forest-20k-10": {"data": "forest", "task": "scaled", "C": 10.0, "gamma": 0.05, "rows": 20_000},
    "forest-20k-100": {"data": "forest", "task": "scaled", "C": 100.0, "gamma": 0.3, "rows": 20_000},
    "adult-10k": {"data": "adult", "C": 3.0, "gamma": 0.03, "rows": 10_000},
    "adult-10k-30": {"data": "adult", "C": 30.0, "gamma": 0.1, "rows": 10_000},
    "digits-15k": {"data": "mnist", "C": 0.3, "gamma": 0.01, "rows": 15_000},
    "digits-15k-30": {"data": "mnist", "C": 30.0, "gamma": 0.03, "rows": 15_000},
    "digits-10k-10": {"data": "mnist10", "C": 1.0, "gamma": 0.03, "rows": 10_000},
}
OTHER = list(RACES)[list(RACES).index("odd-digits") : list(RACES).index("adult-0.1")]
FURTHER = list(RACES)[list(RACES).index("adult-0.1") : list(RACES).index("forest-10k")]
SMALLER = list(RACES)[list(RACES).index("forest-10k") :]


def load(race: dict[str, Any], seed: int) -> tuple[Any, Any, Any, Any]:
    from slackwater.datasets import load_dataset

    if race["data"] in SYNTHETIC:
        X, y = SYNTHETIC[race["data"]](np.random.default_rng(seed))
        n_train = len(y) * 4 // 5
        return X[:n_train], y[:n_train], X[n_train:], y[n_train:]
    X, y, X_test, y_test = load_dataset(race["data"])
    if race.get("task") == "odd":
        y, y_test = y % 2, y_test % 2
    if race.get("task") == "halves":
        y, y_test = y > 4, y_test > 4
    if race.get("task") == "three-five":
        some, some_test = np.isin(y, (3, 5)), np.isin(y_test, (3, 5))
        X, y, X_test, y_test = X[some], y[some], X_test[some_test], y_test[some_test]
    if race.get("task") == "scaled":
        mean, deviation = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-6)
        X, X_test = (X - mean) / deviation, (X_test - mean) / deviation
    if "rows" in race:
        chosen = np.sort(np.random.default_rng(seed).permutation(len(y))[: race["rows"]])
        X, y = X[chosen], y[chosen]
    return X, y, X_test, y_test


def clusters(rng: np.random.Generator) -> tuple[Any, Any]:
    """Thirty overlapping clusters in forty dimensions, three classes, a tenth of the labels wrong."""
    centres = 1.5 * rng.standard_normal((30, 40))
    which = rng.integers(30, size=50_000)
    X = (centres[which] + rng.standard_normal((50_000, 40))).astype(np.float32)
    wrong = rng.random(50_000) < 0.1
    return X, np.where(wrong, rng.integers(3, size=50_000), which % 3)


def rings(rng: np.random.Generator) -> tuple[Any, Any]:
    """Eight rings in the plane, by turns of either class, blurred."""
    angle, ring = 2 * np.pi * rng.random(75_000), rng.integers(8, size=75_000)
    radius = 1.0 + ring + 0.25 * rng.standard_normal(75_000)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), ring % 2


def checkers(rng: np.random.Generator) -> tuple[Any, Any]:
    """A checkerboard of 64 fields, one label in fifty wrong."""
    X = rng.uniform(0, 8, (50_000, 2))
    wrong = rng.random(50_000) < 0.02
    return X, (np.floor(X).sum(axis=1).astype(int) + wrong) % 2


def spirals(rng: np.random.Generator) -> tuple[Any, Any]:
    """Three spirals in the plane, hardly blurred."""
    arm, along = rng.integers(3, size=40_000), 3 * np.pi * np.sqrt(rng.random(40_000))
    angle = along + 2 * np.pi * arm / 3
    X = np.stack([along * np.cos(angle), along * np.sin(angle)], axis=1)
    return X + 0.4 * rng.standard_normal(X.shape), arm


def surface(rng: np.random.Generator) -> tuple[Any, Any]:
    """Above or below the median of Friedman's first function, half of whose ten variables say nothing."""
    X = rng.random((50_000, 10)).astype(np.float32)
    height = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    height += rng.standard_normal(50_000)
    return X, (height > np.median(height)).astype(int)


def mixture(rng: np.random.Generator) -> tuple[Any, Any]:
    """scikit-learn's: six clusters a class in ten of twenty dimensions, one label in fifty random."""
    from sklearn.datasets import make_classification

    state = int(rng.integers(2**31))
    X, y = make_classification(40_000, 20, n_informative=10, n_clusters_per_class=6, flip_y=0.02, random_state=state)
    return X / X.std(), y


def letters(rng: np.random.Generator) -> tuple[Any, Any]:
    """Twenty-six classes of three clusters each in sixteen dimensions."""
    centres = rng.standard_normal((26, 3, 16))
    y, cluster = rng.integers(26, size=30_000), rng.integers(3, size=30_000)
    return (centres[y, cluster] + 0.6 * rng.standard_normal((30_000, 16))).astype(np.float32), y


def five_classes(rng: np.random.Generator) -> tuple[Any, Any]:
    """scikit-learn's: two clusters a class in fifteen of twenty-five dimensions."""
    from sklearn.datasets import make_classification

    state = int(rng.integers(2**31))
    X, y = make_classification(
        50_000, 25, n_informative=15, n_classes=5, n_clusters_per_class=2, flip_y=0.03, random_state=state
    )
    return (X / X.std()).astype(np.float32), y


def blobs(rng: np.random.Generator) -> tuple[Any, Any]:
    """Twelve overlapping Gaussians in eight dimensions."""
    centres, y = 1.2 * rng.standard_normal((12, 8)), rng.integers(12, size=75_000)
    return (centres[y] + rng.standard_normal((75_000, 8))).astype(np.float32), y


def moons(rng: np.random.Generator) -> tuple[Any, Any]:
    """scikit-learn's, blurred."""
    from sklearn.datasets import make_moons

    made: tuple[Any, Any] = make_moons(125_000, noise=0.2, random_state=int(rng.integers(2**31)))
    return made


def waves(rng: np.random.Generator) -> tuple[Any, Any]:
    """A wavy surface in six dimensions, one label in twenty wrong."""
    return _waves(rng, 6, 0.05)


def noisy_waves(rng: np.random.Generator) -> tuple[Any, Any]:
    """The same in three, one label in five wrong."""
    return _waves(rng, 3, 0.2)


def _waves(rng: np.random.Generator, dimensions: int, share_wrong: float) -> tuple[Any, Any]:
    X = rng.uniform(-1, 1, (50_000, dimensions))
    above = np.sin(5 * X[:, 0]) + np.cos(4 * X[:, 1] * X[:, 2]) > 0.3
    return X, (above ^ (rng.random(50_000) < share_wrong)).astype(int)


def signs(rng: np.random.Generator) -> tuple[Any, Any]:
    """Two Gaussians in three hundred dimensions that differ by the signs of ten products of coordinates."""
    y = rng.integers(2, size=37_500)
    X = rng.standard_normal((37_500, 300)).astype(np.float32)
    X[:, :10] += 0.8 * (2 * y[:, None] - 1) * np.sign(X[:, 10:20])
    return X, y


_GENERATORS = (clusters, rings, checkers, spirals, surface, mixture, letters)
_FURTHER_GENERATORS = (five_classes, blobs, moons, waves, noisy_waves, signs)
SYNTHETIC = {f.__name__: f for f in (*_GENERATORS, *_FURTHER_GENERATORS)}
