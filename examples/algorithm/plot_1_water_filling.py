"""
Water filling
=============

The *response* of an example is how far it lies on its own side of the boundary. Put all responses in ascending order
and they form the ground of a basin. The slack that ν allows is an amount of water; poured in, it rises to the *water
level* γ. The level is the margin of the model, and the examples under water are those that may still pull at it.

The data are scikit-learn's breast cancer measurements.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from slackwater import SBPClassifier
from slackwater.water import level

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
model = SBPClassifier(nu=0.02, gamma=0.03, tol=0.5).fit(X, y)

# %%
# Responses of the unit vector w / ‖w‖, and the level for three volumes of water, nν.

signs = np.where(y == model.classes_[1], 1, -1)
responses = np.sort(signs * model.decision_function(X) * model.margin_)
n = len(responses)

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True, layout="constrained")
for axis, nu in zip(axes, (0.0, 0.02, 0.1), strict=True):
    gamma = level(responses, n * nu)
    wet = responses <= gamma
    axis.fill_between(np.arange(n), responses.min() - 0.05, responses, color="#c9b79c", step="mid")
    axis.fill_between(np.arange(n)[wet], responses[wet], gamma, color="#3bc9db", step="mid")
    axis.axhline(gamma, color="#0b7285", linewidth=1)
    axis.set(title=f"ν = {nu}: level {gamma:.3f}, {wet.sum()} wet", xlabel="examples, in order of response")
axes[0].set_ylabel("response")
axes[0].set_ylim(responses.min() - 0.05, responses.max() + 0.05)
plt.show()

# %%
# With ν = 0 the level is the lowest response: the hard margin. The more water, the more examples are wet. The area of
# the water is nν exactly.

gamma = level(responses, n * 0.02)
print(f"water: {np.maximum(0, gamma - responses).sum():.6f}, n ν: {n * 0.02:.6f}")
