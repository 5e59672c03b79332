"""Settings for all tests."""

import hashlib
import os
import tempfile
from pathlib import Path

from hypothesis import settings

SOURCE = Path(__file__).parent.parent / "skrank"


def kernel_cache() -> str:
    """A folder for compiled kernels that changes with any of their sources.

    numba looks for edits in the file of a kernel, but not in those it calls into.
    """
    digest = hashlib.sha256()
    for path in [SOURCE / "_jit.py", *sorted((SOURCE / "kernels").glob("*.py"))]:
        digest.update(path.read_bytes())
    return str(Path(tempfile.gettempdir()) / f"skrank-kernels-{digest.hexdigest()[:16]}")


os.environ.setdefault("NUMBA_CACHE_DIR", kernel_cache())

settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci")
