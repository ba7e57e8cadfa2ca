"""Files that want to do harm: refused in one line, in little memory, without executing anything."""

from __future__ import annotations

import io
import os
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.fuzz_models import hostile, outcome, run, seeds
from model_io.models import four_classes
from slackwater import SVC, load
from slackwater.errors import ModelFileError
from slackwater.estimators.loading import load_bytes
from slackwater.model_io.archive import _digest, packed, unpacked
from slackwater.model_io.npy import to_npy
from slackwater.model_io.stored import to_bytes

MEGABYTE = 2**20


@pytest.fixture(scope="module")
def content():
    X, y = four_classes(40)
    return to_bytes(SVC().fit(X, y)._stored())


def refused(content: bytes, match: str | None = None) -> str:
    """The message of the refusal, for which little memory was needed."""
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=match) as caught:
            load_bytes(content, "m.npz")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10 * MEGABYTE + 20 * len(content)
    message = str(caught.value)
    assert message.startswith("model file 'm.npz' cannot be loaded: ")
    assert "\n" not in message
    return message


def changed(content, change):
    """An archive whose header and arrays were changed, signed again."""
    header, arrays = unpacked(content)
    change(header, arrays)
    return packed(header, arrays)


# ---- damage


def test_every_truncation_is_refused(content):
    for stop in (*range(0, 100, 7), *range(100, len(content), 211), len(content) - 1):
        refused(content[:stop])


@settings(max_examples=300)
@given(data=st.data())
def test_every_flipped_bit_is_refused_or_harmless(data):
    """What the digest does not cover (dates, attributes of members) may change; then the model is the same."""
    archives, _ = seeds_once()
    whole = archives[0]
    place, bit = data.draw(st.integers(0, len(whole) - 1)), data.draw(st.integers(0, 7))
    flipped = bytearray(whole)
    flipped[place] ^= 1 << bit
    try:
        loaded = load_bytes(bytes(flipped), "m.npz")
    except ModelFileError:
        return
    np.testing.assert_array_equal(loaded.dual_coef_, load_bytes(whole, "m.npz").dual_coef_)


def seeds_once(found=[]):  # noqa: B006 - kept on purpose
    if not found:
        found.append(seeds())
    return found[0]


@settings(max_examples=300)
@given(st.randoms(use_true_random=False))
def test_whatever_the_bytes_a_model_or_one_line(chance):
    assert outcome(hostile(*seeds_once(), chance)) in ("model", "refused", "no prediction")


@settings(max_examples=200)
@given(st.binary(max_size=400))
def test_noise_is_refused(noise):
    with pytest.raises(ModelFileError):
        load_bytes(noise, "noise")


def test_some_thousand_inputs_of_the_fuzzer():
    outcomes = run(1500, seed=1)
    assert sum(outcomes.values()) == 1500
    assert outcomes["refused"] > 1000
    assert outcomes["model"] > 50


# ---- sizes


def npy_claiming(shape: str, descr: str = "'<f8'", payload: bytes = b"") -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + payload


def archive_of(content: bytes, **members: bytes) -> bytes:
    """An archive with raw members in place of some arrays, signed as if all were well."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        raw = {info.filename[:-4]: archive.read(info) for info in archive.infolist()}
    raw |= {name.replace("__", "."): value for name, value in members.items()}
    text = np.load(io.BytesIO(raw.pop("header"))).tobytes().split(b"\n", 1)[1]
    header = to_npy(np.frombuffer(_digest(text, raw).encode() + b"\n" + text, np.uint8))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, value in {"header": header, **raw}.items():
            archive.writestr(f"{name}.npy", value)
    return stream.getvalue()


@pytest.mark.parametrize(
    "shape",
    ["(1000000000, 6)", "(1000000000000, 1000000000000)", "(-1, 6)", "(10**9,)", "(1, 1, 1)", "(1.5, 2)", "'x'"],
)
def test_an_array_that_claims_to_be_huge_allocates_nothing(content, shape):
    refused(archive_of(content, support_vectors_=npy_claiming(shape)), "support_vectors_")


@pytest.mark.parametrize(
    "descr",
    ["'|O'", "'<c16'", "'<M8[ns]'", "'<U999999999'", "[('a', '|O')]", "'<f8,<f8'", "__import__('os')", "'<f2'", "None"],
)
def test_types_beside_numbers_and_text_are_refused(content, descr):
    refused(archive_of(content, support_vectors_=npy_claiming("(0, 6)", descr)), "support_vectors_")


def test_a_header_of_an_array_nested_without_end(content):
    refused(archive_of(content, support_vectors_=npy_claiming("(" * 3000)), "literal")


def test_a_compressed_member_is_refused_before_it_unfolds():
    """A zip bomb: 1 GB of zeros in 1 MB."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.npy", to_npy(np.zeros(200 * MEGABYTE, np.uint8)))
    assert len(stream.getvalue()) < MEGABYTE
    refused(stream.getvalue(), "neither compressed nor encrypted")


