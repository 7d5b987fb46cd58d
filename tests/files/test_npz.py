"""NPZ files: numpy reads ours, members can be mapped where they lie, and bytes of any kind give one sentence."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hidiv as hd
from hidiv.errors import InvalidFile
from hidiv.files.npz import read_arrays, write_arrays
from tests.files.examples import models
from tests.files.test_json_fuzz import FUZZ
from tests.refusals import found_or_refused

ARRAYS = {
    "floats": np.array([[0.1, -0.0], [5e-324, 1e308]]),
    "whole": np.array(7, dtype=np.int64),
    "flags": np.array([1, 0, 1], dtype=np.uint8),
    "texts": np.array(["a", "", "été\U0001f600"]),
    "wide.name.with.dots": np.arange(24.0).reshape(2, 3, 4),
}


def written(arrays: dict[str, np.ndarray]) -> bytes:
    out = io.BytesIO()
    write_arrays(out, arrays)
    return out.getvalue()


STACKED = hd.Collection([models()["groups"], models()["groups"]]).to_arrays()
COLLECTION = written(STACKED)
NAMES = ["other", "emission.0.poisson.rate", "emission.9.x", "end", "name", "emission.", "emission.0.product.0.beta.a"]
FUZZ = settings(FUZZ, max_examples=100)


def test_arrays_come_back_and_numpy_reads_them_too() -> None:
    data = written(ARRAYS)
    assert data == written(ARRAYS)
    with np.load(io.BytesIO(data), allow_pickle=False) as by_numpy:
        for key, array in read_arrays(io.BytesIO(data)).items():
            for other in (ARRAYS[key], by_numpy[key]):
                assert (array.dtype, array.shape, array.tobytes()) == (other.dtype, other.shape, other.tobytes())
            assert not array.flags.writeable


def test_members_lie_where_they_can_be_mapped(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(written(ARRAYS))
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            assert info.compress_type == zipfile.ZIP_STORED
            raw = path.read_bytes()
            name, extra = struct.unpack_from("<HH", raw, info.header_offset + 26)
            start = info.header_offset + 30 + name + extra
            array = ARRAYS[info.filename.removesuffix(".npy")]
            first = start + info.file_size - array.nbytes
            assert first % 64 == 0
            mapped = np.memmap(path, array.dtype, "r", first, array.shape)
            assert mapped.tobytes() == array.tobytes()


def saved_by_numpy(save: Callable[..., None], **arrays: np.ndarray) -> bytes:
    out = io.BytesIO()
    save(out, **arrays)
    return out.getvalue()


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def zipped(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (saved_by_numpy(np.savez, a=np.array([{}], dtype=object)), "a: is not an array in npy format 1.0"),
        (saved_by_numpy(np.savez, a=np.array([1j])), "a: is not an array in npy format 1.0"),
        (saved_by_numpy(np.savez, a=np.asfortranarray(np.ones((2, 2)))), "a: is not an array in npy format 1.0"),
        (saved_by_numpy(np.savez, a=np.ones(2, np.float32)), "a: must hold 64-bit floats, integers or text, got <f4"),
        (saved_by_numpy(np.savez_compressed, a=np.ones(2)), "a: members must be stored as they are"),
        (zipped(a=b"hello"), "a: is not an array in npy format 1.0"),
        (zipped(a=npy(np.ones(3)).replace(b"(3,)", b"(4,)")), "a: its shape (4,) does not fit its 24 bytes"),
        (zipped(a=npy(np.ones(3)).replace(b"(3,), }    ", b"(99999,), }")), "a: its shape (99999,) does not"),
        (zipped(a=npy(np.ones(3))[:-1]), "a: its shape (3,) does not fit its 23 bytes"),
        (zipped(a=npy(np.ones(3)).replace(b"<f8", b"|O8")), "a: is not an array in npy format 1.0"),
        (written({"a": np.ones(3)}).replace(b"a.npy", b"a.npx"), "a.npx: is not an npy member"),
        (written({"a": np.ones(3), "b": np.ones(3)}).replace(b"b.npy", b"a.npy"), "a.npy: is there twice"),
        (written({"a": np.array(["xyz"])}).replace(b"x\0\0\0", b"\xff\xff\xff\xff"), "archive: is not an NPZ file"),
        (b"PK", "archive: is not an NPZ file written by hidiv"),
    ],
)  # fmt: skip
def test_archives_refused(data: bytes, sentence: str) -> None:
    with pytest.raises(InvalidFile) as caught:
        read_arrays(io.BytesIO(data))
    assert str(caught.value).startswith(sentence)


def test_text_beyond_unicode_is_refused() -> None:
    with pytest.raises(InvalidFile, match="a: holds what is not text"):
        read_arrays(io.BytesIO(written({"a": np.array([0x110000], dtype="<u4").view("<U1")})))


def test_a_file_cannot_claim_more_than_it_is() -> None:
    data = bytearray(written({"a": np.ones(3)}))
    central = data.rindex(b"PK\x01\x02")
    for field in (20, 24):  # compressed and plain size in the central directory
        data[central + field : central + field + 4] = (2**31).to_bytes(4, "little")
    with pytest.raises(InvalidFile, match="archive: its members claim to be larger than the file"):
        read_arrays(io.BytesIO(bytes(data)))


@FUZZ
@given(st.data())
def test_changed_bytes_give_a_collection_or_one_sentence(data: st.DataObject) -> None:
    found = bytearray(COLLECTION)
    heads = [i for i in range(len(found)) if found[i : i + 2] == b"PK" or found[i : i + 6] == b"\x93NUMPY"]
    for _ in range(data.draw(st.integers(1, 4))):
        near = data.draw(st.sampled_from([*heads, 0]))  # most of the file is padding: aim at the headers
        at = min(len(found) - 1, near + data.draw(st.integers(0, 130)))
        found[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    check(bytes(found[: data.draw(st.integers(0, len(found)))] if data.draw(st.integers(0, 9)) == 0 else found))


@FUZZ
@given(st.data())
def test_changed_arrays_give_a_collection_or_one_sentence(data: st.DataObject) -> None:
    arrays = dict(STACKED)
    for _ in range(data.draw(st.integers(1, 2))):
        key = data.draw(st.sampled_from(list(arrays)))
        array = arrays.pop(key)
        action = data.draw(st.sampled_from(["drop", "rename", "number", "shape", "kind", "swap"]))
        if action == "rename":
            arrays[data.draw(st.sampled_from(NAMES))] = array
        elif action == "number" and array.size:
            flat = array.copy().reshape(-1)
            numbers = [np.nan, np.inf, -1.0, 0.0, 0.5, 1e308] if array.dtype.kind == "f" else [0, 1, 2, 5]
            flat[data.draw(st.integers(0, array.size - 1))] = data.draw(st.sampled_from(numbers))
            arrays[key] = flat.reshape(array.shape)
        elif action == "shape":
            arrays[key] = data.draw(st.sampled_from([array[None], array.reshape(-1), array[..., None], array.T]))
        elif action == "kind":
            kind = data.draw(st.sampled_from([np.int64, np.float64, np.uint8, "<U3"]))
            arrays[key] = np.ones(array.shape, dtype=kind)
        elif action == "swap":
            arrays[key] = data.draw(st.sampled_from(list(arrays.values())))
    check(written(arrays))


def check(data: bytes) -> None:
    found = found_or_refused(lambda: hd.Collection.from_arrays(read_arrays(io.BytesIO(data))))
    assert found is None or found == hd.Collection(list(found))
