"""Lookups in Spark: every worker maps a snapshot, which Spark sends once.

```python
import fibula.spark

fibula.spark.add(spark, "table.fib")
origin = fibula.spark.udf("table.fib")
flows.withColumn("origin", origin("src")).groupBy("origin").sum("bytes")
```

Lookups need no routes: `Table.to_fib(path, routes=False)` writes less to send. Of several
snapshots, the first that has a route answers. Values of several fields are a struct with
`type="struct<country:string,asn:bigint>"`, and else their JSON.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import SparkFiles
from pyspark.sql import functions
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, StructField, StructType

import fibula
from fibula._columns import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from fibula._columns import How

    Errors = Literal["raise", "null"]

__all__ = ["add", "map_in_arrow", "udf"]

# A worker that outlives many jobs keeps no more snapshots mapped.
_OPENED = 16


def add(spark: SparkSession, *paths: str) -> None:
    """Send snapshots to every worker. They are named by their file names from then on."""
    for path in paths:
        spark.sparkContext.addFile(path)


@functools.lru_cache(maxsize=_OPENED)
def _opened(path: str, is_text: bool) -> fibula.Table[Any]:  # noqa: FBT001
    """Map a snapshot once a worker. As text, values of several fields are their JSON."""
    return fibula.open(path, convert=str if is_text else None)


def _lookup(names: list[str], column: pa.Array, type: pa.DataType, how: How) -> pa.Array:
    answers = []
    for name in names:
        table = _opened(SparkFiles.get(name), pa.types.is_string(type))
        answers.append(plain(table, column, type, how))
    return pc.coalesce(*answers)


def _names(snapshots: tuple[str, ...]) -> list[str]:
    if not snapshots:
        message = "at least one snapshot is needed"
        raise TypeError(message)
    return [Path(snapshot).name for snapshot in snapshots]


def udf(
    *snapshots: str,
    errors: Errors = "null",
    type: str = "string",
    unmap: bool | str | None = None,
    clean: bool = False,
) -> Callable[..., Any]:
    """Return a column function: address to the value of the longest prefix that matches.

    `snapshots` are the files that were given to `add`. Addresses are text, 4 or 16 bytes, or IPv4
    addresses as `LONG`. No route gives null, and so does what is no address, unless `errors` is
    "raise"; `unmap` and `clean` are as in `Table.lookup`. `type` is that of the values, as Spark
    writes it: text, or a struct of their fields.
    `spark.udf.register("origin", ...)` makes it a function of SQL.
    """
    names, arrow = _names(snapshots), to_arrow_type(DataType.fromDDL(type))
    how = {"errors": errors, "unmap": unmap, "clean": clean}

    def answer(column: pa.Array) -> pa.Array:
        return _lookup(names, column, arrow, how)

    # The types of PySpark do not know this function yet.
    arrow_udf: Any = functions.arrow_udf  # type: ignore[attr-defined, unused-ignore]
    made: Callable[..., Any] = arrow_udf(answer, type)
    return made


def map_in_arrow(
    frame: DataFrame,
    column: str,
    into: str,
    *snapshots: str,
    errors: Errors = "null",
    type: str = "string",
    unmap: bool | str | None = None,
    clean: bool = False,
) -> DataFrame:
    """Return a frame with the values of the addresses in `column` as a new column `into`.

    It answers as `udf` does. All columns go through Python, so it is for what does more with a
    batch anyway.
    """
    names, spark_type = _names(snapshots), DataType.fromDDL(type)
    arrow = to_arrow_type(spark_type)
    how = {"errors": errors, "unmap": unmap, "clean": clean}

    def answer(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.append_column(into, _lookup(names, batch.column(column), arrow, how))

    schema = StructType([*frame.schema.fields, StructField(into, spark_type)])
    return frame.mapInArrow(answer, schema)
