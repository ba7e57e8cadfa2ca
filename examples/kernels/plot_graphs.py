"""
Graphs: shapes of digits, wherever they are
===========================================

A handwritten digit as a graph: dark pixels are nodes, neighbours are joined. The Weisfeiler–Lehman kernel relabels each
node by its own and its neighbours' labels, a few times, and counts the labels that two graphs share. It sees shape,
not place: a moved digit is the same graph.
"""

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from slackwater import SVC

images, digit = load_digits(return_X_y=True)
kept = np.flatnonzero(np.isin(digit, (0, 1, 7)))[:360]
AROUND = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]


def graph_of(image):
    dark = set(zip(*(axis.tolist() for axis in np.nonzero(image.reshape(8, 8) > 6)), strict=True))
    return {(r, c): [(r + i, c + j) for i, j in AROUND if (r + i, c + j) in dark] for r, c in sorted(dark)}


def labels(graph, rounds=2):
    now = {node: str(len(neighbours)) for node, neighbours in graph.items()}
    found = Counter(now.values())
    for _ in range(rounds):
        now = {node: f"{now[node]}({','.join(sorted(now[n] for n in graph[node]))})" for node in graph}
        found.update(now.values())
    return found


def weisfeiler_lehman(A, B):
    left, right = [labels(graph) for graph in A], [labels(graph) for graph in B]

    def products(P, Q):
        return np.array([[sum(n * q[label] for label, n in p.items()) for q in Q] for p in P], dtype=float)

    norms = [np.sqrt([sum(n * n for n in p.values()) for p in group]) for group in (left, right)]
    return products(left, right) / np.outer(*norms)


# %%
graphs = [graph_of(image) for image in images[kept]]
train, test, y_train, y_test = train_test_split(graphs, digit[kept], stratify=digit[kept], random_state=0)
model = SVC(C=10, kernel=weisfeiler_lehman).fit(train, y_train)
print(f"0, 1 and 7 as graphs: {model.score(test, y_test):.1%} right")
moved = [{(r + 3, c + 5): [(a + 3, b + 5) for a, b in near] for (r, c), near in graph.items()} for graph in test]
assert (model.predict(moved) == model.predict(test)).all()

# %%
figure, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
for axis, wanted in zip(axes[:3], (0, 1, 7), strict=True):
    graph = graphs[int(np.flatnonzero(digit[kept] == wanted)[0])]
    for (r, c), near in graph.items():
        for a, b in near:
            axis.plot([c, b], [-r, -a], color="#adb5bd", linewidth=1)
    nodes = np.array([(c, -r, len(near)) for (r, c), near in graph.items()])
    axis.scatter(nodes[:, 0], nodes[:, 1], c=nodes[:, 2], cmap="cool", s=60, zorder=2)
    axis.set(title=f"a {wanted}", aspect="equal", xticks=[], yticks=[])
order = np.argsort(y_test, kind="stable")
ordered = [test[i] for i in order]
axes[3].imshow(weisfeiler_lehman(ordered, ordered), cmap="GnBu")
axes[3].set(title="kernel values, ordered by digit", xticks=[], yticks=[])
plt.show()
