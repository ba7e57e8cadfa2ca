"""
Methods compared by kernel evaluations
======================================

The paper's question: how many kernel values does a method need for a given test error? All methods run on the same
loop and the same meter, and a ``callback`` looks at the model on the way. The data are scikit-learn's handwritten
digits: is it an 8? (On the paper's data: :doc:`the reproduction </reproduction>`.)
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import train_test_split

from slackwater import SVC, SBPClassifier
from slackwater.baselines import PegasosClassifier, SDCAClassifier, SMOClassifier

warnings.simplefilter("ignore", ConvergenceWarning)  # all end by a budget
images, digit = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(images / 16, digit == 8, test_size=0.4, stratify=digit, random_state=0)
optimum = SVC(C=1, gamma=0.1, fit_intercept=False, tol=1e-3).fit(X, y)
best = 100 * (optimum.predict(X_test) != y_test).mean()
test_values = rbf_kernel(X_test, X, gamma=0.1)

# %%
# The four formulations have one optimum: ``slack_nu_`` is the ν that belongs to C, and λ = 1/(nC).

n = len(X)
shared = {"kernel": "rbf", "gamma": 0.1, "tol": 1e-6, "max_kernel_evals": 1000 * n, "max_iter": 3000}
methods = {
    "SBP": SBPClassifier(nu=float(optimum.slack_nu_), **shared),
    "Pegasos": PegasosClassifier(alpha=1 / n, **shared),
    "SDCA": SDCAClassifier(C=1, **shared),
    "SMO": SMOClassifier(C=1, fit_intercept=False, **shared),
}
points = np.geomspace(4 * n, 400 * n, 60)  # kernel evaluations at which the model is looked at


def errors_on_the_way(method, seed):
    errors = []

    def look(moment):
        while len(errors) < len(points) and moment.evaluations >= points[len(errors)]:
            model = moment.model()
            values = test_values[:, model.support] @ model.dual_coef[0] + model.intercept[0]
            errors.append(100 * np.mean((values > 0) != y_test))

    method.set_params(callback=look, random_state=seed).fit(X, y)
    return errors + errors[-1:] * (len(points) - len(errors))


# %%
# Lines are medians of five seeds, bands go from the least to the largest error.

figure, axis = plt.subplots(figsize=(8, 4.6), layout="constrained")
for name, method in methods.items():
    errors = np.array([errors_on_the_way(method, seed) for seed in range(5)])
    (line,) = axis.plot(points, np.median(errors, axis=0), label=name)
    axis.fill_between(points, errors.min(axis=0), errors.max(axis=0), color=line.get_color(), alpha=0.15, linewidth=0)
axis.axhline(best, color="black", linestyle="--", linewidth=1, label="the optimum")
axis.set(xscale="log", xlabel="kernel evaluations", ylabel="test error [%]", ylim=(0, 14))
axis.legend()
plt.show()

# %%
# The error of SBP falls first and steadily. SMO moves two coefficients at a time to their best values; its model is of
# no use for long, and then it is the optimum at once.
