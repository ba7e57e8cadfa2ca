"""Fuzz the model loaders: whatever the bytes, a model or a one-line ModelFileError.

    python tests/fuzz/fuzz_models.py --count 100000 --seed 0

Inputs are model files with damage: bits flipped, parts cut out, doubled or exchanged; archives whose header or arrays
were changed and which were signed again, so that the digest does not protect what is behind it; LIBSVM's text with
words exchanged; noise. A model that loads all the same has to predict, or to say why not by a ValueError.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import resource
import time
import warnings
from collections import Counter
from typing import Any

import numpy as np
from scipy import sparse

from slackwater import SVC, SBPClassifier
from slackwater.baselines import FourierSVC
from slackwater.errors import ModelFileError
from slackwater.estimators.loading import load_bytes
from slackwater.model_io.archive import packed, unpacked
from slackwater.model_io.libsvm import to_text
from slackwater.model_io.stored import to_bytes

MAX_GROWTH = 100 * 2**20  # bytes by which the process may grow, with inputs of some kB

ODD_VALUES: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        2,
        10**6,
        10**18,
        -(10**18),
        2**63,
        10**30,
        0.5,
        1e308,
        -1e308,
        "",
        "nan",
        "a" * 300,
    ),
    *([], {}, [[]], {"float": "nan"}, {"float": "inf"}, {"array": "support_vectors_"}, {"array": "header"}),
    *({"short": [1, 2, 3], "dtype": "<f8"}, {"short": [], "dtype": "<i8"}, {"short": ["x"], "dtype": "<U1"}),
    *({"short": [1], "dtype": "O"}, {"objects": ["a", "b"], "shape": [2]}, {"list": [1, "a"]}, {"mapping": [[1, 2]]}),
    {"csr": {"data": {"short": [], "dtype": "<f8"}, "indices": None, "indptr": None, "shape": [10**12, 10**12]}},
]
ODD_WORDS = [
    *("", "nan", "inf", "-1", "0", "1e999", "99999999999999999999", "2147483648", "1:1", "0:1", "-5:2", "1:nan", "a:b"),
    *("SV", "rho", "label", "nr_sv", "\x00", "1_0", "0x10", "::", "1:", "precomputed", "rbf", "nr_class", "1000000000"),
]


def seeds() -> tuple[list[bytes], list[bytes]]:
    """Small models of every kind, as archives and as text."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((24, 3))
    y = np.arange(24) % 3
    rows = sparse.csr_matrix(np.where(np.abs(X) > 0.5, X, 0.0))
    models = [
        SVC(gamma=0.5).fit(X, y),
        SVC(gamma=0.5, multi_class="ovr").fit(rows, y),
        SVC(kernel="poly", gamma=0.5, coef0=1.0).fit(X, y > 0),
        SVC(kernel="precomputed").fit(X @ X.T, y),
        SBPClassifier(gamma=0.5, nu=0.1, tol=0.9).fit(X, y > 0),
    ]
    archives = [to_bytes(model._stored()) for model in [*models, FourierSVC(gamma=0.5, n_pairs=3).fit(X, y)]]
    return archives, [to_text(model._kernel_model("fuzz")) for model in models if model.classes_.dtype != bool]


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Some bytes changed, cut out, doubled, or moved."""
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 8))):
        if not data:
            break
        start = chance.randrange(len(data))
        stop = min(len(data), start + chance.choice((1, 2, 4, 30, 300)))
        match chance.randrange(6):
            case 0:
                data[start] ^= 1 << chance.randrange(8)
            case 1:
                data[start:stop] = chance.randbytes(stop - start)
            case 2:
                del data[start:stop]
            case 3:
                data[start:start] = data[start:stop]
            case 4:
                del data[start:]
            case _:
                data[start:stop] = (0xFF if chance.random() < 0.5 else 0).to_bytes(1, "little") * (stop - start)
    return bytes(data)


def changed_json(value: Any, chance: random.Random) -> Any:
    """One leaf or branch of a tree exchanged for something odd, removed, or added."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        key = chance.choice(list(value))
        if chance.random() < 0.1:
            del value[key]
        elif chance.random() < 0.05:
            value[chance.choice(("x_", "__class__", "predict", "fit_", "coef_", "kernel"))] = value[key]
        else:
            value[key] = changed_json(value[key], chance)
        return value
    if isinstance(value, list) and value and chance.random() < 0.7:
        place = chance.randrange(len(value))
        value[place] = changed_json(value[place], chance)
        return value
    return copy.deepcopy(chance.choice(ODD_VALUES))


