"""Reading and writing bytes: sizes are checked before reading, files are replaced whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import IO

from hidiv.errors import InvalidFile, refuse, shown

Path = str | os.PathLike[str]

READ_LIMIT = 2**30  # bytes of a text file


def checked_path(path: object) -> str:
    """The path as text."""
    try:
        text = os.fspath(path)  # type: ignore[call-overload]
    except TypeError:
        refuse(InvalidFile, "path", "must be a file's path", type(path).__name__)
    if not isinstance(text, str) or "\0" in text or not text:
        refuse(InvalidFile, "path", "must be a file's path", repr(text))
    return text


@contextmanager
def opened(path: str) -> Iterator[BufferedReader]:
    """The file open for reading; errors of the system become an InvalidFile of one sentence."""
    try:
        with open(path, "rb") as file:
            yield file
    except OSError as error:
        refuse(InvalidFile, shown(path), f"cannot be read, {_reason(error)}")


def read_limited(file: IO[bytes], path: str) -> bytes:
    """All bytes of a file, refused where they are more than READ_LIMIT, if possible before reading."""
    status = os.fstat(file.fileno())
    if stat.S_ISREG(status.st_mode) and status.st_size > READ_LIMIT:
        refuse(InvalidFile, shown(path), f"a file may have {READ_LIMIT} bytes", f"{status.st_size}")
    data = file.read(READ_LIMIT + 1)
    if len(data) > READ_LIMIT:
        refuse(InvalidFile, shown(path), f"a file may have {READ_LIMIT} bytes", "more")
    return data


def check_target(path: str) -> None:
    """Refuse a path that cannot be written; to be called before long work whose result goes there."""
    target = os.path.realpath(checked_path(path))
    folder = os.path.dirname(target)
    if os.path.isdir(target):
        refuse(InvalidFile, shown(path), "cannot be written, is a directory")
    if not os.path.isdir(folder):
        refuse(InvalidFile, shown(path), "cannot be written, there is no such folder")
    if not os.access(folder, os.W_OK):
        refuse(InvalidFile, shown(path), "cannot be written, permission denied")


def replace_file(path: str, write: Callable[[IO[bytes]], None]) -> None:
    """Write a new file in the same folder, then rename it: readers see the old file or the new one, never a part."""
    target = os.path.realpath(path)
    temporary = f"{target}.{os.urandom(6).hex()}.part"
    try:
        mode = os.stat(target).st_mode if os.path.exists(target) else None
        if mode is not None and not stat.S_ISREG(mode):
            refuse(InvalidFile, shown(path), "is not a file that can be replaced")
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        try:
            with os.fdopen(file, "wb") as out:
                write(out)
                out.flush()
                os.fsync(out.fileno())
            if mode is not None:
                os.chmod(temporary, stat.S_IMODE(mode))
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        refuse(InvalidFile, shown(path), f"cannot be written, {_reason(error)}")


def write_text(path: str, text: str) -> None:
    """Replace a file by text in UTF-8."""

    def write(out: IO[bytes]) -> None:
        out.write(text.encode("utf-8", "backslashreplace"))  # a name may hold half a surrogate pair

    replace_file(path, write)


def _reason(error: OSError) -> str:
    """The system's reason for an error, in lower case."""
    reason = error.strerror or type(error).__name__
    return reason[:1].lower() + reason[1:]
