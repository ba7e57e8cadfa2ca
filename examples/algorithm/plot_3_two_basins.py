"""
An unregularised bias: two basins
=================================

With a bias b, the responses of the positive examples are raised by b, those of the negative ones lowered by b. Each
class has its own basin. Water finds one common level, and the bias is the shift at which both basins have as many
examples under water.

The data are scikit-learn's breast cancer measurements, of which 357 are benign and 212 malignant.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from slackwater import SVC
from slackwater.water import level_and_bias

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
model = SVC(C=1.0, gamma=0.03).fit(X, y)
labels = np.where(y == 1, 1, -1)
without_bias = labels * (model.decision_function(X) - model.intercept_[0])
volume = np.maximum(0, 1 - labels * model.decision_function(X)).sum()

# %%
# ``level_and_bias`` finds both from the responses alone: the level 1 and the model's own bias.

gamma, bias = level_and_bias(without_bias, labels, volume)
print(f"level {gamma:.3f}, bias {bias:.3f}; of the model {model.intercept_[0]:.3f}")

figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for row, (axis_bias, title) in enumerate([(0.0, "without a bias"), (bias, f"with the bias {bias:.2f}")]):
    axis = axes[row]
    for sign, name, start in ((1, "benign", 0), (-1, "malignant", 400)):
        ground = np.sort(without_bias[labels == sign] + sign * axis_bias)
        place = start + np.arange(len(ground))
        wet = ground <= gamma
        axis.fill_between(place, -3, ground, color="#c9b79c", step="mid")
        axis.fill_between(place[wet], ground[wet], gamma, color="#3bc9db", step="mid")
        axis.text(place.mean(), -2.7, f"{name}\n{wet.sum()} wet", ha="center")
    axis.axhline(gamma, color="#0b7285", linewidth=1)
    axis.set(title=title, ylim=(-3, 3), xticks=[])
axes[0].set_ylabel("response")
plt.show()
