"""NPZ files: named arrays in an uncompressed zip as numpy's savez writes it, checked before reading, no pickles."""

from __future__ import annotations

import mmap
import os
import re
import struct
import zipfile
from collections.abc import Mapping
from math import prod
from typing import IO, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from hidiv.errors import HidivError, InvalidFile, refuse, shown

MEMBER_LIMIT = 10**5
MAPPED = 1 << 20  # bytes from which a member is mapped into memory instead of read, and its checksum not compared
ALIGNMENT = 64  # bytes, so that members can be memory-mapped
_PADDING = 0xD935  # the zip extra field that other tools use for alignment too
_HEADER = re.compile(rb"\{'descr': '([<|][fiuU]\d{1,7})', 'fortran_order': False, 'shape': \(([\d, ]{0,200})\), \} *\n")
# Raised by zipfile on bytes that are no zip, or one it cannot read.
_NO_ZIP = (zipfile.BadZipFile, RuntimeError, ValueError, LookupError, ArithmeticError, EOFError, struct.error)
_KINDS = {"<f8", "<i8", "|i1", "|u1"}


class Member(NamedTuple):
    """An array of the archive: its dtype and shape, and the offset of its numbers in the member."""

    info: zipfile.ZipInfo
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int


def read_arrays(file: IO[bytes]) -> dict[str, NDArray[Any]]:
    """The arrays of an NPZ file, read-only; every size and header is checked before any array is read.

    Large members are mapped into memory: they use it when they are read, and the system may free it again.
    """
    try:
        n_bytes = file.seek(0, os.SEEK_END)
        with zipfile.ZipFile(file) as archive:
            members = _members(archive, n_bytes)
            large = any(member.info.file_size >= MAPPED for member in members.values())
            whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if large and _is_on_disk(file) else None
            return {
                name: _array(archive, name, member)
                if whole is None or member.info.file_size < MAPPED
                else _mapped(whole, name, member)
                for name, member in members.items()
            }
    except (HidivError, OSError):
        raise
    except _NO_ZIP as error:
        refuse(InvalidFile, "archive", "is not an NPZ file written by hidiv", str(error) or type(error).__name__)


def write_arrays(file: IO[bytes], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write each array as a stored npy member, little-endian, its numbers on a 64-byte boundary of the file."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            data = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).reshape(array.shape)
            header = _header(data)
            info = zipfile.ZipInfo(f"{name}.npy")  # dated 1980: the same arrays give the same bytes
            info.file_size = len(header) + data.nbytes
            large = info.file_size * 1.05 > zipfile.ZIP64_LIMIT
            before = file.tell() + 30 + len(info.filename.encode()) + (20 if large else 0)
            info.extra = _extra(-before % ALIGNMENT)
            with archive.open(info, "w", force_zip64=large) as member:
                member.write(header)
                member.write(data.reshape(-1).view(np.uint8).data)


def _header(data: NDArray[Any]) -> bytes:
    """The npy header of version 1.0, padded to the alignment."""
    text = f"{{'descr': '{data.dtype.str}', 'fortran_order': False, 'shape': {data.shape}, }}".encode()
    text += b" " * (-(10 + len(text) + 1) % ALIGNMENT) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def _extra(padding: int) -> bytes:
    """A zip extra field of exactly `padding` bytes, four of them its own header."""
    padding += ALIGNMENT if 0 < padding < 4 else 0
    return struct.pack("<HH", _PADDING, padding - 4) + bytes(padding - 4) if padding else b""


def _members(archive: zipfile.ZipFile, n_bytes: int) -> dict[str, Member]:
    """The members of an archive by name, each checked."""
    infos = archive.infolist()
    if len(infos) > MEMBER_LIMIT:
        refuse(InvalidFile, "archive", f"may have {MEMBER_LIMIT} members", f"{len(infos)}")
    # Nothing is compressed, so members together cannot be larger than the file that holds them.
    if sum(info.file_size for info in infos) > n_bytes:
        refuse(InvalidFile, "archive", "its members claim to be larger than the file")
    members: dict[str, Member] = {}
    for info in infos:
        name = info.filename.removesuffix(".npy")
        if name == info.filename or name in members:
            refuse(InvalidFile, shown(info.filename), "is there twice" if name in members else "is not an npy member")
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1 or info.compress_size != info.file_size:
            refuse(InvalidFile, shown(name), "members must be stored as they are, neither compressed nor encrypted")
        members[name] = _checked(archive, name, info)
    return members


def _checked(archive: zipfile.ZipFile, name: str, info: zipfile.ZipInfo) -> Member:
    """A member whose header and size were checked."""
    with archive.open(info) as file:
        head = file.read(10)
        if len(head) < 10 or head[:8] != b"\x93NUMPY\x01\x00":
            _no_array(name)
        length = struct.unpack("<H", head[8:])[0]
        header = _HEADER.fullmatch(file.read(length))
    if header is None:
        _no_array(name)
    code = header.group(1).decode()
    if code not in _KINDS and not code.startswith("<U"):
        refuse(InvalidFile, shown(name), "must hold 64-bit floats, integers or text", code)
    dtype = np.dtype(code)
    shape = tuple(int(n) for n in header.group(2).decode().split(",") if n.strip())
    offset = 10 + length
    if dtype.itemsize == 0 or prod(shape) * dtype.itemsize != info.file_size - offset:
        refuse(InvalidFile, shown(name), f"its shape {shape} does not fit its {info.file_size - offset} bytes")
    return Member(info, dtype, shape, offset)


def _is_on_disk(file: IO[bytes]) -> bool:
    """Whether a file has a descriptor, which memory-mapping needs."""
    try:
        file.fileno()
    except OSError:
        return False
    return True


def _mapped(whole: mmap.mmap, name: str, member: Member) -> NDArray[Any]:
    """The array as a view of the mapped file, after the header of the zip member."""
    at = member.info.header_offset
    if whole[at : at + 4] != b"PK\x03\x04":
        _no_array(name)
    start = at + 30 + sum(struct.unpack("<HH", whole[at + 26 : at + 30])) + member.offset
    count = prod(member.shape)
    if start + count * member.dtype.itemsize > len(whole):
        refuse(InvalidFile, shown(name), "ends beyond the file")
    array = np.frombuffer(whole, member.dtype, count, start).reshape(member.shape)
    return _checked_text(name, array)


def _checked_text(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """The array itself, refused where it holds text beyond Unicode."""
    if array.dtype.kind == "U" and (np.frombuffer(array.tobytes(), "<u4") > 0x10FFFF).any():
        refuse(InvalidFile, shown(name), "holds what is not text")
    return array


def _array(archive: zipfile.ZipFile, name: str, member: Member) -> NDArray[Any]:
    """The array of a member, read into memory."""
    data = archive.read(member.info)  # zipfile compares the checksum
    return _checked_text(name, np.frombuffer(data, member.dtype, offset=member.offset).reshape(member.shape))


def _no_array(name: str) -> NoReturn:
    """Refuse a member that is no array."""
    refuse(InvalidFile, shown(name), "is not an array in npy format 1.0")
