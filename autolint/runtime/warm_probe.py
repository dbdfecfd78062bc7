"""Imported once by the fork server of a probe, beside `warm`: samples take long to import."""

import contextlib

with contextlib.suppress(Exception):
    import torch

    # Where there is CUDA, this import starts it: each child imports for itself, with CUDA hidden.
    if not torch.cuda.is_available():
        import torch.testing._internal.common_methods_invocations
        import torch.testing._internal.common_modules
