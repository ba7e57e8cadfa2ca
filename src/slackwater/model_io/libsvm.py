"""LIBSVM's text format of models, both ways.

A model of k classes has k(k - 1)/2 decision values, d_ij = Σ coefficients · K - rho_ij for i < j. Class i has a vote
where d_ij > 0, else class j; the first of the classes with the most votes wins. A support vector of class i has k - 1
coefficients: for its pairs with all other classes, in their order.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from slackwater.errors import ModelFileError
from slackwater.model_io.model import Doubles, Form, KernelModel, StoredKernel

_NAMES = {"linear": "linear", "poly": "polynomial", "rbf": "rbf", "sigmoid": "sigmoid"}  # ours, LIBSVM's
_OURS = {theirs: ours for ours, theirs in _NAMES.items()}
_PARAMETERS: dict[str, tuple[str, ...]] = {
    "linear": (),
    "polynomial": ("degree", "gamma", "coef0"),
    "rbf": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
    "precomputed": (),
}
_IGNORED = ("probA", "probB")  # pairwise estimates of probabilities
_SINGLE = ("svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv")
_SEVERAL = ("rho", "label", "nr_sv", *_IGNORED)
_CLASSIFIERS = ("c_svc", "nu_svc")
_LARGEST_LABEL = 2**31 - 1  # labels are C's int
_LARGEST_INDEX = 2**31 - 1
_MAX_HEADER_LINES = 64
_DENSE_SHARE = 0.5  # of entries that are not zero, from which on support vectors are kept dense


# ---- writing


class _Blocks(NamedTuple):
    """A model in LIBSVM's layout: support vectors as positions in ours, class by class."""

    labels: NDArray[Any]
    counts: Sequence[int]
    places: NDArray[np.intp]
    coefficients: Doubles  # (support vectors, k - 1)
    rho: Doubles


def to_text(model: KernelModel) -> bytes:
    """The file; ValueError where the format has no place for the model."""
    kernel = "precomputed" if model.kernel is None else _libsvm_kernel(model.kernel)
    _require_whole_labels(model.classes)
    if model.break_ties:
        raise ValueError(
            "break_ties must be False for LIBSVM's text, got True: LIBSVM takes the first of the classes with as many "
            "votes. Use set_params(break_ties=False) to do so, too, or save or to_onnx."
        )
    blocks = _LAYOUTS[model.form](model)
    lines = ["svm_type c_svc", f"kernel_type {kernel}"]
    lines += [f"{name} {_number(model.kernel.parameters[name])}" for name in _PARAMETERS[kernel] if model.kernel]
    lines += [f"nr_class {model.n_classes}", f"total_sv {len(blocks.places)}"]
    lines.append("rho " + " ".join(map(_number, blocks.rho)))
    lines.append("label " + " ".join(str(int(label)) for label in blocks.labels))
    lines.append("nr_sv " + " ".join(map(str, blocks.counts)))
    rows = _rows(model, blocks.places)
    entries = (
        f"{' '.join(map(_number, own))} {row} " for own, row in zip(blocks.coefficients.tolist(), rows, strict=True)
    )
    return "\n".join([*lines, "SV", *entries, ""]).encode()


def _libsvm_kernel(kernel: StoredKernel) -> str:
    if kernel.name not in _NAMES:
        raise ValueError(
            f"kernel must be one of {', '.join(_NAMES)} or precomputed for LIBSVM's text, got {kernel.name!r}, which "
            "LIBSVM does not have. Use save or to_onnx."
        )
    return _NAMES[kernel.name]


def _require_whole_labels(classes: NDArray[Any]) -> None:
    values = classes.tolist()
    for label in values:
        whole = isinstance(label, int | float) and not isinstance(label, bool) and float(label).is_integer()
        if not whole or abs(label) > _LARGEST_LABEL:
            raise ValueError(
                f"labels must be whole numbers up to {_LARGEST_LABEL} for LIBSVM's text, got {label!r}. Train with "
                "numbers (sklearn.preprocessing.LabelEncoder), or use save or to_onnx."
            )


