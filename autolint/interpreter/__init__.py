"""The interpreter: source in, events out.

`roots.analyse` runs a file's module body and the functions in which a trigger name of a subscribed
event occurs, follows the calls it can see, and hands every event to a sink. Importing this package
imports nothing else: the project index works without LibCST.
"""
