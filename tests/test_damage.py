"""Models and checkpoints that were damaged, or that say what they do not hold."""

import numpy as np
import pytest
import torch
from safetensors.numpy import save
from tests.dying import Still

from coterie import PCX, load
from coterie.engine.callbacks import Checkpoint
from coterie.engine.checkpoint import write_checkpoint
from coterie.engine.loop import Loop
from coterie.errors import InputError
from coterie.store import read_archive, write_archive

ROWS = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)


def test_every_flipped_bit_of_a_file_is_found_or_changes_nothing(tmp_path):
    path = tmp_path / "model.coterie"
    write_archive(path, {"kind": "model"}, {"x": np.arange(3.0)})
    whole = path.read_bytes()
    wanted = read_archive(path)
    found = 0
    for place in range(len(whole)):
        for bit in range(8):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
            try:
                manifest, arrays = read_archive(path)
            except InputError:
                found += 1
                continue
            assert manifest == wanted[0]
            assert list(arrays) == ["x"]
            np.testing.assert_array_equal(arrays["x"], wanted[1]["x"])
    bodies = whole.index(b"PK", 4) - 43 + len(save({"x": np.arange(3.0)}))
    assert found >= 8 * bodies  # what changes nothing are dates and such


def test_a_damaged_checkpoint_is_one_sentence_that_says_what_to_do(tmp_path):
    path = tmp_path / "c.coterie"
    model = PCX(3, max_epochs=2, hidden=(4,), checkpoint=path, random_state=0)
    model.fit(ROWS)
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    with pytest.raises(
        InputError, match=r"c\.coterie is not a whole coterie file .*; delete it, and the run starts"
    ):
        model.fit(ROWS)
    path.write_bytes(whole[:2000] + b"\x00\x01" + whole[2002:])
    with pytest.raises(InputError, match=r"c\.coterie is not a whole .* CRC.*; delete it"):
        PCX(3, max_epochs=2, hidden=(4,), checkpoint=path).fit(ROWS)


@pytest.mark.parametrize(
    ("changes", "tensors", "words"),
    [
        ({"epoch": -1}, {}, "does not say where it stands"),
        ({"epoch": "many"}, {}, "does not say where it stands"),
        ({"history": [3]}, {}, "does not say where it stands"),
        ({"kind": "model"}, {}, "not a checkpoint"),
        ({}, {"task.tensor": np.zeros(3)}, "does not fit this training"),
        ({}, {"optimizer.7.step": np.zeros(())}, "does not fit this training"),
        ({}, {"optimizer.0.exp_avg": np.zeros(3)}, "does not fit this training"),
    ],
)
def test_a_checkpoint_of_something_else_is_one_sentence(tmp_path, changes, tensors, words):
    class Task(Still):
        def load_state(self, state):
            with torch.no_grad():
                self.tensor.copy_(state["tensor"])

    def loop():
        return Loop(Task(1), lambda epoch: [], per_epoch=1, max_epochs=1, callbacks=[Checkpoint(path, {})])

    path = tmp_path / "c"
    write_checkpoint(path, loop(), {})
    manifest, arrays = read_archive(path)
    write_archive(path, manifest | changes, arrays | tensors)
    with pytest.raises(InputError, match=words):
        loop().callbacks[0].on_begin(loop())


@pytest.mark.parametrize(
    ("params", "seen", "arrays"),
    [
        ({"hidden": [10**9, 10**9]}, {}, {}),
        ({"n_code": 10**12}, {}, {}),
        ({}, {"n_clusters_": 10**12}, {}),
        ({}, {"view_dims_in_": [10**12]}, {}),
        ({}, {}, {"labels": np.full(40, 10**12)}),
        ({}, {}, {"labels": np.full(40, -1)}),
    ],
)
def test_a_model_that_asks_for_more_than_its_file_holds_is_one_sentence_and_takes_no_memory(
    tmp_path, params, seen, arrays
):
    path = tmp_path / "model.coterie"
    PCX(3, max_epochs=1, hidden=(4,), random_state=0).fit(ROWS).save(path)
    manifest, tensors = read_archive(path)
    manifest["params"] |= params
    manifest["seen"] |= seen
    write_archive(path, manifest, tensors | arrays)
    with pytest.raises(InputError, match=r"model\.coterie does not hold a whole model") as refusal:
        load(path)
    assert "\n" not in str(refusal.value)
    assert "allocate" not in str(refusal.value)
