"""`python -m fibula.bench TABLE...`: this package beside others, on the same addresses.

Each contender runs in a process of its own, on one thread, and reports CPU time. Its answers are
compared with those of a dictionary per prefix length before a speed is printed.

`--copies ROWS` copies flows in Parquet instead, plain and with the answers for their sources, in
DuckDB, Polars, Spark and by `fibula enrich`: the CPU time of all processes of each.
"""
