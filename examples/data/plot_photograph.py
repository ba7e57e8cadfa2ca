"""
A photograph cut into its parts, from a few strokes
===================================================

Twelve strokes of a pen say what is sky, lake, tower and trees in a photograph that comes with scikit-learn. The pixels
under the pen are the training set; a pixel is described by its colour and place, by the mean colour around it and by
how much that varies. All 273,280 pixels are then predicted: what a kernel method costs after training is the number
of its support vectors.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from scipy.ndimage import gaussian_filter
from sklearn.datasets import load_sample_image
from sklearn.preprocessing import StandardScaler

from slackwater import SVC

photo = load_sample_image("china.jpg") / 255
height, width, _ = photo.shape
mean = gaussian_filter(photo, (4, 4, 0))
variation = np.sqrt(np.maximum(gaussian_filter(photo**2, (4, 4, 0)) - mean**2, 0))
place = np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij"), axis=-1) / height
X = StandardScaler().fit_transform(np.dstack([photo, mean, variation, place]).reshape(-1, 11)).astype(np.float32)

# %%
# A stroke is a straight line from (row, column) to (row, column), nine pixels wide.

STROKES = {
    "sky": [(40, 20, 195, 75), (20, 320, 165, 560)],
    "lake": [(285, 20, 270, 62), (245, 370, 265, 520)],
    "tower": [(45, 205, 330, 215), (270, 85, 265, 330), (150, 115, 155, 300), (350, 245, 335, 350)],
    "trees": [(360, 20, 395, 220), (330, 380, 390, 620), (155, 590, 300, 600), (180, 10, 230, 40)],
}
COLOURS = ListedColormap(["#74c0fc", "#4263eb", "#e8590c", "#2f9e44"])
drawn = np.full((height, width), -1)
for number, strokes in enumerate(STROKES.values()):
    for top, left, bottom, right in strokes:
        for at in np.linspace(0, 1, 400):
            r, c = round(top + at * (bottom - top)), round(left + at * (right - left))
            drawn[r - 4 : r + 5, c - 4 : c + 5] = number
marked = np.flatnonzero(drawn >= 0)

model = SVC(C=10).fit(X[marked], drawn.ravel()[marked])
start = time.perf_counter()
parts = model.predict(X).reshape(height, width)
seconds = time.perf_counter() - start
print(f"{len(marked)} pixels to learn from, {len(model.support_)} support vectors")
print(f"{parts.size} pixels predicted in {seconds:.1f} s")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.4), layout="constrained")
left.imshow(photo)
left.imshow(np.ma.masked_less(drawn, 0), cmap=COLOURS, interpolation="nearest")
left.set_title("what was drawn")
right.imshow(photo.mean(axis=2), cmap="gray")
shown = right.imshow(parts, cmap=COLOURS, alpha=0.6, vmin=-0.5, vmax=3.5)
right.set_title("what was found")
for axis in (left, right):
    axis.set_axis_off()
figure.colorbar(shown, ax=right, ticks=range(4), shrink=0.6).ax.set_yticklabels(STROKES)
plt.show()
