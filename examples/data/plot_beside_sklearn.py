"""
Beside scikit-learn's SVC, from hundreds to ten thousand rows
=============================================================

The same problem, the same parameters, more and more rows: handwritten digits of scikit-learn with copies shifted by a
pixel, ten classes. Times are of the machine that built this page, the best of two fits each; the tables in
:doc:`the comparison </comparison/index>` are measured with more care.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn import svm
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import slackwater

images, digit = load_digits(return_X_y=True)
train, test, y_train, y_test = train_test_split(images.reshape(-1, 8, 8) / 16, digit, test_size=0.3, random_state=0)
moves = [(i, j) for i in (0, -1, 1) for j in (0, -1, 1)]
X = np.concatenate([np.roll(train, move, axis=(1, 2)) for move in moves]).reshape(-1, 64)
y, X_test = np.tile(y_train, len(moves)), test.reshape(-1, 64)
order = np.random.default_rng(0).permutation(len(X))
X, y = X[order], y[order]

# %%
# The best of two fits, since the first on a machine compiles.


def timed(fit):
    start = time.perf_counter()
    model = fit()
    return time.perf_counter() - start, model


sizes = [500, 1000, 2000, 4000, 8000, len(X)]
seconds, errors = {}, {}
for name, module in (("scikit-learn", svm), ("slackwater", slackwater)):
    for n in sizes:
        fits = [timed(lambda n=n, SVC=module.SVC: SVC(C=10, gamma=0.3).fit(X[:n], y[:n])) for _ in range(2)]
        seconds.setdefault(name, []).append(min(taken for taken, _ in fits))
        errors.setdefault(name, []).append(100 * (fits[0][1].predict(X_test) != y_test).mean())

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for name, colour, style in (("scikit-learn", "#e8590c", "o-"), ("slackwater", "#0b7285", "s--")):
    left.loglog(sizes, seconds[name], style, color=colour, label=name)
    right.semilogx(sizes, errors[name], style, color=colour, label=name)
left.set(xlabel="rows", ylabel="seconds", title="The time of a fit")
right.set(xlabel="rows", ylabel="test error [%]", title="The same error", ylim=(0, None))
left.legend()
plt.show()