def _two_classes(model: KernelModel) -> _Blocks:
    """The second class first: a value of 0 is LIBSVM's vote for the second of a pair, and for us the first class."""
    places = np.arange(model.dual_coef.shape[1])
    return _Blocks(model.classes[::-1], model.n_support[::-1].tolist(), places, model.dual_coef.T, -model.intercept)


def _one_vs_one(model: KernelModel) -> _Blocks:
    places = np.arange(model.dual_coef.shape[1])
    return _Blocks(model.classes, model.n_support.tolist(), places, model.dual_coef.T, -model.intercept)


def _one_vs_rest(model: KernelModel) -> _Blocks:
    """Every d_ij = f_i - f_j: block i has the support vectors of f_i, with + against later classes, - against earlier.

    Classes in reverse order, for equal values as above.
    """
    k = model.n_classes
    functions, biases = model.dual_coef[::-1], model.intercept[::-1]
    blocks = [np.flatnonzero(function) for function in functions]
    signs = np.where(np.arange(k - 1) < np.arange(k)[:, None], -1.0, 1.0)  # of class i against the others
    coefficients = [functions[i, own][:, None] * signs[i] for i, own in enumerate(blocks)]
    first, second = np.triu_indices(k, 1)
    return _Blocks(
        model.classes[::-1],
        [len(own) for own in blocks],
        np.concatenate(blocks),
        np.concatenate(coefficients),
        biases[second] - biases[first],
    )


_LAYOUTS = {Form.TWO_CLASSES: _two_classes, Form.ONE_VS_ONE: _one_vs_one, Form.ONE_VS_REST: _one_vs_rest}


def _rows(model: KernelModel, places: NDArray[np.intp]) -> Iterator[str]:
    """Entries that are not zero, from index 1 on; of a precomputed kernel the number of the training row."""
    if model.kernel is None:
        yield from (f"0:{int(number) + 1}" for number in model.support[places])
        return
    matrix = scipy.sparse.csr_matrix(model.support_vectors)[places]
    matrix.sum_duplicates()
    for start, stop in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        indices, values = matrix.indices[start:stop].tolist(), matrix.data[start:stop].tolist()
        yield " ".join(f"{i + 1}:{_number(v)}" for i, v in zip(indices, values, strict=True) if v)


def _number(value: Any) -> str:
    return f"{value:.17g}" if isinstance(value, float) else str(value)


# ---- reading


class _Header(NamedTuple):
    kernel: str  # LIBSVM's name
    parameters: dict[str, Any]
    labels: NDArray[np.int64]
    counts: NDArray[np.intp]
    total: int
    rho: Doubles


def is_model(content: bytes) -> bool:
    """Whether the first line is one of LIBSVM's headers."""
    return content[:200].split(b"\n", 1)[0].split()[:1] == [b"svm_type"]


def from_text(content: bytes, n_features: int | None = None) -> KernelModel:
    """The model; ModelFileError with the line where the text is not one of a classifier."""
    if not content.endswith(b"\n"):
        raise ModelFileError("its last line must end with a line feed, and does not: it is cut off. Copy it again")
    lines = content.split(b"\n")
    start, fields = _header_lines(lines)
    header = _header(fields)
    body = lines[start:-1] if lines[-1].strip() == b"" else lines[start:]
    if len(body) != header.total:
        raise ModelFileError(f"it must have total_sv {header.total} support vectors, got {len(body)} lines after SV")
    entries = [_entry(line, start + 1 + n, len(header.labels) - 1) for n, line in enumerate(body)]
    return _model(header, entries, n_features)


