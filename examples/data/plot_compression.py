"""
Fewer support vectors, quicker predictions
==========================================

``compress`` replaces a fitted model by one with fewer support vectors. The curve shows how few are enough for
scikit-learn's handwritten digits, odd against even.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from slackwater import SVC

images, digit = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(images / 16, digit % 2, test_size=0.4, random_state=0)
model = SVC(C=10, gamma=0.1).fit(X_train, y_train)

# %%
# With the training rows at hand the coefficients are trained anew; without them the function is projected.

sizes = np.unique(np.geomspace(10, len(model.support_), 9).astype(int))
retrained = [model.compress(max_support=int(m), X=X_train, y=y_train) for m in sizes]
projected = [model.compress(max_support=int(m)) for m in sizes]

figure, axis = plt.subplots(figsize=(8, 4.4), layout="constrained")
for models, name, colour in ((projected, "projected", "#e8590c"), (retrained, "trained anew", "#0b7285")):
    errors = [100 * (each.predict(X_test) != y_test).mean() for each in models]
    axis.plot([len(each.support_) for each in models], errors, "o-", color=colour, label=name)
whole = 100 * (model.predict(X_test) != y_test).mean()
label = f"all {len(model.support_)} support vectors"
axis.axhline(whole, color="black", linestyle="--", linewidth=1, label=label)
axis.set(xscale="log", xlabel="support vectors kept", ylabel="test error [%]", ylim=(0, None))
axis.legend()
plt.show()
