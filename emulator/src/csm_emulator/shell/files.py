"""The file system of a shell: fixed files, and the files that scripts have written."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, MutableMapping

Text = str | Callable[[], str]
"""The content of a file, or a function that returns it when the file is read."""
MOST_FILES, LONGEST_FILE = 200, 64 << 10
"""The number of files that scripts may write in one container, and the characters of one file."""
_LONGEST_NAME, _LONGEST_PATH = 255, 4096
"""The limits of Linux."""
_CHUNK = 4096
EMPTY_FOLDER_MARK = ".folder"
"""A file of this name stands for an empty folder."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/full")


class FileProblem(Exception):
    """A file operation failed; the message is the kernel's, such as "No such file or directory"."""


NO_FILE, IS_FOLDER, NOT_FOLDER = "No such file or directory", "Is a directory", "Not a directory"
READ_ONLY, NO_SPACE = "Read-only file system", "No space left on device"


class Files:
    """Files by path. The owner of the shell stores ``written``; without it the file system is read-only."""

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
        """The text in pieces; some devices never end. Raises ``FileProblem``."""
        if path in ("/dev/zero", "/dev/full"):
            return _endless("\0" * _CHUNK)
        if path == "/dev/urandom":
            return _endless("".join(chr(33 + number * 37 % 94) for number in range(_CHUNK)))
        if path == "/dev/null":
            return iter(())
        if self.is_folder(path):
            raise FileProblem(IS_FOLDER)
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
            folder.startswith(start) or folder == path for folder in (*self._folders, *_parents(self._paths()))
        )

    def entries(self, folder: str) -> list[str]:
        """The sorted names in a folder; raises ``FileProblem``."""
        if not self.is_folder(folder):
            raise FileProblem(NOT_FOLDER if self.is_file(folder) else NO_FILE)
        start = folder.rstrip("/") + "/"
        inside = (path for path in (*self._folders, *self._paths()) if path.startswith(start))
        return sorted({path[len(start) :].split("/")[0] for path in inside} - {"", EMPTY_FOLDER_MARK})

    def write(self, path: str, text: str, *, append: bool = False) -> None:
        """Write or append to a file; raises ``FileProblem``."""
        if path == "/dev/full" and text:
            raise FileProblem(NO_SPACE)
        if path in DEVICES:
            return
        if self.is_folder(path):
            raise FileProblem(IS_FOLDER)
        if not self.is_folder(posixpath.dirname(path)):
            raise FileProblem(NO_FILE)
        self._store(path, ("".join(self.read(path)) if append and self.is_file(path) else "") + text)

    def make_folder(self, path: str) -> None:
        """Create a folder, stored as a file in it that no list shows; raises ``FileProblem``."""
        if self.exists(path):
            raise FileProblem("File exists")
        if not self.is_folder(posixpath.dirname(path)):
            raise FileProblem(NO_FILE)
        self._store(f"{path}/{EMPTY_FOLDER_MARK}", "")

    def _store(self, path: str, text: str) -> None:
        if len(path) > _LONGEST_PATH or any(len(name) > _LONGEST_NAME for name in path.split("/")):
            raise FileProblem("File name too long")
        if self._written is None:
            raise FileProblem(READ_ONLY)
        if len(text) > LONGEST_FILE or (path not in self._written and len(self._written) >= MOST_FILES):
            raise FileProblem(NO_SPACE)
        self._written[path] = text

    def remove(self, path: str) -> None:
        """Delete a file that a script has written; raises ``FileProblem``."""
        if self.is_folder(path):
            raise FileProblem(IS_FOLDER)
        if self._written is None or path not in self._written:
            raise FileProblem(READ_ONLY if self.is_file(path) else NO_FILE)
        del self._written[path]

    def remove_folder(self, path: str) -> None:
        """Delete a folder and all files in it; raises ``FileProblem`` when one of them is fixed."""
        start = path.rstrip("/") + "/"
        inside = [inner for inner in self._paths() if inner.startswith(start)]
        if self._written is None or any(inner not in self._written for inner in inside):
            raise FileProblem(READ_ONLY)
        if any(f"{folder}/".startswith(start) for folder in self._folders):
            raise FileProblem(READ_ONLY)
        for inner in inside:
            del self._written[inner]


def _parents(paths: Iterator[str]) -> Iterator[str]:
    return (posixpath.dirname(path) for path in paths)


def _endless(piece: str) -> Iterator[str]:
    while True:
        yield piece
