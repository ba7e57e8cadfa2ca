"""
The C-level: the best scale of a direction
==========================================

Users give C, not an amount of slack. For a fixed direction w the objective ½ s²‖w‖² + C Σ max(0, 1 − s c_i) is a convex
function of the scale s alone. Its minimum is at s = 1/γ, where γ is the *C-level*: the level at which
γ Σ c_i over the wet examples equals 1/C (for ‖w‖ = 1). So each direction comes with its own best scale, without a
search, and any dual point becomes a better model at no cost.

The data are scikit-learn's breast cancer measurements.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from slackwater import SVC
from slackwater.water import c_level

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
rough = SVC(C=1.0, gamma=0.03, fit_intercept=False).fit(X[::6], y[::6])  # a direction found from a sixth of the rows
signs = np.where(y == 1, 1, -1)
responses = signs * rough.decision_function(X) * rough.margin_  # of the unit vector


def objective(scale, C):
    return 0.5 * scale**2 + C * np.maximum(0, 1 - scale * responses).sum()


# %%
# Dots mark the C-level of each C. They are the minima.

figure, axis = plt.subplots(figsize=(8, 4.2), layout="constrained")
for C, colour in ((0.1, "#0b7285"), (1.0, "#e8590c"), (10.0, "#862e9c")):
    best = 1 / c_level(responses, C)
    scales = np.geomspace(best / 4, best * 4, 200)
    values = np.array([objective(scale, C) for scale in scales])
    axis.plot(scales, values / objective(best, C), color=colour, label=f"C = {C}")
    axis.plot(best, 1.0, "o", color=colour)
    assert values.min() >= objective(best, C) * (1 - 1e-9)
axis.set(xscale="log", ylim=(0.95, 2), xlabel="scale s of the unit vector", ylabel="objective / its least value")
axis.legend()
plt.show()
