"""One array from many pieces."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from coterie.ops.array_builder import ArrayBuilder

_MADE_AND_DROPPED = """
import resource, torch
from coterie.ops.array_builder import ArrayBuilder
torch.set_num_threads(1)
def found():
    for _ in range(200):
        yield torch.rand(4096, 1000).argmax(1)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
labels = ArrayBuilder.of(found()).joined()
assert len(labels) == 200 * 4096
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.parametrize("sizes", [[1], [4, 4, 1], [0, 3], [2] * 50])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_pieces_come_back_in_their_order_and_type(sizes, shape):
    rng = np.random.default_rng(0)
    pieces = [rng.normal(size=(size, *shape)).astype(np.float32) for size in sizes]
    found = ArrayBuilder.of(pieces).joined()
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.concatenate(pieces))


def test_tensors_become_arrays_whether_or_not_they_have_gradients():
    rows = torch.arange(3.0, requires_grad=True)
    np.testing.assert_array_equal(ArrayBuilder.of([rows, rows.detach()]).joined(), [0, 1, 2, 0, 1, 2])


def test_a_joined_array_does_not_change_when_its_pieces_do():
    piece = np.zeros(2)
    found = ArrayBuilder.of([piece]).joined()
    piece += 1
    np.testing.assert_array_equal(found, [0, 0])


def test_nothing_at_all_has_no_shape_to_return():
    with pytest.raises(ValueError, match="No piece was added"):
        ArrayBuilder().joined()


def test_small_results_of_large_tensors_leave_no_holes_in_memory():
    run = subprocess.run(
        [sys.executable, "-c", _MADE_AND_DROPPED], capture_output=True, text=True, check=True
    )
    assert float(run.stdout) < 200  # a list of the same pieces takes gigabytes, or 200 times 16 MB
