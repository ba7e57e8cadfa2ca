"""Bytes of a data file, plain or compressed, in blocks of bounded size.

Compression is recognised by the first bytes, so that it works on standard input and whatever the file is called. A
block never holds more than was asked for, and a file may not unpack to a large multiple of its size: two kilobytes
of bzip2 can hold a gigabyte of zeros.
"""

from __future__ import annotations

import bz2
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from slackwater.errors import DataError

STDIN = "-"
READ_BYTES = 2**19  # of the file itself, at a time
MAX_DECODER_MEMORY = 80 * 2**20  # xz -9 needs 65 MiB
# Deflate cannot do better than 1032 : 1; what does is no data that a classifier could learn from.
MAX_EXPANSION = 1100
FREE_EXPANSION = 4 * 2**20  # bytes that any file may unpack to

_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}

_MAGIC_BYTES = max(map(len, _MAGIC))

# Shown the bytes read so far and, where it is known, of how many
Progress = Callable[[int, "int | None"], None]


class _Decoder(Protocol):
    """One compressed stream; a file may hold several, one after the other."""

    eof: bool
    unused_data: bytes

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Deflate:
    """zlib's object with the interface of the other two: input that did not fit is kept inside."""

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(wbits=31)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._decoder.decompress(self._decoder.unconsumed_tail + data, max_length)

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data


_DECODERS: dict[str, Callable[[], Any]] = {
    "gzip": _Deflate,
    "bzip2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(memlimit=MAX_DECODER_MEMORY),
}


@dataclass
class Source:
    """An open data file: its name for errors, its bytes, and who is shown how far reading has come."""

    name: str
    raw: IO[bytes]
    size: int | None = None  # None where it cannot be known: a pipe
    progress: Progress | None = None
    consumed: int = field(default=0, init=False)

    def read(self, size: int = READ_BYTES) -> bytes:
        """Up to ``size`` bytes as they are in the file."""
        try:
            data = self.raw.read(size) or b""
        except OSError as error:
            raise DataError(f"{self.name}: cannot be read ({error.strerror or error}).") from error
        self.consumed += len(data)
        if self.progress is not None and data:
            self.progress(self.consumed, self.size)
        return data

    def blocks(self, size: int = READ_BYTES) -> Iterator[bytes]:
        """The content, unpacked, in blocks of at most ``size`` bytes."""
        first = self.read(size)
        while len(first) < _MAGIC_BYTES and (more := self.read(size - len(first))):  # a pipe gives what it has
            first += more
        packing = next((name for magic, name in _MAGIC.items() if first.startswith(magic)), None)
        if packing is not None:
            yield from self._unpacked(first, packing, size)
            return
        while first:
            yield first
            first = self.read(size)

    def _unpacked(self, data: bytes, packing: str, size: int) -> Iterator[bytes]:
        decoder: _Decoder = _DECODERS[packing]()
        written = 0
        while True:
            try:
                block = decoder.decompress(data, size)
            except (zlib.error, OSError, EOFError, lzma.LZMAError) as error:
                raise DataError(
                    f"{self.name}: damaged {packing} data ({error}). Unpack it again at its source."
                ) from error
            written += len(block)
            self._refuse_bomb(written, packing)
            if block:
                yield block
            data = decoder.unused_data if decoder.eof else b""
            if decoder.eof:
                data = (data or self.read()).lstrip(b"\0")  # padding of tapes and of xz
                if not data:
                    return
                decoder = _DECODERS[packing]()
            elif not block:
                data = self.read()
                if not data:
                    raise DataError(
                        f"{self.name}: the {packing} data end too early. The file was cut off; get it again."
                    )

    def _refuse_bomb(self, written: int, packing: str) -> None:
        if written > FREE_EXPANSION + MAX_EXPANSION * self.consumed:
            raise DataError(
                f"{self.name}: {self.consumed} bytes of {packing} unpack to more than {written}, beyond "
                f"{MAX_EXPANSION} : 1. If the file is what you want to read, unpack it first."
            )


@contextmanager
def opened(path: str | Path, progress: Progress | None = None) -> Iterator[Source]:
    """A data file by its path, or standard input for ``-``."""
    if str(path) == STDIN:
        # Unbuffered: between the reads that a buffer makes to be full, Python does not look for signals, and a pipe
        # that is silent afterwards would hold up Ctrl-C for ever.
        yield Source("<stdin>", getattr(sys.stdin.buffer, "raw", sys.stdin.buffer), None, progress)
        return
    try:
        stream = Path(path).open("rb", buffering=0)  # noqa: SIM115 - closed below
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be opened ({getattr(error, 'strerror', None) or error}).") from error
    with stream:
        size = Path(path).stat().st_size if Path(path).is_file() else None
        yield Source(str(path), stream, size, progress)


def lines_together(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes in blocks that end at line ends; a newline is added to a last line that has none."""
    parts: list[bytes] = []  # of a line that is not complete: joined once, however many blocks it takes
    for block in blocks:
        cut = block.rfind(b"\n") + 1
        if cut:
            yield b"".join([*parts, block[:cut]])
            parts = [block[cut:]] if cut < len(block) else []
        else:
            parts.append(block)
    if parts:
        yield b"".join([*parts, b"\n"])
