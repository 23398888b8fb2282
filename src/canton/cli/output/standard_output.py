"""Ends a command with a plain message if standard output is closed or full, or its reader closed the pipe."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO, cast

import click

if TYPE_CHECKING:
    from collections.abc import Callable


class OutputFailed(click.ClickException):
    """The output could not be written, or only a part of it."""

    def __init__(self, error: OSError) -> None:
        what = (
            f"cannot write to standard output: {error.strerror}; the output is incomplete. "
            "If the command changes something, it has done so"
        )
        closed = "standard output is closed, so that nothing can be shown; leave out >&-, or write to a file"
        super().__init__(closed if error.errno == errno.EBADF else what)


class ReaderGone(click.ClickException):
    """The reader, such as head, closed the pipe; the command ends without a message."""

    exit_code = 141  # as a shell reports a process that SIGPIPE ended


class Output:
    """A text stream that raises its own exceptions. ``stream`` is None if standard output was closed."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def require_open(self) -> None:
        if self._stream is None:
            raise OutputFailed(OSError(errno.EBADF, ""))

    def write(self, text: str) -> int:
        # Click tries an empty text to learn what kind of stream it is, and swallows what that raises.
        if not text and isinstance(text, str):
            return 0
        return cast("int", self._try(lambda stream: stream.write(text)))

    def flush(self) -> None:
        if self._stream is not None:
            self._try(lambda stream: stream.flush())

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _try(self, act: Callable[[TextIO], object]) -> object:
        self.require_open()
        try:
            return act(cast("TextIO", self._stream))
        except BrokenPipeError as error:
            discard(self._stream)
            raise ReaderGone("") from error
        except OSError as error:
            discard(self._stream)
            raise OutputFailed(error) from error


def require_open() -> None:
    """Raise OutputFailed if standard output is closed: before a secret is made that is shown only once."""
    if isinstance(sys.stdout, Output):
        sys.stdout.require_open()


def discard(stream: TextIO | None) -> None:
    """Point the stream to /dev/null, since the interpreter would write its buffer once more when it exits."""
    with suppress(OSError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, cast("TextIO", stream).fileno())
        os.close(nowhere)


@contextmanager
def guarded_output() -> Iterator[None]:
    """Replace standard output by an ``Output``, and flush it at the end."""
    stream = sys.stdout
    sys.stdout = cast("TextIO", Output(stream))
    try:
        yield
        sys.stdout.flush()
    finally:
        sys.stdout = stream
