"""
A usable model at any moment, and a proof of how good it is
===========================================================

While the Stochastic Batch Perceptron trains, the margin reached is a lower bound on the best margin, and its
coefficients give an upper bound. ``history_`` has both, and what they cost.

The data are scikit-learn's breast cancer measurements.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from slackwater import SBPClassifier

warnings.simplefilter("ignore", ConvergenceWarning)  # short runs are what this is about
X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

# %%
# One run that is continued, to look at the test error on the way.

model = SBPClassifier(nu=0.05, gamma=0.03, tol=0.005, warm_start=True)
steps, errors = [], []
for more in (5, 5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120):
    model.set_params(max_iter=more).fit(X_train, y_train)
    steps.append(int(model.n_iter_))
    errors.append(100 * (model.predict(X_test) != y_test).mean())

whole = SBPClassifier(nu=0.05, gamma=0.03, tol=0.005, max_iter=steps[-1]).fit(X_train, y_train)
history = whole.history_
positive = history["margin"] > 0

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
shown = history["step"][positive], history["margin"][positive], history["bound"][positive]
left.fill_between(*shown, color="#3bc9db", alpha=0.3)
left.plot(shown[0], shown[1], color="#0b7285", label="margin reached")
left.plot(shown[0], shown[2], color="#e8590c", label="upper bound on the best margin")
left.set(xscale="log", xlabel="steps", title=f"Certified gap at the end: {whole.gap_:.1%}")
left.legend()
right.plot(steps, errors, marker="o", color="#862e9c")
right.set(xscale="log", xlabel="steps", ylabel="test error [%]", ylim=(0, None), title="Test error on the way")
plt.show()
