"""`python -m fibula.bench TABLE...`: this package beside others, on the same addresses.

Each contender runs in a process of its own, on one thread, and reports CPU time. Its answers are
compared with those of a dictionary per prefix length before a speed is printed.

`--copies ROWS` copies flows in Parquet instead, plain and with the answers for their sources, in
DuckDB, Polars, Spark and by `fibula enrich`, on one thread too: the CPU time of all processes of
each, and the greatest memory of one.
"""

ONE_THREAD = dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
"""What the environment of a process tells libraries that would take several threads."""
