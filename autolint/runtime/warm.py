"""Imported once by the fork server, so that its children find there what takes long to import.

Nothing here may touch a device: a fork does not survive that. A torch that cannot be imported must
not end the server: the children say what is wrong with it.
"""

import contextlib
import os

# Should an import ask whether there is CUDA, then the driver is asked, and CUDA is not started.
os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")

with contextlib.suppress(Exception):
    # Every optimizer imports it when it is built, for two seconds.
    import torch._dynamo  # noqa: F401

    import autolint.runtime.worker  # noqa: F401
