"""Measures what autolint costs, as a multiple of parsing the same files with LibCST.

``python -m tests.bench PATH...`` runs whole processes in turn (parse, autolint, other linters, then
parse again) and prints each one's CPU time divided by the parse's of the same round, as the median
over the rounds. Seconds differ from machine to machine and from minute to minute; ratios hardly do.
"""
