"""Fuzzing: programs that are broken or made at random, and other people's files, must neither stop
the linter nor hold it up.

`python -m tests.fuzz --inputs 50000 --seed 1 [PATH...]` breaks programs, `--form grown` makes them,
`--form whole PATH...` takes files as they are. `tests/test_fuzz.py` runs a short form.
"""