def test_members_that_overlap_are_refused(content):
    """Every entry of the directory points to the largest member: together they would be many times the file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        largest = max(archive.infolist(), key=lambda info: info.file_size)
        raw = archive.read(largest)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a0.npy", raw)
        (first,) = archive.infolist()
        for number in range(1, 50):
            other = zipfile.ZipInfo(f"a{number}.npy")
            other.header_offset, other.CRC = first.header_offset, first.CRC
            other.file_size = other.compress_size = first.file_size
            archive.filelist.append(other)
            archive.NameToInfo[other.filename] = other
    refused(stream.getvalue(), "smaller together than the file")


def test_too_many_members_are_refused():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for number in range(1000):
            archive.writestr(f"{number}.npy", b"")
    refused(stream.getvalue(), "at most 256 arrays, got 1000")


def test_a_header_nested_without_end_is_refused(content):
    def nest(header, arrays):
        value = 0
        for _ in range(400):
            value = {"list": [value]}
        header["attributes"]["deep_"] = value

    refused(changed(content, nest), "nested so deeply")

    _, arrays = unpacked(content)
    text = b'{"format":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    members = {name: to_npy(array) for name, array in arrays.items()}
    signed = to_npy(np.frombuffer(_digest(text, members).encode() + b"\n" + text, np.uint8))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, value in {"header": signed, **members}.items():
            archive.writestr(f"{name}.npy", value)
    refused(stream.getvalue(), "header must be JSON")


# ---- content that does not fit, well signed


def put(*path):
    *keys, value = path

    def change(header, arrays):
        place = header
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return change


def array(name, edit):
    def change(header, arrays):
        arrays[name] = edit(arrays[name])

    return change


def with_value(place, value):
    def edit(found):
        found = found.copy()
        found[place] = value
        return found

    return edit


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("format", "other"), "format must be 'slackwater model', got 'other'"),
        (put("version", 2), "version must be at most 1, got 2: it was written by slackwater .* Install"),
        (put("version", -1), "version must be a whole number"),
        (put("estimator", "os.system"), "estimator must be one of SVC, .* got 'os.system'"),
        (put("parameters", "C", -1), "C must be a number > 0, got -1"),
        (put("parameters", "C", {"float": "nan"}), "C must be a number > 0, got nan"),
        (put("parameters", "magic", 1), "parameters must be those of SVC, got 'magic'"),
        (put("parameters", "kernel", None), "kernel must be a name or a callable"),
        (put("kernel", "name", "evil"), "kernel must be one of .*got 'evil'"),
        (put("kernel", "parameters", "gamma", -2.0), "gamma must be a finite number > 0, got -2"),
        (put("kernel", "parameters", "gamma", "scale"), "parameters of a kernel must be numbers"),
        (put("kernel", "parameters", {}), "gamma='scale' is derived from the training points"),
        (put("kernel", "custom", True), "kernel must be passed"),
        (put("kernel", None), "must name its kernel"),
        (put("attributes", "predict", 1), "names of attributes, got 'predict'"),
        (put("attributes", "__class__", 1), "names of attributes, got '__class__'"),
        (put("attributes", "coef_", 1), "must not replace what SVC has: coef_"),
        (put("attributes", "classes_", {"short": [1, 1, 2, 3], "dtype": "<i8"}), "two or more different labels"),
        (put("attributes", "classes_", 5), "classes_ must be an array"),
        (put("attributes", "n_support_", {"short": [1, 1, 1, 1], "dtype": "<i8"}), "n_support_ must add up"),
        (put("attributes", "n_features_in_", 5), r"support_vectors_ must have the shape \(\d+, 5\)"),
        (put("attributes", "n_features_in_", 10**30), "support_vectors_ must have the shape"),
        (put("attributes", "intercept_", {"short": [1.0], "dtype": "<f8"}), r"intercept_ must have the shape \(6,\)"),
        (put("attributes", "dual_coef_", {"array": "support_"}), "dual_coef_ must be an array of type 'f'"),
        (put("attributes", "dual_coef_", {"array": "nothing"}), "members of the archive, got the name 'nothing'"),
        (put("attributes", "x_", {"exec": "1"}), "a stored value must be one of"),
        (put("attributes", "x_", {"objects": [{"list": []}], "shape": [1]}), "must hold text, numbers and None"),
        (put("attributes", "x_", {"short": [[1], [2]], "dtype": "<i8"}), "a stored value must be one of"),
        (put("attributes", "feature_names_in_", {"short": ["a"], "dtype": "<U1"}), "a name for each feature"),
        (put("internals", "in_pairs", "yes"), "in_pairs must be true or false"),
        (put("internals", "in_pairs", False), "dual_coef_ must have the shape|intercept_ must have the shape"),
        (put("internals", {}), "internals must be those of SVC"),
        (array("dual_coef_", with_value((0, 0), np.nan)), "dual_coef_ must be finite"),
        (array("support_vectors_", with_value((0, 0), np.inf)), "support_vectors_ must be finite"),
        (array("support_", with_value(0, -1)), "support_ must be row numbers >= 0"),
        (array("support_vectors_", lambda found: found[:-1]), "support_vectors_ must have the shape"),
        (
            array("support_vectors_", lambda found: found.astype(np.int64)),
            "support_vectors_ must be an array of type 'f'",
        ),
        (array("dual_coef_", np.transpose), "dual_coef_ must have the shape"),
    ],
)
def test_content_that_does_not_fit_is_refused_with_the_reason(content, change, message):
    refused(changed(content, change), message)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("indptr", [0, 10**6]),
        ("indptr", [5, 0]),
        ("indices", [10**6, 0]),
        ("indices", [-1, 0]),
        ("data", []),
        ("shape", [10**15, 10**15]),
    ],
)
def test_sparse_support_vectors_that_point_outside_are_refused(part, value):
    """Compiled code would read other memory."""
    archives, _ = seeds_once()

    def change(header, arrays):
        csr = header["attributes"]["support_vectors_"]["csr"]
        csr[part] = value if part == "shape" else {"short": value, "dtype": "<f8" if part == "data" else "<i8"}

    refused(changed(archives[1], change), "sparse matrix|shape")


def test_a_precomputed_model_cannot_ask_for_columns_that_are_not_there():
    archives, _ = seeds_once()
    refused(changed(archives[3], put("attributes", "n_features_in_", 2)), "support_ must be row numbers below")


# ---- other files


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (b"", "must be an archive"),
        (b"hello", r"must be an archive \(.npz\) or LIBSVM's text, got b'hello'"),
        (b"\x08\x08onnx", "must be an archive"),
        (b"\x80\x04\x95", "pickle"),
        (b"PK\x03\x04", "damaged"),
        (b"svm_type c_svc\n", "line SV|must begin"),
    ],
)
def test_other_formats_are_named(other, message):
    refused(other, message)


def test_an_archive_of_something_else_is_refused():
    stream = io.BytesIO()
    np.savez(stream, x=np.zeros(3))
    refused(stream.getvalue(), "an archive of something else")


def test_what_is_no_regular_file_is_refused_rather_than_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="must be a regular file"):
        load(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="must be a regular file"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing")


def test_libsvm_text_with_a_far_index_takes_little_memory():
    text = (
        b"svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 2\nnr_sv 1 1\nSV\n"
        b"1 2147483646:1\n-1 1:1\n"
    )
    tracemalloc.start()
    loaded = load_bytes(text, "m")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * MEGABYTE
    assert loaded.n_features_in_ == 2147483646
