"""Flow logs in Parquet, with the origin AS and the prefix of each source, and bytes by origin.

    spark-submit spark_flows.py FLOWS OUT --origin IPV4.fib IPV6.fib --prefix IPV4.fib IPV6.fib

FLOWS has the columns `src` (text) and `bytes`, and is partitioned by `day`. OUT/flows gets all
columns and `origin` and `prefix`, by the same days; OUT/by_origin the bytes and flows of each day
and origin, the most bytes first. On a cluster the package is installed on every worker.
"""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession, functions

import fibula
import fibula.spark


def snapshots(table: fibula.Table[str], stem: str) -> tuple[list[str], list[str]]:
    """Write what the job takes: snapshots of the values, and of the prefixes, of each family."""
    origins, prefixes = [], []
    of_prefixes = table.prefixes()
    for family in (4, 6):
        origins.append(f"{stem}.origin{family}.fib")
        table.to_fib(origins[-1], family=family, routes=False)
        prefixes.append(f"{stem}.prefix{family}.fib")
        of_prefixes.to_fib(prefixes[-1], family=family, routes=False)
    return origins, prefixes


def run(spark: SparkSession, flows: str, out: str, origins: list[str], prefixes: list[str]) -> None:
    """Enrich the flows, then aggregate what was written."""
    fibula.spark.add(spark, *origins, *prefixes)
    origin, prefix = fibula.spark.udf(*origins), fibula.spark.udf(*prefixes)
    enriched = spark.read.parquet(flows)
    enriched = enriched.withColumn("origin", origin("src")).withColumn("prefix", prefix("src"))
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
    parser.add_argument("--origin", nargs="+", required=True, metavar="SNAPSHOT")
    parser.add_argument("--prefix", nargs="+", required=True, metavar="SNAPSHOT")
    arguments = parser.parse_args()
    spark = SparkSession.builder.appName("flows").getOrCreate()
    run(spark, arguments.flows, arguments.out, arguments.origin, arguments.prefix)
    spark.stop()


if __name__ == "__main__":
    main()
