"""svmlight text against a plain parser, scikit-learn's, and what users do to files."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from data_files import peak_of, peak_of_refusal
from reference import svmlight as plain
from slackwater.data_io.streams import Source
from slackwater.data_io.svmlight import read_svmlight
from slackwater.errors import DataError


def read(text: bytes, **options):
    return read_svmlight(Source("data", io.BytesIO(text)), **options)


# ---- what is read

rows = st.lists(
    st.tuples(
        st.sampled_from(["+1", "-1", "2", "0.5"]),
        st.dictionaries(st.integers(0, 40), st.floats(allow_nan=False, allow_infinity=False), max_size=6),
        st.sampled_from(["", " ", "\t", "  # a: comment", "\r", " qid"]),
    ),
    min_size=1,
    max_size=8,
)


@given(rows, st.sampled_from(["%r", "%.17g", "%.3f", "%.25e"]), st.sampled_from(["\n", "\r\n", "\n\n"]), st.booleans())
def test_text_is_read_as_a_plain_parser_reads_it(rows, form, end, last_newline):
    lines = []
    for label, entries, tail in rows:
        tail = "" if tail == " qid" else tail
        pairs = [f"{index}:{form % value}" for index, value in sorted(entries.items())]
        lines.append(" ".join([label, *pairs]) + tail)
    text = end.join(lines) + (end if last_newline else "")
    labels, expected = plain.parse(text)
    X, y, names = read(text.encode())
    assert names is None
    assert np.array_equal(X.toarray(), plain.dense(expected))
    assert X.data.tobytes() == np.array([value for row in expected for _, value in row], dtype=float).tobytes()
    assert y.tolist() == [float(label) for label in labels]


tokens = st.sampled_from(
    ["1", "-1", "a", "1:2", "2:-3.5e2", "3:nan", "qid:4", "2:", ":1", "9:1e999", "#", "\n", " ", "\t"]
)


@settings(max_examples=300)
@given(st.lists(tokens, max_size=14))
def test_text_is_refused_where_a_plain_parser_refuses_it(parts):
    text = " ".join(parts)
    try:
        labels, expected = plain.parse(text)
    except ValueError:
        labels = None
    if not labels or len({label == "a" for label in labels}) > 1:
        with pytest.raises(DataError):
            read(text.encode())
    else:
        X, y, _ = read(text.encode())
        assert np.array_equal(X.toarray(), plain.dense(expected))
        assert len(y) == len(labels)


@pytest.mark.parametrize("zero_based", [True, False])
def test_the_arrays_are_those_of_scikit_learn(tmp_path, zero_based):
    rng = np.random.default_rng(0)
    X = sparse.random(3000, 200, density=0.05, format="csr", random_state=0)
    X = sparse.vstack([X, sparse.csr_matrix(np.ones((1, 200)))], format="csr")
    y = rng.integers(0, 5, 3001)
    path = tmp_path / "data.svm"
    dump_svmlight_file(X, y, str(path), zero_based=zero_based, comment="made\nhere")
    ours, labels, _ = read(path.read_bytes())
    theirs, their_labels = load_svmlight_file(str(path))
    assert ours.shape == theirs.shape
    assert ours.data.tobytes() == theirs.data.tobytes()
    assert np.array_equal(ours.indices, theirs.indices)
    assert np.array_equal(ours.indptr, theirs.indptr)
    assert np.array_equal(labels, their_labels)


def large(rows: int) -> bytes:
    rng = np.random.default_rng(1)
    values = rng.standard_normal((rows, 5))
    lines = [
        f"{k % 3} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row)) for k, row in enumerate(values.tolist())
    ]
    return "\n".join(lines).encode()


def test_blocks_and_threads_do_not_show(monkeypatch):
    text = large(3000)
    whole = read(text, n_jobs=1)
    monkeypatch.setattr("slackwater.data_io.streams.Source.blocks", lambda self: iter(lambda: self.read(997), b""))
    for n_jobs in (1, 2, 3):
        parts = read(text, n_jobs=n_jobs)
        assert (parts.X != whole.X).nnz == 0
        assert np.array_equal(parts.y, whole.y)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gzip", "bzip2", "xz"])
def test_packed_text_is_recognised_by_its_bytes(pack):
    text = large(500)
    half = text.index(b"\n", len(text) // 2) + 1
    for packed in (pack(text), pack(text[:half]) + pack(text[half:])):
        X, y, _ = read(packed)
        assert X.shape == (500, 5)
        assert y[-1] == 499 % 3


def test_a_pipe_that_gives_a_byte_at_a_time_is_read_as_a_file():
    class Slow(io.BytesIO):
        def read(self, size=-1):
            return super().read(1)

    text = b"1 1:0.5\n-1 2:1\n"
    for content in (text, gzip.compress(text)):
        X, y, _ = read_svmlight(Source("data", Slow(content)))
        assert X.toarray().tolist() == [[0.5, 0], [0, 1]]
        assert y.tolist() == [1, -1]


def test_the_first_index_is_one_unless_a_zero_is_found_or_said():
    assert read(b"1 1:5\n2 2:5\n").X.toarray().tolist() == [[5, 0], [0, 5]]
    assert read(b"1 0:5\n2 1:5\n").X.toarray().tolist() == [[5, 0], [0, 5]]
    assert read(b"1 1:5\n2 2:5\n", indices="zero").X.toarray().tolist() == [[0, 5, 0], [0, 0, 5]]
    with pytest.raises(DataError, match="index 0 found, but indices start from one"):
        read(b"1 0:5\n", indices="one")


def test_labels_are_whole_numbers_doubles_or_words():
    assert read(b"+1 1:1\n-1 1:1\n").y.dtype == np.int64
    assert read(b"1.5 1:1\n-1 1:1\n").y.tolist() == [1.5, -1.0]
    assert read("über 1:1\nnach 1:1\nüber 2:1".encode()).y.tolist() == ["über", "nach", "über"]
    assert read(b"01 1:1\n1 1:1\n", string_labels=True).y.tolist() == ["01", "1"]
    assert read(b"123456789012345678901234567890 1:1\n").y.tolist() == [123456789012345678901234567890.0]


def test_columns_of_zeros_may_be_added():
    assert read(b"1 1:1\n", n_features=4).X.shape == (1, 4)
    with pytest.raises(DataError, match="feature index 5 found, but there are 4 features"):
        read(b"1 5:1\n", n_features=4)


def test_a_mark_at_the_beginning_and_a_query_are_passed_over():
    X, y, _ = read(b"\xef\xbb\xbf1 qid:7 1:2\n-1 qid:8\n")
    assert X.toarray().tolist() == [[2], [0]]
    assert y.tolist() == [1, -1]


# ---- what is refused


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"1 1:2\n-1 3:4 2:1\n", "data, line 2, column 8: expected an index larger than the one before it"),
        (b"1 1:2 1:2\n", "line 1, column 7: expected an index larger"),
        (b"1\n\n# x\n1 2:nan\n", "line 4, column 5: expected a finite decimal number, found 'nan'"),
        (b"1 2:-inf\n", "column 5: expected a finite decimal number, found '-inf'"),
        (b"1 2:1e999\n", "expected a number below 1.8e308, found '1e999'"),
        (b"1 2:" + b"9" * 400, "expected a number below 1.8e308, found '9999"),
        (b"1 2:0x1p3\n", "expected a finite decimal number, found '0x1p3'"),
        (b"1 2:1_0\n", "expected a finite decimal number, found '1_0'"),
        (b"1 2: 5\n", "column 5: expected a finite decimal number, found nothing"),
        (b"1 foo\n", "column 3: expected index:value with a whole index, found 'foo'"),
        (b"1 -3:1\n", "expected index:value with a whole index, found '-3:1'"),
        (b"1 2147483648:1\n", "expected an index up to 2147483647, found '2147483648:1'"),
        (b"1:2 2:3\n", "line 1, column 1: expected a label, then index:value pairs, found '1:2'"),
        (b"1 1:1\nfoo 1:1\n", "line 2, column 1: expected a finite number as label, found 'foo'"),
        (b"nan 1:1\n", "expected a finite number as label, found 'nan'"),
        (b"1,2 1:1\n", "expected one label a row"),
        (b"\xff 1:1\n", "expected a label in UTF-8"),
        (b"\n# only a comment\n", "no rows"),
        (b"1 1:2\x00\n", "expected a finite decimal number"),
    ],
)
def test_errors_name_file_line_and_column(text, complaint):
    with pytest.raises(DataError) as caught:
        read(text)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_error_in_a_later_block_has_the_line_of_the_file():
    text = large(40000)
    assert len(text) > 3 * 2**20
    with pytest.raises(DataError, match="line 40001, column 3: expected index:value"):
        read(text + b"\n1 x\n")


@pytest.mark.parametrize(
    ("packed", "complaint"),
    [
        (gzip.compress(b"1 1:1\n" * 100, mtime=0)[:-12], "end too early"),
        (bz2.compress(b"1 1:1\n" * 100)[:-5], "end too early"),
        (lzma.compress(b"1 1:1\n" * 100)[:-5], "end too early"),
        (b"\x1f\x8b" + b"x" * 50, "damaged gzip data"),
        (b"BZh" + b"x" * 50, "damaged bzip2 data"),
        (b"\xfd7zXZ\x00" + b"x" * 50, "damaged xz data"),
    ],
)
def test_damaged_files_are_refused(packed, complaint):
    with pytest.raises(DataError, match=complaint):
        read(packed)


@pytest.mark.parametrize(
    "content",
    [b"1 1:1\n", b"1\n", b"\n", b"7", b"abcdefgh\n", b"#", b":", b"1 2:3 "],
    ids=["rows", "labels", "newlines", "a number", "words", "a comment", "colons", "no line end"],
)
def test_a_small_file_cannot_take_much_memory(content):
    """A kilobyte of xz that would unpack to many megabytes."""
    packed = lzma.compress(content * (8 * 10**6 // len(content)), preset=1)
    assert len(packed) < 3000
    read(b"1 1:1\n")  # compiles
    assert peak_of_refusal(lambda: read(packed)) < 100 * 2**20


def test_a_dictionary_of_gigabytes_is_not_taken():
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 2**30}]
    packed = bytearray(lzma.compress(b"1 1:1\n", filters=filters))
    with pytest.raises(DataError, match="damaged xz data"):
        read(bytes(packed))


def test_a_large_index_takes_no_memory():
    read(b"1 1:1\n")  # compiles
    found = []
    assert peak_of(lambda: found.append(read(b"1 2147483647:1\n-1 1:1\n"))) < 10 * 2**20
    ((X, _, _),) = found
    assert X.shape == (2, 2147483647)
    assert X.nnz == 2


def test_reading_shows_how_far_it_has_come():
    text = large(40000)
    seen = []
    read_svmlight(Source("data", io.BytesIO(text), len(text), lambda done, total: seen.append((done, total))))
    assert seen == sorted(seen)
    assert len(seen) > 2
    assert seen[-1] == (len(text), len(text))
