import json
import pickle
import zipfile

import numpy as np
import pytest
import safetensors.numpy

from coterie.errors import InputError
from coterie.store import SCHEMA, atomic_path, read_archive, versions, write_archive


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "model.coterie"
    write_archive(
        path,
        {"kind": "model", "x": [1, None, "é"]},
        {"a": np.arange(6).reshape(2, 3), "b": np.float32(2) * np.ones(())},
    )
    return path


def test_what_is_written_is_read_back(archive):
    manifest, tensors = read_archive(archive)
    assert manifest["x"] == [1, None, "é"]
    assert manifest["schema"] == SCHEMA
    assert manifest["versions"] == versions()
    np.testing.assert_array_equal(tensors["a"], np.arange(6).reshape(2, 3))
    assert tensors["a"].dtype == np.int64
    assert tensors["b"].shape == ()


def test_the_same_content_is_the_same_tensors_byte_for_byte(archive, tmp_path):
    again = tmp_path / "again.coterie"
    manifest, tensors = read_archive(archive)
    write_archive(again, manifest, tensors)
    with zipfile.ZipFile(archive) as one, zipfile.ZipFile(again) as two:
        assert one.read("tensors.safetensors") == two.read("tensors.safetensors")


def test_every_truncation_is_one_sentence_that_names_the_file(archive):
    whole = archive.read_bytes()
    for length in [0, 1, 10, *range(20, len(whole), 37), len(whole) - 1]:
        archive.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"model\.coterie is not a whole coterie file"):
            read_archive(archive)


def test_a_flipped_byte_in_the_tensors_is_found(archive):
    whole = bytearray(archive.read_bytes())
    start = whole.index(b"tensors.safetensors") + len(b"tensors.safetensors")
    for place in range(start, start + 200, 13):
        damaged = whole.copy()
        damaged[place] ^= 0xFF
        archive.write_bytes(damaged)
        with pytest.raises(InputError, match=r"model\.coterie"):
            read_archive(archive)


class Bomb:
    def __reduce__(self):
        return (open, ("/tmp/coterie-was-executed", "w"))


@pytest.mark.parametrize("disguise", ["plain", "in a zip"])
def test_a_pickle_in_disguise_is_refused_and_never_run(tmp_path, disguise):
    path = tmp_path / "evil.coterie"
    if disguise == "plain":
        path.write_bytes(pickle.dumps(Bomb()))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("manifest.json", json.dumps({"format": "coterie", "schema": 1, "kind": "model"}))
            archive.writestr("tensors.safetensors", pickle.dumps(Bomb()))
    with pytest.raises(InputError, match=r"evil\.coterie"):
        read_archive(path)
    import os

    assert not os.path.exists("/tmp/coterie-was-executed")


def test_a_compressed_member_is_refused_before_it_swells(tmp_path):
    path = tmp_path / "bomb.coterie"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", b" " * 10_000_000)
    with pytest.raises(InputError, match="in a form that coterie never writes"):
        read_archive(path)


def test_another_zip_and_a_newer_schema_are_told_apart(tmp_path, archive):
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(other, "w") as handle:
        handle.writestr("readme.txt", "hello")
    with pytest.raises(InputError, match=r"a zip without manifest\.json"):
        read_archive(other)
    write_archive(archive, {"schema": SCHEMA + 1}, {})
    with pytest.raises(InputError, match="upgrade coterie"):
        read_archive(archive)


def test_a_failed_write_keeps_the_old_file_and_leaves_nothing_behind(tmp_path):
    path = tmp_path / "note"
    path.write_text("old")

    def fails_halfway():
        with atomic_path(path) as draft:
            draft.write_text("half")
            raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        fails_halfway()
    assert path.read_text() == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["note"]


def test_a_folder_in_the_place_of_a_file_is_one_sentence_before_anything_is_done(tmp_path):
    with pytest.raises(InputError, match=r"it is a folder; give the path of a file\."), atomic_path(tmp_path):
        raise AssertionError("the block was entered")


