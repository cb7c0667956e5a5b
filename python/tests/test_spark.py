"""Spark for real: a driver and two executors, each a process of its own, on this machine.

driver ──addFile(.fib)──▶ executor 0: Python workers, each maps the snapshots once
   └────────────────────▶ executor 1: the same
"""

import importlib.util
import ipaddress
import os
import random
import shutil
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

import fibula

if shutil.which("java") is None:
    pytest.skip("Spark needs Java", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore")  # those of pandas and PySpark about each other

DAYS = ("2026-05-10", "2026-05-11")
ROWS = 20_000


def job():
    path = Path(__file__).parents[1] / "examples" / "spark_flows.py"
    spec = importlib.util.spec_from_file_location("spark_flows", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    # For seconds of work, the quickest compiler and the simplest collector of garbage.
    os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["SPARK_WORKER_DIR"] = str(tmp_path_factory.mktemp("workers"))
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    options = {
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.ui.enabled": "false",
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def table():
    generator = random.Random(5)
    routes = {"0.0.0.0/0": "AS1", "10.0.0.0/8": "AS2"}
    for number in range(2000):
        ipv4 = ipaddress.ip_network((generator.getrandbits(32), 20), strict=False)
        ipv6 = ipaddress.ip_network(
            (0x2A << 120 | generator.getrandbits(112) << 8, 40), strict=False
        )
        routes[str(ipv4)], routes[str(ipv6)] = f"AS{number + 3}", f"AS{number % 50}"
    return fibula.Table(routes)


def addresses(table):
    generator = random.Random(6)
    prefixes = list(table.routes)
    for _ in range(ROWS):
        network = ipaddress.ip_network(generator.choice(prefixes))
        yield str(network[generator.randrange(network.num_addresses)])


def test_the_job(spark, table, tmp_path):
    src = list(addresses(table))
    src[7], src[8] = None, "nobody"
    days = [DAYS[row % 2] for row in range(ROWS)]
    flows = pa.table({"src": src, "bytes": range(ROWS), "day": days})
    pa.parquet.write_to_dataset(flows, tmp_path / "in", partition_cols=["day"])
    module = job()
    origin, prefix = module.snapshots(table, str(tmp_path / "table"))
    module.run(spark, str(tmp_path / "in"), str(tmp_path / "out"), origin, prefix)

    executors = spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    assert len(list(executors)) == 1 + 2, "the driver and two executors"
    enriched = pa.dataset.dataset(tmp_path / "out" / "flows", partitioning="hive").to_table()
    found = {row["bytes"]: row for row in enriched.to_pylist()}
    assert len(found) == ROWS
    for row, address in enumerate(src):
        match = None if row in (7, 8) else table.match(address)
        assert (found[row]["prefix"], found[row]["origin"]) == (match or (None, None))
    sums = {}
    for row in found.values():
        key = (str(row["day"]), row["origin"])
        count, total = sums.get(key, (0, 0))
        sums[key] = (count + 1, total + row["bytes"])
    by_origin = pa.parquet.read_table(tmp_path / "out" / "by_origin").to_pylist()
    assert {(str(r["day"]), r["origin"]): (r["flows"], r["bytes"]) for r in by_origin} == sums


def test_sql_bytes_integers_and_errors(spark, table, tmp_path):
    from pyspark.errors import PySparkException

    import fibula.spark

    path = str(tmp_path / "ipv4.fib")
    table.to_fib(path, family=4, routes=False)
    fibula.spark.add(spark, path)
    spark.udf.register("origin", fibula.spark.udf(path))
    row = spark.sql("SELECT origin('10.1.2.3'), origin(x'0a010203'), origin(167838211L)").first()
    assert list(row) == [table["10.1.2.3"]] * 3
    frame = spark.createDataFrame([("10.1.2.3", 1), ("nobody", 2), (None, 3)], "src string, n int")
    mapped = fibula.spark.map_in_arrow(frame, "src", "origin", path)
    assert {r.n: r.origin for r in mapped.collect()} == {1: table["10.1.2.3"], 2: None, 3: None}
    strict = fibula.spark.udf(path, errors="raise")
    with pytest.raises(PySparkException, match='"nobody" is not an IPv4 or IPv6 address'):
        frame.select(strict("src")).collect()
    with pytest.raises(TypeError, match="at least one snapshot"):
        fibula.spark.udf()


def test_values_of_several_fields_are_structs(spark, tmp_path):
    import fibula.spark

    table = fibula.read(b"network,country,asn\n10.0.0.0/8,BE,64500\n2001:db8::/32,,64501\n")
    table.to_fib(tmp_path / "fields.fib", routes=False)
    fibula.spark.add(spark, str(tmp_path / "fields.fib"))
    flows = spark.createDataFrame([("10.1.2.3",), ("2001:db8::1",), ("192.0.2.1",)], ["src"])
    geo = fibula.spark.udf("fields.fib", type="struct<country:string,asn:bigint>")
    rows = flows.select(geo("src").alias("geo")).select("geo.country", "geo.asn").collect()
    assert [tuple(row) for row in rows] == [("BE", 64500), (None, 64501), (None, None)]
    text = flows.select(fibula.spark.udf("fields.fib")("src").alias("geo")).collect()
    assert text[0].geo == '{"country":"BE","asn":64500}'
    mapped = fibula.spark.map_in_arrow(
        flows, "src", "geo", "fields.fib", type="struct<asn:bigint,country:string>"
    )
    assert mapped.collect()[1].geo.asn == 64501
