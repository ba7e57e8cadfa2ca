"""
Few examples of one class
=========================

An 8 among other digits, with 15 eights to learn from. ``class_weight="balanced"`` makes their losses as dear as those
of all others together. Precision-recall curves tell what that changes: mostly the threshold, little the order.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import precision_recall_curve, precision_score, recall_score
from sklearn.model_selection import train_test_split

from slackwater import SVC

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y == 8, test_size=0.5, stratify=y, random_state=0)
few = np.flatnonzero(~y_train | (np.cumsum(y_train) <= 15))
X_train, y_train = X_train[few], y_train[few]

# %%
figure, axis = plt.subplots(figsize=(7, 5), layout="constrained")
for weight, colour in ((None, "#e8590c"), ("balanced", "#0b7285")):
    model = SVC(C=0.3, class_weight=weight).fit(X_train, y_train)
    name = f"class_weight={weight!r}"
    precision, recall, _ = precision_recall_curve(y_test, model.decision_function(X_test))
    axis.step(recall, precision, color=colour, where="post", label=name)
    predicted = model.predict(X_test)
    place = recall_score(y_test, predicted), precision_score(y_test, predicted, zero_division=1.0)
    axis.plot(*place, "o", color=colour, markersize=10)
    print(f"{name}: recall {place[0]:.2f}, precision {place[1]:.2f}")
axis.set(xlabel="recall", ylabel="precision", title="Dots: where predict() cuts", ylim=(0, 1.05), xlim=(-0.02, 1.02))
axis.legend()
plt.show()
