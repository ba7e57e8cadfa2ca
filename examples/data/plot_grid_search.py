"""
Choosing C and gamma by cross-validation
========================================

``GridSearchCV`` of scikit-learn on its breast cancer data: accuracy of five folds for each pair of parameters, and how
many support vectors that costs.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from slackwater import SVC

X, y = load_breast_cancer(return_X_y=True)
costs, widths = np.geomspace(0.01, 1000, 6), np.geomspace(1e-4, 1, 5)
search = GridSearchCV(
    make_pipeline(StandardScaler(), SVC()), {"svc__C": costs, "svc__gamma": widths}, cv=5, n_jobs=1
).fit(X, y)
print(search.best_params_, f"{search.best_score_:.3f}")

# %%
accuracy = search.cv_results_["mean_test_score"].reshape(len(costs), len(widths))
Z = StandardScaler().fit_transform(X)
support = np.array([[len(SVC(C=C, gamma=gamma).fit(Z, y).support_) for gamma in widths] for C in costs])

figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
for axis, values, form, title in (
    (axes[0], accuracy, "{:.3f}", "accuracy, mean of five folds"),
    (axes[1], support, "{:.0f}", "support vectors"),
):
    axis.imshow(values, cmap="GnBu", aspect="auto")
    axis.set_xticks(range(len(widths)), [f"{g:.0e}" for g in widths])
    axis.set_yticks(range(len(costs)), [f"{c:g}" for c in costs])
    axis.set(title=title, xlabel="gamma", ylabel="C")
    middle = (values.min() + values.max()) / 2
    for (row, column), value in np.ndenumerate(values):
        colour = "white" if value > middle else "black"
        axis.text(column, row, form.format(value), ha="center", va="center", color=colour, fontsize=8)
plt.show()
