import subprocess
import sys

import pytest
import torch
from torch import nn

from coterie.engine.adam import Adam

FITS = """
import sys
import numpy as np
from coterie import MVSIB, PCX, LargeMvCNet, SSCNet
X = np.random.default_rng(0).normal(size=(40, 6))
for model in (
    PCX(2, hidden=(4,), max_epochs=5),
    MVSIB(2, hidden=(4,), max_epochs=5),
    SSCNet(2, n_atoms=8, max_epochs=5),
    LargeMvCNet(2, max_epochs=1),
):
    model.fit(X)
assert "torch._dynamo" not in sys.modules
"""


def networks():
    torch.manual_seed(0)
    ours = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2), nn.Linear(2, 1))
    theirs = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2), nn.Linear(2, 1))
    theirs.load_state_dict(ours.state_dict())
    return ours, theirs


def loss_of(network, step):
    rows = torch.randn(16, 4, generator=torch.Generator().manual_seed(step))
    narrow = network[:3](rows)
    # In some steps the last layer has no part, and so no gradient.
    return (narrow if step % 3 else network[3](narrow)).square().mean()


def test_steps_are_those_of_the_fused_adam_of_torch_bit_for_bit():
    ours, theirs = networks()
    mine, other = Adam(ours.parameters(), 0.01), torch.optim.Adam(theirs.parameters(), lr=0.01, fused=True)
    for step in range(12):
        mine.rate = other.param_groups[0]["lr"] = 0.01 / (1 + step)
        for network, optimizer in ((ours, mine), (theirs, other)):
            optimizer.zero_grad()
            loss_of(network, step + 1).backward()
            optimizer.step()
        assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), theirs.parameters(), strict=True))
    state = other.state_dict()["state"]
    wanted = {f"{index}.{name}": value for index, slots in state.items() for name, value in slots.items()}
    assert mine.state().keys() == wanted.keys()
    assert all(torch.equal(value, wanted[name]) for name, value in mine.state().items())


def test_steps_after_a_resume_are_those_of_one_that_was_never_stopped():
    ours, theirs = networks()
    first, second = Adam(ours.parameters(), 0.01), Adam(theirs.parameters(), 0.01)
    for step in range(6):
        if step == 3:
            theirs.load_state_dict(ours.state_dict())
            second.load_state({name: tensor.clone() for name, tensor in first.state().items()})
        for network, optimizer in ((ours, first), (theirs, second)):
            optimizer.zero_grad()
            if step >= 3 or network is ours:
                loss_of(network, step).backward()
            optimizer.step()
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), theirs.parameters(), strict=True))


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"0.exp_avg": torch.zeros(3)}, "0.exp_avg has shape"),
        ({"0.step": torch.zeros(2)}, "0.step has shape"),
        ({"0.step": torch.zeros(())}, "parts of the optimizer's state are missing"),
    ],
)
def test_a_state_of_another_shape_is_refused(state, said):
    with pytest.raises(ValueError, match=said):
        Adam([torch.zeros(2, requires_grad=True)], 0.1).load_state(state)


def test_no_fit_imports_the_compiler_of_torch():
    subprocess.run([sys.executable, "-W", "ignore", "-c", FITS], check=True)
