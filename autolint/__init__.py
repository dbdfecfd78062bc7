"""A linter that executes PyTorch code symbolically on a model of the autograd engine.

Linting never imports torch and never runs, imports or writes the code that it reads.
"""

__version__ = "0.1.0"
