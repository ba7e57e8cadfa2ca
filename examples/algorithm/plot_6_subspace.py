"""
Subspaces: when there would be too many support vectors
=======================================================

Every example with a wrong label is a support vector, so that with noisy labels their number grows with the data. But
the function itself is simple: it lies nearly in the span of some hundred *landmarks*. The subspace strategy finds the
best function in that span, with the losses of all examples.

The data are scikit-learn's handwritten digits; 15 % of the labels are turned around.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import train_test_split

from slackwater import SVC

images, digit = load_digits(return_X_y=True)
X_train, X_test, odd, odd_test = train_test_split(images / 16, digit % 2, test_size=0.3, random_state=0)
rng = np.random.default_rng(0)
noisy = odd ^ (rng.random(len(odd)) < 0.15)

# %%
# The exact solution, and the best functions in the span of ever more landmarks (``compress`` chooses them).

exact = SVC(C=1, gamma=0.1).fit(X_train, noisy)
landmarks = np.array([8, 16, 32, 64, 128, 256])
small = [exact.compress(max_support=int(m), X=X_train, y=noisy) for m in landmarks]
errors = [100 * (model.predict(X_test) != odd_test).mean() for model in small]

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
left.plot(landmarks, errors, marker="o", color="#0b7285", label="subspace")
exact_error = 100 * (exact.predict(X_test) != odd_test).mean()
label = f"exact: {len(exact.support_)} support vectors"
left.axhline(exact_error, color="#e8590c", linestyle="--", label=label)
left.set(xscale="log", xlabel="landmarks", ylabel="test error [%]", ylim=(0, None), title="The same answer, sooner")
left.set_xticks(landmarks, landmarks)
left.legend()

spectrum = np.linalg.eigvalsh(rbf_kernel(X_train, gamma=0.1))[::-1]
right.semilogy(np.arange(1, 513), spectrum[:512] / spectrum[0], color="#862e9c")
right.set(xlabel="direction", ylabel="eigenvalue / largest", title="Why: the spectrum of the kernel matrix decays")
plt.show()
