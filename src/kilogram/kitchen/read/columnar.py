"""Files that hold columns: Parquet, Arrow (Feather), Arrow streams; read a block at a time."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet

from kilogram.kitchen.errors import KitchenError
from kilogram.kitchen.read.blocks import FileSource, RowBlocks

_ROWS = 65536  # of a batch: a usual row group
_BUFFER = 1 << 16  # bytes read ahead


def parquet(origin: FileSource) -> RowBlocks:
    """A Parquet file."""

    def run() -> Iterator[pa.Table]:
        try:
            with pyarrow.parquet.ParquetFile(
                origin.path, buffer_size=_BUFFER, pre_buffer=False
            ) as file:
                step = _step(file.metadata.num_rows, _size(file.metadata), origin.limit)
                yield file.schema_arrow.empty_table()
                for batch in file.iter_batches(batch_size=step):
                    yield pa.Table.from_batches([batch])
        except (pa.ArrowException, OSError, EOFError) as bad:
            raise KitchenError(f"{origin.name} is a damaged Parquet file: {bad}") from None

    return RowBlocks(run)


def _size(metadata: pyarrow.parquet.FileMetaData) -> int:
    return sum(metadata.row_group(k).total_byte_size for k in range(metadata.num_row_groups))


def _step(rows: int, size: int, limit: int) -> int:
    """Rows of a block that takes a small part of the memory."""
    return max(1, min(_ROWS, int(limit / 16 / max(size / max(rows, 1), 1))))


def arrow_file(origin: FileSource) -> RowBlocks:
    """An Arrow file, which Feather files of version 2 are too."""

    def run() -> Iterator[pa.Table]:
        try:
            with pa.memory_map(str(origin.path)) as mapped, pa.ipc.open_file(mapped) as file:
                yield file.schema.empty_table()
                for k in range(file.num_record_batches):
                    yield pa.Table.from_batches([file.get_batch(k)])
        except (pa.ArrowException, OSError) as bad:
            raise KitchenError(f"{origin.name} is a damaged Arrow file: {bad}") from None

    return RowBlocks(run)


def arrow_stream(origin: FileSource) -> RowBlocks:
    """A stream of Arrow record batches in a file."""

    def run() -> Iterator[pa.Table]:
        try:
            with pa.memory_map(str(origin.path)) as mapped, pa.ipc.open_stream(mapped) as stream:
                yield stream.schema.empty_table()
                for batch in stream:
                    yield pa.Table.from_batches([batch])
        except (pa.ArrowException, OSError) as bad:
            raise KitchenError(f"{origin.name} is a damaged Arrow stream: {bad}") from None

    return RowBlocks(run)
