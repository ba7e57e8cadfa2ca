"""
The decisions of a fit, on the paper's data
===========================================

The Adult data of the paper (32,561 rows) are used where ``slackwater.datasets`` finds a copy: in the folder
``$SLACKWATER_DATA`` or in the user's cache. Nothing is downloaded here. Without a copy the example takes scikit-learn's
handwritten digits with added noise instead, 20,000 rows, and says so in its title.
"""

import time

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
# The default beside strategies that are forced: what each takes on the machine that built this page, and what it gives.

start = time.perf_counter()
SVC(**parameters).fit(X_train, y_train)  # once more, now that everything is compiled
taken = {f"default\n({model.strategy_})": (time.perf_counter() - start, model)}
for strategy in ("exact", "subspace", "screening"):
    start = time.perf_counter()
    forced = SVC(**parameters, strategy=strategy).fit(X_train, y_train)
    taken[strategy] = (time.perf_counter() - start, forced)

shown = {
    "seconds of a fit": ("{:.1f}", [seconds for seconds, _ in taken.values()]),
    "support vectors": ("{:,.0f}", [len(each.support_) for _, each in taken.values()]),
    "test error [%]": ("{:.2f}", [100 * (each.predict(X_test) != y_test).mean() for _, each in taken.values()]),
}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True, layout="constrained")
for axis, (label, (form, values)) in zip(axes, shown.items(), strict=True):
    bars = axis.barh(list(taken), values, color=["#0b7285", "#adb5bd", "#adb5bd", "#adb5bd"])
    axis.bar_label(bars, [form.format(value) for value in values], padding=3)
    axis.set(title=label, xticks=[], xlim=(0, 1.25 * max(values)))
    axis.spines[["top", "right", "bottom"]].set_visible(False)
axes[0].invert_yaxis()
figure.suptitle(f"{title}: {X_train.shape[0]:,} rows")
plt.show()
