"""`python -m fibula.bench TABLE...`: this package beside others, on the same addresses.

Each contender runs in a process of its own, on one thread, and reports CPU time. Its answers are
compared with those of a dictionary per prefix length before a speed is printed.
"""