def test_a_missing_folder_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="does not exist; create it first"):
        write_archive(tmp_path / "no" / "model.coterie", {}, {})


def test_a_folder_in_place_of_a_file_is_one_sentence(tmp_path):
    with pytest.raises(
        InputError, match=r"is a folder: give the file of the model, such as .*model\.coterie"
    ):
        read_archive(tmp_path)


def test_numbers_of_a_kind_that_numpy_lacks_are_one_sentence(tmp_path):
    head = json.dumps({"x": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [0, 2]}}).encode()
    path = tmp_path / "new.coterie"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", json.dumps({"format": "coterie", "schema": 1}))
        archive.writestr("tensors.safetensors", len(head).to_bytes(8, "little") + head + b"ab")
    with pytest.raises(InputError, match=r"new\.coterie is not a whole coterie file"):
        read_archive(path)


def put_together(path, manifest, arrays):
    """Write a valid zip of a manifest and tensors as they are, as a program other than coterie would."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
        archive.writestr("tensors.safetensors", safetensors.numpy.save(arrays))


def changed_tensors(arrays, how):
    a, b = arrays["a"], arrays["b"]
    return {
        "exchanged": {"a": b, "b": a},
        "rows reordered": {"a": a[::-1].copy(), "b": b},
        "another shape": {"a": a.reshape(3, 2), "b": b},
        "another type": {"a": a.astype(np.int32), "b": b},
        "one missing": {"b": b},
        "one more": {"a": a, "aa": b, "b": b},
    }[how]


@pytest.mark.parametrize(
    ("how", "member"),
    [
        ("exchanged", "a"),
        ("rows reordered", "a"),
        ("another shape", "a"),
        ("another type", "a"),
        ("one missing", "a"),
        ("one more", "aa"),
    ],
)
def test_tensors_that_are_not_those_written_are_refused_by_name_in_a_file_that_is_valid(archive, how, member):
    manifest, arrays = read_archive(archive)
    put_together(archive, manifest, changed_tensors(arrays, how))
    with pytest.raises(InputError) as refusal:
        read_archive(archive)
    assert str(refusal.value) == (
        f"{archive}: tensors.safetensors, '{member}' is not what coterie wrote there, so the file was changed or put "
        "together from others; copy it again, or make it anew."
    )


@pytest.mark.parametrize(
    "change", [{"kind": "checkpoint"}, {"x": [1, None, "e"]}, {"more": 1}, {"versions": {}}, {"schema": 1}]
)
def test_a_value_edited_in_the_manifest_is_refused(archive, change):
    manifest, arrays = read_archive(archive)
    put_together(archive, manifest | change, arrays)
    with pytest.raises(InputError, match=r"model\.coterie: manifest\.json is not what coterie wrote there"):
        read_archive(archive)


@pytest.mark.parametrize("digests", [None, [], {}, {"tensors": 3}])
def test_a_file_of_this_schema_without_digests_is_refused(archive, digests):
    manifest, arrays = read_archive(archive)
    put_together(archive, manifest | {"digests": digests}, arrays)
    with pytest.raises(InputError, match=r"manifest\.json holds no digests"):
        read_archive(archive)


def test_a_file_of_schema_1_has_no_digests_and_is_read(archive):
    manifest, arrays = read_archive(archive)
    del manifest["digests"]
    put_together(archive, manifest | {"schema": 1}, arrays)
    np.testing.assert_array_equal(read_archive(archive)[1]["a"], np.arange(6).reshape(2, 3))


def test_members_of_two_files_do_not_make_one(archive, tmp_path):
    other = tmp_path / "other.coterie"
    write_archive(other, {"kind": "model"}, {"a": np.arange(6).reshape(2, 3) + 1, "b": np.ones(())})
    put_together(archive, read_archive(archive)[0], read_archive(other)[1])
    with pytest.raises(InputError, match="put together from others"):
        read_archive(archive)