def changed_array(array: np.ndarray, chance: random.Random) -> np.ndarray:
    """Another type, another shape, other values."""
    kinds = (np.float32, np.float64, np.int64, np.int32, np.uint8, np.bool_, "U3")
    match chance.randrange(5):
        case 0 if array.dtype.names is None:
            return np.zeros(array.shape, dtype=chance.choice(kinds))
        case 1:
            return array[: chance.randrange(len(array) + 1)] if array.ndim else array
        case 2 if array.ndim == 2:
            return np.ascontiguousarray(array.T)
        case 3:
            return np.concatenate([array, array]) if array.ndim else array
        case _:
            array = array.copy()
            if array.size and array.dtype.kind in "fi":
                odd = (np.nan, np.inf, 1e300, -1.0, 0.0) if array.dtype.kind == "f" else (-1, 0, 2**31 - 1, -(2**31))
                array.flat[chance.randrange(array.size)] = chance.choice(odd)
            return array


def resigned(content: bytes, chance: random.Random) -> bytes:
    """An archive with another header or other arrays, and the digest that belongs to it."""
    header, arrays = unpacked(content)
    for _ in range(chance.choice((1, 1, 2, 3))):
        if arrays and chance.random() < 0.4:
            name = chance.choice(list(arrays))
            arrays[name] = changed_array(arrays[name], chance)
        else:
            header = changed_json(header, chance)
    try:
        return packed(header, arrays)
    except (ValueError, UnicodeEncodeError):  # JSON has no place for it
        return json.dumps(str(header)).encode()


def reworded(content: bytes, chance: random.Random) -> bytes:
    """Text with words, lines or numbers exchanged."""
    lines = content.decode("latin1").split("\n")
    for _ in range(chance.choice((1, 1, 2, 5))):
        place = chance.randrange(len(lines))
        words = lines[place].split(" ")
        words[chance.randrange(len(words))] = chance.choice(ODD_WORDS)
        match chance.randrange(6):
            case 0:
                del lines[place]
            case 1:
                lines.insert(place, chance.choice(lines))
            case _:
                lines[place] = " ".join(words)
        lines = lines or [""]
    return "\n".join(lines).encode("latin1", "replace")


def hostile(archives: list[bytes], texts: list[bytes], chance: random.Random) -> bytes:
    """One input."""
    draw = chance.random()
    if draw < 0.2:
        return damaged(chance.choice(archives), chance)
    if draw < 0.65:
        return resigned(chance.choice(archives), chance)
    if draw < 0.9:
        return reworded(chance.choice(texts), chance)
    if draw < 0.95:
        return damaged(chance.choice(texts), chance)
    return chance.choice((b"", b"PK\x03\x04", b"svm_type c_svc\n")) + chance.randbytes(chance.randrange(200))


def outcome(content: bytes) -> str:
    """Load and predict: "model", or "refused"; any other exception is a finding."""
    try:
        model = load_bytes(content, "fuzzed")
    except ModelFileError as error:
        if "\n" in str(error):
            raise AssertionError(f"more than one line: {error}") from error
        return "refused"
    if model.n_features_in_ > 10_000:  # nobody has such rows at hand
        return "model"
    try:
        model.predict(np.zeros((2, model.n_features_in_)))
    except ValueError:
        return "no prediction"
    return "model"


def run(count: int, seed: int) -> Counter[str]:
    """So many inputs; how many had which outcome. Raises AssertionError with the input at the first finding."""
    archives, texts = seeds()
    chance = random.Random(seed)
    outcomes: Counter[str] = Counter()
    for content in (*archives, *texts):
        outcome(content)  # compiles what predictions need, before memory is measured
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd numbers, on the way to refusing them
        for number in range(count):
            content = hostile(archives, texts, chance)
            try:
                outcomes[outcome(content)] += 1
            except Exception as error:
                raise AssertionError(f"input {number} of seed {seed}: {type(error).__name__}: {error}") from error
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    if grown > MAX_GROWTH:
        raise AssertionError(f"the process has grown by {grown / 2**20:.0f} MB")
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    start = time.perf_counter()
    outcomes = run(given.count, given.seed)
    seconds = time.perf_counter() - start
    print(f"model files: {given.count} inputs, {dict(outcomes)}, {given.count / seconds:.0f} a second, no finding")


if __name__ == "__main__":
    main()
