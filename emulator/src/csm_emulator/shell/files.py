"""The file system that a shell sees: what is there from the beginning, and what was written since."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, MutableMapping

Text = str | Callable[[], str]
"""What is in a file, or what gives it when it is read."""
MOST_FILES, LONGEST_FILE = 200, 64 << 10
"""That scripts write in one container."""
_LONGEST_NAME, _LONGEST_PATH = 255, 4096
"""As Linux has them."""
_CHUNK = 4096
MARK = ".folder"
"""A file of this name stands for an empty folder."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/full")


class FileProblem(Exception):
    """As the kernel says it: "No such file or directory"."""


NO_FILE, A_FOLDER, NO_FOLDER = "No such file or directory", "Is a directory", "Not a directory"
READ_ONLY, NO_SPACE = "Read-only file system", "No space left on device"


class Files:
    """``written`` is kept by the owner of the shell; without it nothing can be written."""

    def __init__(
        self,
        fixed: Mapping[str, Text],
        folders: tuple[str, ...] = (),
        written: MutableMapping[str, str] | None = None,
    ) -> None:
        self._fixed = fixed
        self._folders = folders
        self._written = written

    def _paths(self) -> Iterator[str]:
        yield from self._fixed
        yield from self._written or ()
        yield from DEVICES

    def read(self, path: str) -> Iterator[str]:
        """The text in pieces, of which some devices have no end; raises ``FileProblem``."""
        if path in ("/dev/zero", "/dev/full"):
            return _endless("\0" * _CHUNK)
        if path == "/dev/urandom":
            return _endless("".join(chr(33 + number * 37 % 94) for number in range(_CHUNK)))
        if path == "/dev/null":
            return iter(())
        if self.is_folder(path):
            raise FileProblem(A_FOLDER)
        text = (self._written or {}).get(path, self._fixed.get(path))
        if text is None:
            raise FileProblem(NO_FILE)
        return iter([text if isinstance(text, str) else text()])

    def size(self, path: str) -> int:
        return 0 if path in DEVICES else sum(map(len, self.read(path)))

    def exists(self, path: str) -> bool:
        return self.is_file(path) or self.is_folder(path)

    def is_file(self, path: str) -> bool:
        return path in self._fixed or path in (self._written or {}) or path in DEVICES

    def is_folder(self, path: str) -> bool:
        start = path.rstrip("/") + "/"
        return path == "/" or any(
            one.startswith(start) or one == path for one in (*self._folders, *_parents(self._paths()))
        )

    def entries(self, folder: str) -> list[str]:
        """Names in it, in order; raises ``FileProblem``."""
        if not self.is_folder(folder):
            raise FileProblem(NO_FOLDER if self.is_file(folder) else NO_FILE)
        start = folder.rstrip("/") + "/"
        inside = (path for path in (*self._folders, *self._paths()) if path.startswith(start))
        return sorted({path[len(start) :].split("/")[0] for path in inside} - {"", MARK})

    def write(self, path: str, text: str, *, append: bool = False) -> None:
        """Raises ``FileProblem``."""
        if path == "/dev/full" and text:
            raise FileProblem(NO_SPACE)
        if path in DEVICES:
            return
        if self.is_folder(path):
            raise FileProblem(A_FOLDER)
        if not self.is_folder(posixpath.dirname(path)):
            raise FileProblem(NO_FILE)
        self._keep(path, ("".join(self.read(path)) if append and self.is_file(path) else "") + text)

    def make_folder(self, path: str) -> None:
        """An empty folder is kept as a file in it that no list shows; raises ``FileProblem``."""
        if self.exists(path):
            raise FileProblem("File exists")
        if not self.is_folder(posixpath.dirname(path)):
            raise FileProblem(NO_FILE)
        self._keep(f"{path}/{MARK}", "")

    def _keep(self, path: str, text: str) -> None:
        if len(path) > _LONGEST_PATH or any(len(name) > _LONGEST_NAME for name in path.split("/")):
            raise FileProblem("File name too long")
        if self._written is None:
            raise FileProblem(READ_ONLY)
        if len(text) > LONGEST_FILE or (path not in self._written and len(self._written) >= MOST_FILES):
            raise FileProblem(NO_SPACE)
        self._written[path] = text

    def remove(self, path: str) -> None:
        """Raises ``FileProblem``."""
        if self.is_folder(path):
            raise FileProblem(A_FOLDER)
        if self._written is None or path not in self._written:
            raise FileProblem(READ_ONLY if self.is_file(path) else NO_FILE)
        del self._written[path]

    def remove_folder(self, path: str) -> None:
        """With all that is in it; raises ``FileProblem`` when something of that was there from the beginning."""
        start = path.rstrip("/") + "/"
        inside = [one for one in self._paths() if one.startswith(start)]
        if self._written is None or any(one not in self._written for one in inside):
            raise FileProblem(READ_ONLY)
        if any(f"{one}/".startswith(start) for one in self._folders):
            raise FileProblem(READ_ONLY)
        for one in inside:
            del self._written[one]


def _parents(paths: Iterator[str]) -> Iterator[str]:
    return (posixpath.dirname(path) for path in paths)


def _endless(piece: str) -> Iterator[str]:
    while True:
        yield piece
