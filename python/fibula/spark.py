"""Lookups in Spark: every worker maps a snapshot, which Spark sends once.

```python
import fibula.spark

fibula.spark.add(spark, "table.fib")
origin = fibula.spark.udf("table.fib")
flows.withColumn("origin", origin("src")).groupBy("origin").sum("bytes")
```

Lookups need no routes: `Table.to_fib(path, routes=False)` writes less to send. Of several
snapshots, the first that has a route answers.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import SparkFiles
from pyspark.sql import functions
from pyspark.sql.types import StringType, StructField, StructType

import fibula

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    Errors = Literal["raise", "null"]

__all__ = ["add", "map_in_arrow", "udf"]

# A worker that outlives many jobs keeps no more snapshots mapped.
_OPENED = 16


def add(spark: SparkSession, *paths: str) -> None:
    """Send snapshots to every worker. They are named by their file names from then on."""
    for path in paths:
        spark.sparkContext.addFile(path)


@functools.lru_cache(maxsize=_OPENED)
def _opened(path: str) -> fibula.Table[str]:
    """Map a snapshot once a worker."""
    return fibula.open(path)


def _lookup(names: list[str], column: pa.Array, errors: Errors) -> pa.Array:
    answers = []
    for name in names:
        found = _opened(SparkFiles.get(name)).lookup(column, errors=errors)
        answers.append(found.dictionary_decode().cast(pa.string()))
    return pc.coalesce(*answers)


def _names(snapshots: tuple[str, ...]) -> list[str]:
    if not snapshots:
        message = "at least one snapshot is needed"
        raise TypeError(message)
    return [Path(snapshot).name for snapshot in snapshots]


def udf(*snapshots: str, errors: Errors = "null") -> Callable[..., Any]:
    """Return a column function: address to the value of the longest prefix that matches, as text.

    `snapshots` are the files that were given to `add`. Addresses are text, 4 or 16 bytes, or IPv4
    addresses as `LONG`. No route gives null, and so does what is no address, unless `errors` is
    "raise". `spark.udf.register("origin", ...)` makes it a function of SQL.
    """
    names = _names(snapshots)

    def answer(column: pa.Array) -> pa.Array:
        return _lookup(names, column, errors)

    # The types of PySpark do not know this function yet.
    arrow_udf: Any = functions.arrow_udf  # type: ignore[attr-defined, unused-ignore]
    made: Callable[..., Any] = arrow_udf(answer, "string")
    return made


def map_in_arrow(
    frame: DataFrame, column: str, into: str, *snapshots: str, errors: Errors = "null"
) -> DataFrame:
    """Return a frame with the values of the addresses in `column` as a new column `into`.

    It answers as `udf` does. All columns go through Python, so it is for what does more with a
    batch anyway.
    """
    names = _names(snapshots)

    def answer(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.append_column(into, _lookup(names, batch.column(column), errors))

    schema = StructType([*frame.schema.fields, StructField(into, StringType())])
    return frame.mapInArrow(answer, schema)
