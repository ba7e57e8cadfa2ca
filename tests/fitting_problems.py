"""Problems on which each strategy of SVC is at home, and settings that let strategies serve few examples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.datasets import make_classification

from slackwater import SVC
from slackwater.fitting.settings import ScreeningSettings, Settings, SubspaceSettings, ToleranceSettings

N = 12_000

# So few unseen examples tell differences of two points, not of two in a thousand; and a subspace may have as many
# landmarks as there are support vectors.
FEW = Settings(
    subspace=SubspaceSettings(min_examples=0, min_support_vectors=0, max_deficit=0.02),
    tolerance=ToleranceSettings(max_deficit=0.02),
    screening=ScreeningSettings(min_examples=7000, min_examples_if_cheap=7000),
)


class SVCWithSettings(SVC):
    """SVC with thresholds of one's own."""

    _settings: ClassVar[Settings] = FEW


def svc(settings: Settings = FEW, **parameters: Any) -> SVC:
    """An SVC that decides by these settings."""
    made = type("SVCWithSettings", (SVCWithSettings,), {"_settings": settings})
    return made(**{"random_state": 0, **parameters})


def few(**parts: dict[str, Any]) -> Settings:
    """The settings for few examples, with some of them replaced: ``few(screening={"margin": 0.2})``."""
    return replace(FEW, **{name: replace(getattr(FEW, name), **values) for name, values in parts.items()})


def noisy(n=N, seed=0):
    X, y = make_classification(n, 20, n_informative=8, flip_y=0.2, random_state=seed)
    return X.astype(np.float32), y, {"C": 1.0, "gamma": 0.003}  # well on the subspace's side of its threshold


def separated(n=N, seed=0):
    """A winding border without noise, in many dimensions of which few tell."""
    rng = np.random.default_rng(seed)
    hidden = rng.uniform(-2, 2, (n, 4))
    y = (np.sin(2 * hidden[:, 0]) + hidden[:, 1] * hidden[:, 2] > 0).astype(int)
    X = hidden @ np.random.default_rng(1).normal(size=(4, 120)) / 5 + 0.01 * rng.normal(size=(n, 120))
    return X.astype(np.float32), y, {"C": 10.0, "gamma": 0.5}


def narrow(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 60, (n, 3))
    y = ((np.floor(X[:, 0] / 5) + np.floor(X[:, 1] / 5)) % 2).astype(int)
    return X.astype(np.float32), y, {"C": 100.0, "gamma": 0.3}


def smooth(n=N, seed=0, blur=0.25):
    """Rings in the plane, where a few hundred points span nearly everything a Gaussian can be made of."""
    rng = np.random.default_rng(seed)
    angle, ring = 2 * np.pi * rng.random(n), rng.integers(4, size=n)
    radius = 1.0 + ring + blur * rng.standard_normal(n)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), ring % 2, {"C": 100.0, "gamma": 1.0}


def detailed(n=N, seed=0):
    """So much detail that nearly all examples are support vectors."""
    X, y = make_classification(n, 20, n_informative=10, n_clusters_per_class=6, flip_y=0.02, random_state=seed)
    return X / X.std(), y, {"C": 10.0, "gamma": 0.3}


# Data, by what they are, and the strategy that serves them.
DATA = {
    "noisy": (noisy, "subspace"),
    "smooth": (smooth, "subspace"),
    "separated": (separated, "screening"),
    "narrow": (narrow, "sparse_kernel"),
    "detailed": (detailed, "exact"),
}


def objective(model: SVC, X: Any, y: Any) -> float:
    """The primal objective of a binary model, from its public attributes."""
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    loss = model.C * np.maximum(0.0, 1.0 - signs * model.decision_function(X)).sum()
    return float(0.5 / model.margin_**2 + loss)
