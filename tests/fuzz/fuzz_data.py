"""Random and damaged data files: every reader returns data or raises DataError, soon and with little memory.

    python tests/fuzz/fuzz_data.py [--count 500000] [--seed 0]

Inputs are grown from valid files by mutations and from the tokens of each format. Prints the totals of each format.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import io
import lzma
import random
import resource
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from slackwater.data_io import read_data
from slackwater.errors import DataError

TOKENS = [
    *(b"1 -1 +1 0 2 a nan inf 1e5 -2.5 .5 5. 1e400 1e-400 0x1 1_0 1,2 qid:3 # : 1: :1 1:1 2:2 3:0.1 0:1".split()),
    *(b"2147483647:1 2147483648:1 99999999999999999999:1 -1:1 1:nan 2:1e999 3:123456789012345678901234567890".split()),
    *[b"\n", b"\r\n", b"\r", b" ", b"\t", b"\0", b"\xff", b"\xef\xbb\xbf", b",", b";", b'"', b'""', b"'", b"_"],
    *[b"label", b"y", b"red", b"?", b"NA", "ü".encode(), b"9" * 30],
]
WANTED = {"csv": "-1", "tsv": "-1", "npy": "-1"}
SLOW = 5.0  # seconds, in which each input must be read
MEMORY = 100 * 2**20  # bytes by which the process may grow


def arrays(**named: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **named)
    return stream.getvalue()


def one_array(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def parquet() -> list[bytes]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        return []
    stream = io.BytesIO()
    pq.write_table(pa.table({"a": [1.0, 2.0], "b": [3, 4], "y": ["u", "v"]}), stream)
    return [stream.getvalue()]


def seeds() -> dict[str, list[bytes]]:
    text = b"+1 1:0.5 3:2e-3 # c\n-1 qid:2 2:1\n+1\n"
    table = b"a,b,y\n1,2,p\n3.5,-4e3,q\n"
    packed = [pack(text) for pack in (gzip.compress, bz2.compress, lzma.compress)]
    matrix = np.arange(6.0).reshape(2, 3)
    csr = {"data": np.ones(2), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2]), "shape": np.array([2, 3])}
    found = {
        "svmlight": [text, *packed],
        "csv": [table, gzip.compress(table)],
        "tsv": [table.replace(b",", b"\t")],
        "npz": [arrays(X=matrix, y=np.array([0, 1])), arrays(y=np.array(["a", "b"]), **csr)],
        "npy": [one_array(matrix), one_array(np.asfortranarray(matrix.astype(np.float32)))],
        "parquet": parquet(),
    }
    return {name: each for name, each in found.items() if each}


def mutated(content: bytes, rng: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(rng.randint(1, 6)):
        at = rng.randint(0, len(data))
        action = rng.randrange(6)
        if action == 0 and data:
            data[min(at, len(data) - 1)] = rng.randrange(256)
        elif action == 1:
            data[at:at] = rng.choice(TOKENS)
        elif action == 2:
            del data[at : at + rng.randint(1, 8)]
        elif action == 3:
            data[at:at] = data[at : at + rng.randint(1, 64)] * rng.randint(1, 4)
        elif action == 4 and data:
            data[min(at, len(data) - 1)] ^= 1 << rng.randrange(8)
        else:
            del data[at:]
    return bytes(data[:4096])


def grown(rng: random.Random) -> bytes:
    return b" ".join(rng.choice(TOKENS) for _ in range(rng.randint(0, 24)))


def repacked(content: bytes, rng: random.Random) -> bytes:
    """Members of an archive mutated and packed again, so that damage is found behind zip's own checks."""
    stream = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
            for name in old.namelist():
                member = old.read(name)
                new.writestr(name, mutated(member, rng) if rng.random() < 0.5 else member)
    except (zipfile.BadZipFile, ValueError):
        return content
    return stream.getvalue()


def made(kind: str, examples: list[bytes], rng: random.Random) -> bytes:
    chance = rng.random()
    if kind in ("svmlight", "csv", "tsv") and chance < 0.5:
        text = grown(rng)
        return rng.choice([gzip.compress, bz2.compress])(text) if chance < 0.02 else text
    example = rng.choice(examples)
    return repacked(example, rng) if kind == "npz" and chance < 0.5 else mutated(example, rng)


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run(count: int, seed: int, say: Callable[[str], None] | None = None) -> dict[str, Counter[str]]:
    """Read ``count`` inputs, the formats by turns; the numbers of those read and refused. Anything else raises."""
    rng = random.Random(seed)
    examples = seeds()
    totals = {kind: Counter() for kind in examples}
    for kind in examples:
        try_one(kind, examples[kind][0], Path(tempfile.gettempdir()) / f"fuzz-{seed}.bin")  # compiles, imports
    before = peak()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input.bin"
        for k in range(count):
            kind = list(examples)[k % len(examples)]
            content = made(kind, examples[kind], rng)
            start = time.monotonic()
            totals[kind][try_one(kind, content, path)] += 1
            if time.monotonic() - start > SLOW or peak() - before > MEMORY:
                raise AssertionError(f"{kind}: too slow or too much memory for {content!r}")
            if say is not None and (k + 1) % 50_000 == 0:
                say(f"{k + 1} inputs")
    return totals


def try_one(kind: str, content: bytes, path: Path) -> str:
    path.write_bytes(content)
    try:
        found = read_data(path, format=kind, label=WANTED.get(kind), n_jobs=1)
    except DataError as error:
        if "\n" in str(error):
            raise AssertionError(f"more than one line: {error!r}") from error
        return "refused"
    except Exception as error:
        raise AssertionError(f"{kind}: {error!r} for {content!r}") from error
    finally:
        path.unlink()
    values = getattr(found.X, "data", found.X) if not isinstance(found.X, np.ndarray) else found.X
    assert found.X.shape[0] == len(found.y)
    assert np.isfinite(values).all()
    return "read"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start = time.monotonic()
    totals = run(options.count, options.seed, lambda text: print(text, file=sys.stderr))
    for kind, found in totals.items():
        print(f"{kind:9} {found.total():9} inputs: {found['read']} read, {found['refused']} refused")
    print(f"data      {sum(found.total() for found in totals.values()):9} inputs in {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
