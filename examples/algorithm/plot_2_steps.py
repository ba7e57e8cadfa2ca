"""
Single steps of the Stochastic Batch Perceptron
===============================================

A step draws one of the examples under water at random, adds it to the model, and scales the model back to norm one. It
costs one kernel row. The pictures show the boundary after 3, 30 and 3000 steps, and the wet examples.

The data are two measurements of scikit-learn's iris flowers, versicolor against virginica.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from slackwater import SBPClassifier
from slackwater.water import level

warnings.simplefilter("ignore", ConvergenceWarning)  # these runs are meant to be short
iris = load_iris()
kept = iris.target > 0
X = StandardScaler().fit_transform(iris.data[kept][:, 2:])
y = np.where(iris.target[kept] == 2, 1, -1)
nu = 0.02

# %%
# The background is the decision value; the black line is the boundary.

first, second = np.meshgrid(np.linspace(-2.5, 2.7, 200), np.linspace(-2.3, 2.4, 200))
figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), sharey=True, layout="constrained")
for axis, steps in zip(axes, (3, 30, 3000), strict=True):
    model = SBPClassifier(nu=nu, gamma=1.0, max_iter=steps, tol=1e-6).fit(X, y)
    values = model.decision_function(np.column_stack([first.ravel(), second.ravel()])).reshape(first.shape)
    limit = np.abs(values).max()
    axis.pcolormesh(first, second, values, cmap="RdBu_r", vmin=-limit, vmax=limit, alpha=0.5, rasterized=True)
    axis.contour(first, second, values, levels=[0], colors="black", linewidths=1.5)
    responses = y * model.decision_function(X) * model.margin_
    wet = responses <= level(responses, len(y) * nu)
    axis.scatter(*X[~wet].T, c=y[~wet], cmap="RdBu_r", s=14, vmin=-1, vmax=1)
    axis.scatter(*X[wet].T, c=y[wet], cmap="RdBu_r", s=34, vmin=-1, vmax=1, edgecolor="black", linewidth=1.2)
    axis.set(title=f"{steps} steps, {(model.predict(X) != y).mean():.1%} wrong", xlabel="petal length")
axes[0].set_ylabel("petal width")
plt.show()
