"""Files that are written whole or not at all, and what is no file."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from slackwater.files import replace_file


def test_a_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "model"
    replace_file(path, b"one")
    path.chmod(0o600)
    replace_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()), daemon=True)
    reader.start()
    replace_file(path, b"content")
    reader.join(timeout=10)
    assert read == [b"content"]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="directory"):
        replace_file(tmp_path, b"content")
    assert list(tmp_path.iterdir()) == []
