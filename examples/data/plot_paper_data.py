"""
The decisions of a fit, on the paper's data
===========================================

The Adult data of the paper (32,561 rows) are used where ``slackwater.datasets`` finds a copy: in the folder
``$SLACKWATER_DATA`` or in the user's cache. Nothing is downloaded here. Without a copy the example takes scikit-learn's
handwritten digits with added noise instead, 20,000 rows, and says so in its title.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from slackwater import SVC
from slackwater.datasets import available, load_dataset


def noisy_digits():
    images, digit = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = rng.integers(len(images), size=24_000)
    X = (images[rows] / 16 + rng.normal(scale=0.3, size=(24_000, 64))).astype(np.float32)
    y = np.where(digit[rows] % 2, 1, -1)
    return X[:20_000], y[:20_000], X[20_000:], y[20_000:]


if available("adult"):
    title, parameters, data = "Adult", {"C": 1.0, "gamma": 0.05}, load_dataset("adult")
else:
    title, parameters, data = "digits with noise", {"C": 1.0, "gamma": "scale"}, noisy_digits()
X_train, y_train, X_test, y_test = data

# %%
# What was measured, and what followed.

model = SVC(**parameters).fit(X_train, y_train)
print(model.decisions_)

# %%
# The default beside strategies that are forced: error, support vectors and gap.

forced = {"default": model}
for strategy in ("exact", "subspace", "screening"):
    forced[strategy] = SVC(**parameters, strategy=strategy).fit(X_train, y_train)
errors = [100 * (each.predict(X_test) != y_test).mean() for each in forced.values()]
support = [len(each.support_) for each in forced.values()]
names = [f"default\n({model.strategy_})", "exact", "subspace", "screening"]

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
colours = ["#0b7285", "#adb5bd", "#adb5bd", "#adb5bd"]
for axis, values, form, label in (
    (axes[0], errors, "{:.2f}", "test error [%]"),
    (axes[1], support, "{:.0f}", "support"),
):
    bars = axis.bar(names, values, color=colours)
    axis.bar_label(bars, [form.format(value) for value in values])
    axis.set_title(f"{title}: {label}")
plt.show()
