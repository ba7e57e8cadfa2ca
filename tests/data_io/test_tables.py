"""CSV, TSV, Parquet and NumPy's files: what is read, and what is refused with what to do."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from data_files import peak_of_refusal
from slackwater.data_io import format_of, read_data
from slackwater.errors import DataError


@pytest.fixture
def write(tmp_path):
    def to_file(name: str, content: str | bytes):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return to_file


# ---- CSV and TSV


def test_a_table_is_read_as_pandas_reads_it(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((1500, 30)), columns=[f"f{k}" for k in range(30)])
    frame.insert(7, "class", rng.choice(["cat", "dog, wet", 'the "other"'], 1500))
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    X, y, names = read_data(path)
    assert names == [name for name in frame.columns if name != "class"]
    assert X.tobytes() == np.ascontiguousarray(frame.drop(columns="class").to_numpy()).tobytes()
    assert y.tolist() == frame["class"].tolist()


@settings(max_examples=40)
@given(st.lists(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3), min_size=1))
def test_numbers_come_back_bit_for_bit(rows):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        path.write_text("a,b,y\n" + "".join(f"{a!r},{b!r},{int(c > 0)}\n" for a, b, c in rows))
        X, y, _ = read_data(path)
    assert X.tobytes() == np.array([row[:2] for row in rows]).tobytes()
    assert y.tolist() == [int(row[2] > 0) for row in rows]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b,y\n1,2,0\n3,4,1\n", ["a", "b"]),
        ("a,b,y\n1,2,no\n3,4,yes\n", ["a", "b"]),
        ("1,2,0\n3,4,1\n", None),
        ("1,2,no\n3,4,yes\n", None),
        ("0,1,y\n1,2,0\n3,4,1\n", ["0", "1"]),  # names that are numbers, but one
    ],
)
def test_a_row_of_names_is_recognised(write, text, names):
    X, y, found = read_data(write("data.csv", text), label=-1)
    assert found == names
    assert X.tolist() == [[1, 2], [3, 4]]
    assert len(y) == 2


def test_whether_there_is_a_row_of_names_can_be_said(write):
    path = write("data.csv", "1,2\n3,4\n")
    assert read_data(path, label=2, header="yes").feature_names == ["1"]
    with pytest.raises(DataError, match="'x'"):
        read_data(write("other.csv", "x,y\n1,2\n"), label=2, header="no")


@pytest.mark.parametrize("label", ["y", 1, "1", -3])
def test_the_label_is_a_name_or_a_number(write, label):
    X, y, names = read_data(write("data.csv", "y,a,b\nn,1,2\np,3,4\n"), label=label)
    assert (X.tolist(), y.tolist(), names) == ([[1, 2], [3, 4]], ["n", "p"], ["a", "b"])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("data.tsv", "a\tb\ty\n1\t2\t0\n"),
        ("data.csv", "a;b;y\n1;2;0\n"),
        ("data.csv", '\ufeff"a","b","y"\r\n"1","2","0"\r\n\r\n'),
        ("data.csv.gz", gzip.compress(b"a,b,y\n1,2,0", mtime=0)),
        ("data.tsv.bz2", bz2.compress(b"a\tb\ty\n1\t2\t0\n")),
    ],
)
def test_delimiters_quotes_marks_and_packing(write, name, text):
    X, y, names = read_data(write(name, text))
    assert (X.tolist(), y.tolist(), names) == ([[1, 2]], [0], ["a", "b"])


def test_columns_can_be_left_out_and_chosen(write):
    path = write("data.csv", "id,a,b,y\nx1,1,2,0\nx2,3,4,1\n")
    assert read_data(path, ignore=["id"]).feature_names == ["a", "b"]
    chosen = read_data(path, features=["b", "a"], needs_labels=False)
    assert (chosen.X.tolist(), chosen.y.tolist()) == ([[2, 1], [4, 3]], [0, 1])
    with pytest.raises(DataError, match="no column 'c', which the model was trained on"):
        read_data(path, features=["a", "c"])


def test_labels_are_not_needed_for_predictions(write):
    assert read_data(write("data.csv", "1,2\n3,4\n"), needs_labels=False, n_features=2).y is None
    with pytest.raises(DataError, match="one more than the model has features"):
        read_data(write("data.csv", "1,2\n3,4\n"), needs_labels=False, n_features=1)


@pytest.mark.parametrize(
    ("text", "options", "complaint"),
    [
        ("a,b,y\n1,red,0\n2,blue,1\n", {}, r"line 2, column 'b': expected a finite number, found 'red'.*OneHotEncoder"),
        ("a,b,y\n1,2,0\n2,,1\n", {}, r"line 3, column 'b': a missing value \(''\).*SimpleImputer"),
        ("a,b,y\n1,2,0\n2,NaN,1\n", {}, r"line 3, column 'b': a missing value"),
        ("a,b,y\n1,2,0\n2,inf,1\n", {}, r"line 3, column 'b': expected a finite number, found 'inf'"),
        ("a,b,y\n1,2,0\n2,1_0,1\n", {}, r"line 3, column 'b': expected a finite number, found '1_0'"),
        ("a,b,y\n1,2,0\n2,3\n", {}, "line 3: expected 3 columns, as in the first line, found 2"),
        (
            "a,b,y\n1,2,0\n2,3,x\n",
            {},
            r"line 3, column 'y': expected a finite number as label, found 'x'.*string-labels",
        ),
        ("a,b,y\n1,2,p\n2,3,\n", {}, "line 3, column 'y': expected a label, found ''"),
        ("a,b,c\n1,2,0\n", {}, "which column holds the labels.*'a', 'b', 'c'"),
        ("1,2,0\n1,2,0\n", {}, "which column holds the labels.*3 columns"),
        ("a,b,y\n1,2,0\n", {"label": "z"}, "--label must be a name or a number from 1 to 3"),
        ("a,b,y\n1,2,0\n", {"label": 4}, "--label must be a name or a number from 1 to 3"),
        ("a,b,y\n1,2,0\n", {"ignore": ["q"]}, "--ignore must be a name"),
        ("a,a,y\n1,2,0\n", {}, "two columns are called 'a'"),
        ("a,b,y\n", {}, "no rows below the row of names"),
        ("", {}, "no rows"),
        ('a,b,y\n1,"2" 3,0\n', {}, "line 2"),
        ("a,b,y\n1,\xff,0\n".encode("latin-1"), {}, r"line 2, column 3: expected UTF-8, found the byte 0xff"),
        ("y\n1\n", {}, "no column is left for the features"),
    ],
)
def test_errors_of_tables_name_line_and_column(write, text, options, complaint):
    with pytest.raises(DataError, match=complaint) as caught:
        read_data(write("data.csv", text), **options)
    assert "\n" not in str(caught.value)


def test_a_long_line_of_a_small_table_cannot_take_much_memory(write):
    path = write("data.csv.xz", lzma.compress(b"12," * 3_000_000, preset=1))
    assert path.stat().st_size < 3000
    assert peak_of_refusal(lambda: read_data(path)) < 100 * 2**20


# ---- Parquet


def test_parquet_is_read_as_it_was_written(tmp_path):
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.standard_normal(40000), "b": rng.integers(0, 9, 40000), "flag": rng.random(40000) < 0.5}
    )
    frame["species"] = rng.choice(["u", "v"], 40000)
    path = tmp_path / "data.parquet"
    frame.to_parquet(path)
    seen = []
    X, y, names = read_data(path, label="species", progress=lambda done, total: seen.append((done, total)))
    assert names == ["a", "b", "flag"]
    assert np.array_equal(X, frame[names].to_numpy(dtype=float))
    assert y.tolist() == frame["species"].tolist()
    assert seen[-1] == (40000, 40000)
    assert len(seen) > 1


def test_parquet_with_words_nulls_or_damage_is_refused(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "data.parquet"
    pd.DataFrame({"a": [1.0, 2.0], "colour": ["red", "blue"], "y": [0, 1]}).to_parquet(path)
    with pytest.raises(DataError, match=r"column 'colour': expected numbers, found the type .*OneHotEncoder"):
        read_data(path)
    assert read_data(path, ignore=["colour"]).X.tolist() == [[1], [2]]
    pd.DataFrame({"a": [1.0, None], "y": [0, 1]}).to_parquet(path)
    with pytest.raises(DataError, match=r"row 2, column 'a': a missing value \('null'\)"):
        read_data(path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match="not a readable Parquet file"):
        read_data(path)


def test_parquet_that_claims_too_many_rows_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    path = tmp_path / "data.parquet"
    pd.DataFrame({"a": np.zeros(100_000), "y": np.zeros(100_000, dtype=np.int8)}).to_parquet(path)
    monkeypatch.setattr("slackwater.data_io.parquet.MAX_EXPANSION", 10)
    monkeypatch.setattr("slackwater.data_io.parquet._FREE_BYTES", 0)
    with pytest.raises(DataError, match=r"claim 100000 rows of 1 features, beyond 10 : 1"):
        read_data(path)


# ---- NumPy


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_arrays_of_an_archive(tmp_path, dtype):
    X = np.arange(12).reshape(4, 3).astype(dtype)
    path = tmp_path / "data.npz"
    np.savez_compressed(path, X=X, y=np.array(["a", "b", "a", "b"]), feature_names=np.array(["p", "q", "r"]))
    found = read_data(path)
    assert np.array_equal(found.X, X)
    assert found.X.dtype == (np.float32 if dtype == np.float32 else np.float64)
    assert found.y.tolist() == ["a", "b", "a", "b"]
    assert found.feature_names == ["p", "q", "r"]


def test_sparse_arrays_of_an_archive(tmp_path):
    X = sparse.random(50, 20, density=0.2, format="csr", random_state=0)
    path = tmp_path / "data.npz"
    sparse.save_npz(path, X)
    found = read_data(path, needs_labels=False)
    assert (found.X != X).nnz == 0
    with pytest.raises(DataError, match=r"no labels. Expected an array 'y'"):
        read_data(path)
    pieces = {"X_data": X.data, "X_indices": X.indices, "X_indptr": X.indptr, "X_shape": X.shape}
    np.savez(path, y=np.arange(50) % 2, **pieces)
    assert (read_data(path).X != X).nnz == 0
    pieces["X_indices"] = X.indices + 20
    np.savez(path, y=np.arange(50) % 2, **pieces)
    with pytest.raises(DataError, match="contradict each other"):
        read_data(path)


def test_a_matrix_with_a_column_of_labels(tmp_path):
    matrix = np.array([[1.0, 2.0, 0.0], [3.0, 4.0, 1.0]])
    path = tmp_path / "data.npy"
    for stored in (matrix, np.asfortranarray(matrix)):
        np.save(path, stored)
        found = read_data(path, label=-1)
        assert found.X.tolist() == [[1, 2], [3, 4]]
        assert found.y.tolist() == [0, 1]
    matrix[1, 0] = np.nan
    np.save(path, matrix)
    with pytest.raises(DataError, match="row 2, column 1"):
        read_data(path, label=-1)


def test_objects_are_not_unpickled(tmp_path):
    path = tmp_path / "data.npy"
    np.save(path, np.array([[{}, {}]], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="Python objects are not read"):
        read_data(path, label=1)


@pytest.mark.parametrize("shape", ["(1000000000000,)", "(100000, 100000)", "(-1,)", "(2**40,)", "x"])
def test_a_header_that_claims_too_much_takes_no_memory(tmp_path, shape):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\0" * 64
    path = tmp_path / "data.npy"
    path.write_bytes(array)
    assert peak_of_refusal(lambda: read_data(path, label=1)) < 10 * 2**20
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("X.npy", array)
    zipped = tmp_path / "data.npz"
    zipped.write_bytes(packed.getvalue())
    assert peak_of_refusal(lambda: read_data(zipped)) < 10 * 2**20


# ---- all


def test_names_say_formats():
    expected = {
        "a.csv": "csv",
        "a.CSV.gz": "csv",
        "a.tsv.xz": "tsv",
        "a.parquet": "parquet",
        "a.npz": "npz",
        "a.npy": "npy",
    }
    assert {name: format_of(name) for name in expected} == expected
    assert {format_of(name) for name in ("a9a", "a9a.t", "a.svm.bz2", "a.txt", "-")} == {"svmlight"}


def test_what_cannot_be_opened_is_refused(tmp_path):
    for name in ("none.svm", "none.csv", "none.npz", "none.parquet", "nul\0.svm"):
        with pytest.raises((DataError, ValueError)):
            read_data(tmp_path / name)
    with pytest.raises(DataError, match="cannot be"):
        read_data(tmp_path)
    with pytest.raises(DataError, match="not read from standard input"):
        read_data("-", format="npz")
    with pytest.raises(ValueError, match="format must be one of"):
        read_data("a", format="xls")
