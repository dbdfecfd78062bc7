"""Fuzzing: programs that are broken at random must neither stop the linter nor hold it up.

`python -m tests.fuzz --inputs 50000 --seed 1 [PATH...]` runs the long form, `tests/test_fuzz.py` a
short one.
"""