def _header_lines(lines: list[bytes]) -> tuple[int, dict[str, list[str]]]:
    """Where the support vectors begin, and the words of each line before."""
    fields: dict[str, list[str]] = {}
    for number, line in enumerate(lines[:_MAX_HEADER_LINES], start=1):
        words = line.decode("latin1").split()
        if words == ["SV"]:
            return number, fields
        if not words or words[0] not in (*_SINGLE, *_SEVERAL):
            shown = " ".join(words)[:40]
            raise ModelFileError(
                f"line {number} must begin with one of {', '.join((*_SINGLE, *_SEVERAL))}, got {shown!r}"
            )
        if words[0] in fields or (words[0] in _SINGLE and len(words) != 2):
            raise ModelFileError(f"line {number} must be the only one of {words[0]}, with one value")
        fields[words[0]] = words[1:]
    raise ModelFileError(f"it must have a line SV among the first {_MAX_HEADER_LINES}, and has none: is it cut off?")


def _header(fields: dict[str, list[str]]) -> _Header:
    for name in ("svm_type", "kernel_type", "nr_class", "total_sv", "rho", "label", "nr_sv"):
        if name not in fields:
            raise ModelFileError(f"it must have a line {name} before SV")
    if fields["svm_type"][0] not in _CLASSIFIERS:
        raise ModelFileError(f"svm_type must be one of {', '.join(_CLASSIFIERS)}, got {fields['svm_type'][0][:40]!r}")
    kernel = fields["kernel_type"][0]
    if kernel not in _PARAMETERS:
        raise ModelFileError(f"kernel_type must be one of {', '.join(_PARAMETERS)}, got {kernel[:40]!r}")
    k = _whole(fields["nr_class"][0], "nr_class")
    if k < 2:
        raise ModelFileError(f"nr_class must be at least 2, got {k}")
    rho = np.array([_real(word, "rho") for word in _several(fields, "rho", k * (k - 1) // 2)])
    labels = [_whole(word, "label") for word in _several(fields, "label", k)]
    if len(set(labels)) != k or max(map(abs, labels)) > _LARGEST_LABEL:
        raise ModelFileError(f"label must be {k} different whole numbers of 32 bits, got {str(labels)[:60]}")
    counts = [_whole(word, "nr_sv") for word in _several(fields, "nr_sv", k)]
    total = _whole(fields["total_sv"][0], "total_sv")
    if min(counts) < 0 or sum(counts) != total:
        raise ModelFileError(f"nr_sv must add up to total_sv {total}, got {str(counts)[:60]}")
    if any(name in fields for name in _IGNORED):
        warnings.warn(
            "probA and probB of the LIBSVM model are ignored: predict does not use them. For probabilities use "
            "sklearn.calibration.CalibratedClassifierCV.",
            UserWarning,
            stacklevel=7,
        )
    return _Header(kernel, _kernel_parameters(kernel, fields), np.array(labels), np.array(counts), total, rho)


def _kernel_parameters(kernel: str, fields: dict[str, list[str]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in _PARAMETERS[kernel]:
        if name not in fields:
            raise ModelFileError(f"it must have a line {name} with kernel_type {kernel}")
        found[name] = _whole(fields[name][0], name) if name == "degree" else _real(fields[name][0], name)
    return found


def _several(fields: dict[str, list[str]], name: str, count: int) -> list[str]:
    if len(fields[name]) != count:
        raise ModelFileError(f"{name} must have {count} values, got {len(fields[name])}")
    return fields[name]


def _whole(word: str, name: str) -> int:
    digits = word.removeprefix("-").removeprefix("+")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
        raise ModelFileError(f"{name} must be a whole number, got {word[:40]!r}")
    return int(word)


def _real(word: str, name: str) -> float:
    try:
        value = float(word.replace("_", "?"))  # Python would take 1_0 for 10
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ModelFileError(f"{name} must be a finite number, got {word[:40]!r}")
    return value


class _Entry(NamedTuple):
    coefficients: list[float]
    indices: list[int]
    values: list[float]


def _entry(line: bytes, number: int, n_coefficients: int) -> _Entry:
    """A support vector's line: its coefficients, then index:value in rising order."""
    words = line.decode("latin1").split()
    name = f"line {number}"
    if len(words) < n_coefficients:
        raise ModelFileError(f"{name} must begin with {n_coefficients} coefficients, got {len(words)}")
    coefficients = [_real(word, name) for word in words[:n_coefficients]]
    indices, values = [], []
    for word in words[n_coefficients:]:
        index, colon, value = word.partition(":")
        if not colon:
            raise ModelFileError(f"{name} must have index:value after its coefficients, got {word[:40]!r}")
        indices.append(_whole(index, f"{name}: an index"))
        values.append(_real(value, f"{name}: a value"))
    rising = all(one < next_one for one, next_one in itertools.pairwise(indices))
    if indices and (not rising or indices[0] < 0 or indices[-1] > _LARGEST_INDEX):
        raise ModelFileError(f"{name} must have indices from 0 to {_LARGEST_INDEX} in rising order")
    return _Entry(coefficients, indices, values)


def _model(header: _Header, entries: list[_Entry], n_features: int | None) -> KernelModel:
    k = len(header.labels)
    two = k == 2
    coefficients = np.array([entry.coefficients for entry in entries], dtype=np.float64).reshape(-1, k - 1).T
    if header.kernel == "precomputed":
        support, vectors, columns = _training_rows(entries), None, 0
        columns = int(support.max(initial=-1)) + 1
    else:
        vectors = _support_vectors(entries)
        support, columns = np.arange(len(entries)), vectors.shape[1]
    width = columns if n_features is None else n_features
    if width < columns:
        raise ModelFileError(f"n_features must be at least {columns}, its largest index, got {n_features}")
    return KernelModel(
        kernel=None if vectors is None else StoredKernel(_OURS[header.kernel], header.parameters),
        form=Form.TWO_CLASSES if two else Form.ONE_VS_ONE,
        classes=header.labels[::-1].copy() if two else header.labels,
        n_features=width,
        support=support.astype(np.intp),
        support_vectors=None if vectors is None else _compact(vectors, width),
        n_support=header.counts[::-1].copy() if two else header.counts,
        dual_coef=np.ascontiguousarray(coefficients),
        intercept=-header.rho,
    )


def _training_rows(entries: list[_Entry]) -> NDArray[np.intp]:
    """Of a precomputed kernel: entry 0 is the number of the training row, counted from 1."""
    rows = []
    for entry in entries:
        number = entry.values[0] if entry.indices[:1] == [0] else math.nan
        if not (number.is_integer() and 1 <= number <= _LARGEST_INDEX):
            raise ModelFileError(
                "support vectors of a precomputed kernel must be 0:number of a training row, from 1 on"
            )
        rows.append(int(number) - 1)
    return np.array(rows, dtype=np.intp)


def _support_vectors(entries: list[_Entry]) -> Any:
    """As a CSR matrix; where some index is 0, that is the first column."""
    indices = np.array([index for entry in entries for index in entry.indices], dtype=np.int64)
    values = np.array([value for entry in entries for value in entry.values], dtype=np.float64)
    indptr = np.concatenate(([0], np.cumsum([len(entry.indices) for entry in entries], dtype=np.int64)))
    columns = indices if (indices == 0).any() else indices - 1
    return scipy.sparse.csr_matrix((values, columns, indptr), shape=(len(entries), int(columns.max(initial=-1)) + 1))


def _compact(vectors: Any, width: int) -> Any:
    """Dense where most entries are not zero, so that memory is never much larger than the text."""
    matrix = scipy.sparse.csr_matrix((vectors.data, vectors.indices, vectors.indptr), shape=(vectors.shape[0], width))
    return matrix.toarray() if matrix.nnz >= _DENSE_SHARE * matrix.shape[0] * width else matrix
