"""Flow logs in Parquet, with the origin AS and the prefix of each source, and bytes by origin.

    spark-submit spark_flows.py FLOWS OUT --origin ORIGIN.fib --prefix PREFIX.fib

FLOWS has the columns `src` (text) and `bytes`, and is partitioned by `day`. OUT/flows gets all
columns and `origin` and `prefix`, by the same days; OUT/by_origin the bytes and flows of each day
and origin, the most bytes first. On a cluster the package is installed on every worker.
"""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession, functions

import fibula
import fibula.spark


def snapshots(table: fibula.Table[str], stem: str) -> tuple[str, str]:
    """Write what the job takes: a snapshot of the values, and one of the prefixes."""
    origin, prefix = f"{stem}.origin.fib", f"{stem}.prefix.fib"
    table.to_fib(origin, routes=False)
    table.prefixes().to_fib(prefix, routes=False)
    return origin, prefix


def run(spark: SparkSession, flows: str, out: str, origin: str, prefix: str) -> None:
    """Enrich the flows, then aggregate what was written."""
    fibula.spark.add(spark, origin, prefix)
    of_origin, of_prefix = fibula.spark.udf(origin), fibula.spark.udf(prefix)
    enriched = spark.read.parquet(flows).withColumn("origin", of_origin("src"))
    enriched = enriched.withColumn("prefix", of_prefix("src"))
    enriched.write.mode("overwrite").partitionBy("day").parquet(f"{out}/flows")

    by_origin = spark.read.parquet(f"{out}/flows").groupBy("day", "origin")
    sums = by_origin.agg(functions.sum("bytes").alias("bytes"), functions.count("*").alias("flows"))
    ordered = sums.orderBy("day", functions.desc("bytes"))
    ordered.write.mode("overwrite").parquet(f"{out}/by_origin")


def main() -> None:
    """Run the job as a program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("flows")
    parser.add_argument("out")
    parser.add_argument("--origin", required=True, metavar="SNAPSHOT")
    parser.add_argument("--prefix", required=True, metavar="SNAPSHOT")
    arguments = parser.parse_args()
    spark = SparkSession.builder.appName("flows").getOrCreate()
    run(spark, arguments.flows, arguments.out, arguments.origin, arguments.prefix)
    spark.stop()


if __name__ == "__main__":
    main()
