"""The bytes of a file, gzip undone as they are read, with an end to what a bomb may unpack."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.read.blocks import FileSource

# Tables shrink by 3 to 50 in gzip; what shrinks by more than this was made to explode.
BOMB_RATIO = 250
# Bytes that any file may unpack to: 64 MiB, less than the program itself takes.
_HARMLESS = 64 << 20


class BoundedGzip(io.RawIOBase):
    """A gzip stream that stops when far more comes out than went in."""

    def __init__(self, stream: Any, most: int, name: str) -> None:
        self._stream, self._most, self._name, self._done = stream, most, name, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        self._done += len(data)
        if self._done > self._most:
            raise KitchenError(
                f"{self._name} unpacks to more than {BOMB_RATIO} times its size: that is no table "
                "but a decompression bomb. Unpack it yourself if you trust it."
            )
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def unpacked(origin: FileSource) -> Iterator[IO[bytes]]:
    """The bytes of a file as a stream."""
    with origin.path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if not packed:
            yield file
            return
        most = max(BOMB_RATIO * origin.path.stat().st_size, min(_HARMLESS, origin.limit // 8))
        try:
            with gzip.open(file) as stream:
                yield cast(
                    IO[bytes], io.BufferedReader(BoundedGzip(stream, most, origin.name), 1 << 20)
                )
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise KitchenError(f"{origin.name} is a damaged gzip file. Copy it again.") from None
