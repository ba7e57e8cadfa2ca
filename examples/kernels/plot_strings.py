"""
Strings: is this line English or Python?
========================================

Lines of text from modules of Python's standard library: those of the docstrings, and those of the code. The spectrum
kernel compares two lines by the substrings of three characters that they share; no features are made, and kernel
values are computed for a few rows at a time.
"""

import ast
import inspect
import json
import random as random_module
import textwrap
from collections import Counter
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import KernelPCA
from sklearn.model_selection import train_test_split

from slackwater import SVC


def lines(module):
    """(English lines, code lines) of a module's source, without indentation."""
    source = inspect.getsource(module)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    texts = [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(source)) if isinstance(node, documented)]
    english = {line.strip() for text in texts for line in text.splitlines()}
    code = {line.strip() for line in source.splitlines()} - english
    return [
        {line for line in group if len(line) > 20 and '"""' not in line and line[0] not in "#\"'>"}
        for group in (english, code)
    ]


groups = [lines(module) for module in (json.decoder, random_module, textwrap, inspect)]
english = sorted(set().union(*[group[0] for group in groups]))
code = sorted(set().union(*[group[1] for group in groups]))[: 2 * len(english)]
texts, kinds = english + code, np.array(["English"] * len(english) + ["code"] * len(code))


# %%
@cache
def substrings(text):
    return Counter(text[i : i + 3] for i in range(len(text) - 2))


def spectrum(A, B):
    """Cosine of the counts of substrings."""

    def norm(text):
        return np.sqrt(sum(count**2 for count in substrings(text).values()))

    values = [[sum(n * substrings(b)[s] for s, n in substrings(a).items()) for b in B] for a in A]
    return np.array(values) / np.outer([norm(a) for a in A], [norm(b) for b in B])


spectrum.unit_diagonal = True
train, test, kind, kind_test = train_test_split(texts, kinds, test_size=0.4, stratify=kinds, random_state=0)
model = SVC(C=10, kernel=spectrum).fit(train, kind)
print(f"{len(train)} lines to learn from, {model.score(test, kind_test):.1%} of {len(test)} others right")

# %%
# The lines by two principal components of the kernel, and the lines that are most of their kind.

values = model.decision_function(test)
places = KernelPCA(2, kernel="precomputed").fit_transform(spectrum(test, test))
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", width_ratios=[1, 1.3])
for name, colour in (("English", "#0b7285"), ("code", "#e8590c")):
    chosen = kind_test == name
    left.scatter(*places[chosen].T, s=9, color=colour, label=name)
left.set(xticks=[], yticks=[], title="test lines, by two components of the kernel")
left.legend()
right.set_axis_off()
order = np.argsort(values)  # classes_ is (English, code): low values are English
for row, index in enumerate([*order[:6], *order[-6:]]):
    colour = "#0b7285" if row < 6 else "#e8590c"
    right.text(
        0, 0.95 - row / 12.5, f"{values[index]:+.1f}  {test[index][:58]}", family="monospace", fontsize=8, color=colour
    )
right.set_title("the most certain lines")
plt.show()
