"""Compiled loops on disk: compiled once, whatever else happens to the folder."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from slackwater import _code_cache

SOURCES = Path(_code_cache.__file__).parent.parent
SCRIPT = textwrap.dedent(
    """
    import numpy as np
    from numba.core import event
    from slackwater import _loops
    with event.install_recorder("numba:compile") as recorder:
        keys = _loops.dense_keys(np.arange(6.0).reshape(3, 2), np.array([2.0, 3.0]))
    print(sum(1 for _, each in recorder.buffer if each.is_start), *keys)
    """
)


def start(folder: Path, **environment: str) -> subprocess.Popen[str]:
    """A process that uses one small loop and prints how many functions it compiled, and what came out."""
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES), "NUMBA_CACHE_DIR": str(folder), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def outcome(process: subprocess.Popen[str]) -> tuple[int, str]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    compiled, keys = out.strip().split(" ", 1)
    return int(compiled), keys


def kept(folder: Path) -> list[Path]:
    return sorted(folder.glob("slackwater/loops-*/*"))


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    (first, keys), (second, again) = outcome(start(tmp_path)), outcome(start(tmp_path))
    assert first > 0
    assert second == 0
    assert keys == again


@pytest.mark.slow
def test_eight_processes_at_once_leave_one_whole_file_for_each_loop(tmp_path: Path) -> None:
    results = [outcome(process) for process in [start(tmp_path) for _ in range(8)]]
    assert len({keys for _, keys in results}) == 1
    assert not [path for path in kept(tmp_path) if path.name.endswith(".part")]
    assert outcome(start(tmp_path))[0] == 0


@pytest.mark.parametrize(
    "damage",
    ["one bit", pytest.param("truncated", marks=pytest.mark.slow), pytest.param("empty", marks=pytest.mark.slow)],
)
def test_a_damaged_file_is_compiled_anew(tmp_path: Path, damage: str) -> None:
    _, keys = outcome(start(tmp_path))
    for path in kept(tmp_path):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 4
        path.write_bytes({"truncated": content[:-9], "one bit": content, "empty": b""}[damage])
    compiled, again = outcome(start(tmp_path))
    assert compiled > 0
    assert again == keys
    assert outcome(start(tmp_path))[0] == 0


def test_another_processor_has_code_of_its_own(tmp_path: Path) -> None:
    _, keys = outcome(start(tmp_path))
    compiled, again = outcome(start(tmp_path, NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES=""))
    assert compiled > 0
    assert again == keys
    assert outcome(start(tmp_path))[0] == 0  # and that of the first one is still there


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two folders, of which the first cannot be written to, whoever asks."""
    first, second = tmp_path / "image" / "loops-0", tmp_path / "user" / "loops-0"
    first.mkdir(parents=True)
    plain = _code_cache.tempfile.TemporaryFile

    def refuse(dir: Path) -> object:
        if dir == first:
            raise PermissionError("read-only")
        return plain(dir=dir)

    monkeypatch.setattr(_code_cache, "folders", lambda: (first, second))
    monkeypatch.setattr(_code_cache.tempfile, "TemporaryFile", refuse)
    _code_cache.writable_folder.cache_clear()
    yield first, second
    _code_cache.writable_folder.cache_clear()


def test_a_read_only_folder_is_read_and_another_written_to(places: tuple[Path, Path]) -> None:
    first, second = places
    assert _code_cache.writable_folder() == second
    payload = b"machine code"
    digest = _code_cache.hashlib.blake2b(payload, digest_size=16).digest()
    (first / "loop-1").write_bytes(digest + payload)
    (second / "loop-2").write_bytes(digest + payload)
    (second / "loop-3").write_bytes(digest + payload[:-1])
    cache = _code_cache.LoopCache(places_of)
    assert [list(cache._payloads(f"loop-{n}")) for n in (1, 2, 3)] == [[payload], [payload], []]


def places_of() -> None:
    """A function to be compiled."""


def test_without_any_folder_loops_are_compiled_all_the_same(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    compiled, keys = outcome(start(blocked))
    assert compiled > 0
    assert keys == outcome(start(tmp_path / "folder"))[1]


def test_without_a_home_no_folder_is_made_where_the_process_happens_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(_code_cache.os.path, "expanduser", lambda path: path)
    assert _code_cache._user_folder() is None


def test_code_of_other_versions_goes_when_it_cannot_be_used_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tmp_path / "__pycache__" / f"loops-{n}" for n in range(3)]
    for folder in folders:
        folder.mkdir(parents=True)
    os.utime(folders[0], (0, 0))
    _code_cache._remove_stale(folders[2])
    assert [folder.exists() for folder in folders] == [False, True, True]  # another version may still be in use
    monkeypatch.setattr(_code_cache, "_PACKAGE", tmp_path)
    _code_cache._remove_stale(folders[2])
    assert [folder.exists() for folder in folders] == [False, False, True]  # beside the sources, none is


def test_constants_that_loops_import_are_part_of_the_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some_loops.py").write_text("from slackwater.constants import WIDTH\n")
    (tmp_path / "constants.py").write_text("WIDTH = 1\n")
    monkeypatch.setattr(_code_cache, "_PACKAGE", tmp_path)
    digest = _code_cache.source_digest.__wrapped__
    before = digest()
    assert digest() == before
    (tmp_path / "constants.py").write_text("WIDTH = 2\n")
    assert digest() != before


@pytest.mark.slow
def test_the_command_leaves_nothing_to_compile_for_ordinary_fits(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "slackwater", "compile"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True)
    assert "compiled loops added" in done.stdout
    fits = textwrap.dedent(
        """
        import numpy as np
        from numba.core import event
        from sklearn.datasets import load_breast_cancer, load_digits, load_iris
        from slackwater import SVC
        with event.install_recorder("numba:compile") as recorder:
            for load in (load_iris, load_digits, load_breast_cancer):
                X, y = load(return_X_y=True)
                SVC().fit(X, y).predict(X)
                SVC(C=10).fit(X.astype(np.float32), y == y[0]).decision_function(X[:1])
        print(sorted({each.data["dispatcher"].py_func.__qualname__ for _, each in recorder.buffer}))
        """
    )
    found = subprocess.run([sys.executable, "-c", fits], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
