"""
Screening: most examples do not matter
======================================

At the optimum only the examples on or within the margin, the support vectors, have coefficients. A solution of a sample
already tells most of the others: those far beyond the margin are *set aside*, and looked at again at the end. The wider
the *screening margin*, the fewer are misjudged.

The data are scikit-learn's handwritten digits with copies shifted by a pixel: is it an 8?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from slackwater import SVC

images, digit = load_digits(return_X_y=True)
images = images.reshape(-1, 8, 8) / 16
moves = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)]
X = np.concatenate([np.roll(images, move, axis=(1, 2)) for move in moves]).reshape(-1, 64)
y = np.tile(np.where(digit == 8, 1, -1), len(moves))

# %%
# A model of a tenth of the rows, and the model of all rows.

rng = np.random.default_rng(0)
part = rng.choice(len(X), len(X) // 10, replace=False)
sample, whole = SVC(C=10, gamma=0.3).fit(X[part], y[part]), SVC(C=10, gamma=0.3).fit(X, y)
predicted, final = y * sample.decision_function(X), y * whole.decision_function(X)
is_support = np.zeros(len(X), dtype=bool)
is_support[whole.support_] = True

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
left.scatter(predicted[~is_support], final[~is_support], s=3, color="#adb5bd", label="others")
left.scatter(predicted[is_support], final[is_support], s=5, color="#e8590c", label="support vectors")
left.axvspan(1.2, predicted.max(), color="#3bc9db", alpha=0.25)
left.set(xlabel="margin by the sample's model", ylabel="margin by the final model", title="shaded: set aside")
left.legend(markerscale=3)

limits = np.linspace(1.0, 2.0, 60)
right.plot(limits, [100 * (predicted > limit).mean() for limit in limits], color="#0b7285", label="set aside")
lost = [100 * (predicted[is_support] > limit).mean() for limit in limits]
right.plot(limits, lost, color="#e8590c", label="support vectors among them")
right.set(xlabel="screening margin", ylabel="per cent", title="What a screening margin costs")
right.legend()
plt.show()

# %%
print(f"{is_support.mean():.1%} of {len(X)} rows are support vectors")
