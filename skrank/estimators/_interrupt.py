"""Ctrl-C ends a fit after its current iteration, in this process and in its workers."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from time import monotonic

# Seconds within which a second interrupt counts as a repetition of the first.
SECOND_INTERRUPT = 3.0
_last_interrupt = -float("inf")


class Stop:
    """A flag; with a path it is a file too, which other processes see."""

    def __init__(self, path: str | None = None):
        self._path = path
        self._is_set = False
        self.repeated = False

    def __call__(self) -> bool:
        """Whether to end."""
        return self._is_set or (self._path is not None and os.path.exists(self._path))

    def set(self) -> None:
        """Ask all who hold the flag to end."""
        self._is_set = True
        if self._path is not None:
            with open(self._path, "w"):
                pass


@contextmanager
def stop_on_interrupt(stop: Stop) -> Iterator[None]:
    """Let the first Ctrl-C set the flag instead of raising; the next one raises as usual.

    Signals reach the main thread alone, and a handler of the user's own is left in place: what
    it raises is caught where the work is done.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def handle(signal_number, frame):
        if stop():
            stop.repeated = True
            raise KeyboardInterrupt
        stop.set()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def interruptible(*, processes: bool) -> Iterator[Stop]:
    """A flag that Ctrl-C sets while a fit lasts, also for other ``processes`` if there are any.

    Two interrupts in short order are meant for more than this fit, such as the search that it is
    part of: the second is raised.
    """
    global _last_interrupt
    with tempfile.TemporaryDirectory(prefix="skrank-") if processes else nullcontext() as folder:
        stop = Stop(os.path.join(folder, "stop") if folder else None)
        with stop_on_interrupt(stop):
            yield stop
        if stop():
            before, _last_interrupt = _last_interrupt, monotonic()
            if stop.repeated or _last_interrupt - before < SECOND_INTERRUPT:
                raise KeyboardInterrupt
