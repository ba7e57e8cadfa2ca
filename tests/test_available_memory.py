"""The default cache is a part of the memory that a process may use, not of the machine's."""

from __future__ import annotations

import pytest

from slackwater import SVC, workers


def groups(tmp_path, line, limits):
    """Files as the kernel shows them to a process of one control group."""
    own, root = tmp_path / "cgroup", tmp_path / "fs"
    own.write_text(line)
    for name, text in limits.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return own, root


@pytest.mark.parametrize(
    ("line", "limits", "found"),
    [
        ("0::/\n", {"memory.max": "536870912\n"}, [2**29]),  # a container's own name space
        ("0::/a/b\n", {"a/memory.max": "1000\n", "a/b/memory.max": "max\n"}, [1000]),
        ("0::/a/b\n", {"a/memory.max": "2000\n", "a/b/memory.max": "1000\n"}, [1000, 2000]),
        ("5:cpu,memory:/d\n1:name=x:/\n", {"memory/d/memory.limit_in_bytes": "4096\n"}, [4096]),  # version 1
        ("5:cpu:/d\n", {"memory/d/memory.limit_in_bytes": "4096\n"}, []),
        ("nonsense", {}, []),
    ],
)
def test_limits_are_those_of_the_own_control_group_and_of_those_above(tmp_path, line, limits, found):
    assert workers._container_limits(*groups(tmp_path, line, limits)) == found


def test_no_control_groups_are_no_limit(tmp_path):
    assert workers._container_limits(tmp_path / "none", tmp_path) == []


def test_the_default_cache_obeys_the_limit_of_a_container(monkeypatch):
    monkeypatch.setattr(workers, "_container_limits", lambda own, root: [6 * 2**20])
    assert workers.available_memory() == 6 * 2**20
    assert SVC()._memory() == (2**20, 2**21)
