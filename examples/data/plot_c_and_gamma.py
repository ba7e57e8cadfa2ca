"""
What C and gamma do
===================

Two measurements of scikit-learn's wine data, three cultivars. Small ``gamma``: wide bumps, smooth boundaries. Large
``C``: training errors are dear, boundaries bend around single bottles.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from slackwater import SVC

wine = load_wine()
chosen = [wine.feature_names.index(name) for name in ("flavanoids", "color_intensity")]
X = StandardScaler().fit_transform(wine.data[:, chosen])
first, second = np.meshgrid(np.linspace(-2.2, 3.5, 200), np.linspace(-2.0, 3.8, 200))
grid = np.column_stack([first.ravel(), second.ravel()])

# %%
figure, axes = plt.subplots(2, 3, figsize=(11, 6.4), sharex=True, sharey=True, layout="constrained")
for axis_row, C in zip(axes, (0.3, 100), strict=True):
    for axis, gamma in zip(axis_row, (0.05, 0.5, 10), strict=True):
        model = SVC(C=C, gamma=gamma).fit(X, wine.target)
        regions = model.predict(grid).reshape(first.shape)
        axis.contourf(first, second, regions, levels=[-0.5, 0.5, 1.5, 2.5], colors=["#99e9f2", "#ffd8a8", "#eebefa"])
        axis.scatter(*X.T, c=wine.target, cmap="viridis", s=10)
        axis.scatter(*model.support_vectors_.T, s=40, facecolor="none", edgecolor="black", linewidth=0.5)
        axis.set_title(f"C = {C}, gamma = {gamma}: {len(model.support_)} support vectors", fontsize=10)
figure.supxlabel("flavanoids (standardised)")
figure.supylabel("colour intensity (standardised)")
plt.show()
