"""
Handwritten digits: errors and support vectors
==============================================

Ten classes, one against one. The upper row shows the images that the model gets wrong, the lower row the support
vectors that most pairs of classes lean on.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from slackwater import SVC

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=0.5, random_state=0)
model = SVC(C=10).fit(X_train, y_train)
predicted = model.predict(X_test)
print(f"{(predicted != y_test).mean():.2%} wrong, {len(model.support_)} of {len(X_train)} rows are support vectors")

# %%
wrong = np.flatnonzero(predicted != y_test)[:8]
weight = np.abs(model.dual_coef_).sum(axis=0)
heavy = np.argsort(weight)[::-1][:8]

figure, axes = plt.subplots(2, 8, figsize=(11, 3.4), layout="constrained")
for axis in axes.flat:
    axis.set_axis_off()
for axis, row in zip(axes[0], wrong, strict=False):
    axis.imshow(X_test[row].reshape(8, 8), cmap="gray_r")
    axis.set_title(f"{y_test[row]}, taken for {predicted[row]}", fontsize=8)
for axis, row in zip(axes[1], heavy, strict=True):
    axis.imshow(model.support_vectors_[row].reshape(8, 8), cmap="PuBu")
    axis.set_title(f"{y_train[model.support_[row]]}, weight {weight[row]:.0f}", fontsize=8)
plt.show()
