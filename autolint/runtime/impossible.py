"""What stops a verification before it begins."""

INSTALL = "pip install torch"


class Impossible(Exception):
    """Nothing can be verified: one line that says why, and what to do."""
