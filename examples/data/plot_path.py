"""
The front of norm and loss
==========================

Between a wide margin and few losses lies a front: no norm is smaller without more loss. ``svm_path`` follows it along
C, warm-started, on one set of kernel values. The test error on the way says which C to take.

The data are scikit-learn's breast cancer measurements.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from slackwater.path import svm_path

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
path = svm_path(X_train, y_train, Cs=np.geomspace(0.003, 1000, 20), gamma=0.02)

# %%
errors = [100 * (path.at(C).predict(X_test) != y_test).mean() for C in path.C]
best = int(np.argmin(errors))

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
left.plot(path.norm, path.loss, "-", color="#adb5bd")
points = left.scatter(path.norm, path.loss, c=np.log10(path.C), cmap="viridis", zorder=2)
left.set(xscale="log", xlabel="norm of w", ylabel="mean hinge loss", title="The front")
figure.colorbar(points, ax=left, label="log10 C")
right.semilogx(path.C, errors, "o-", color="#0b7285", label="test error")
right.plot(path.C[best], errors[best], "o", color="#e8590c", markersize=10, label=f"best: C = {path.C[best]:.3g}")
right.set(xlabel="C", ylabel="test error [%]", ylim=(0, None), title="What it means for new data")
right.legend()
plt.show()
