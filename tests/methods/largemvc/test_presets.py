"""LargeMvCNet as the paper prints it and as its released code runs: presets, printed thresholds, renewed anchors."""

import pytest
import torch
from benchmarks.making import make
from hypothesis import given
from hypothesis import strategies as st
from tests.methods.largemvc.problems import BETA, anchors_for, network_for, problem
from tests.methods.tracing import called_by, not_run

from coterie import LargeMvCNet
from coterie.methods.largemvc import objective
from coterie.methods.largemvc.network import RepresentModule
from coterie.methods.largemvc.options import PRESETS
from coterie.methods.largemvc.renewing import renewed_layers

# 3.2, 3.3, 4.1.2, 4.3.3 and Algorithm 1 of the paper.
PRINTED = {
    "max_epochs": 100,
    "learning_rate": 0.01,
    "n_layers": 2,
    "n_anchors": "auto",  # as many as clusters
    "batch_size": "all",
    "init": "kmeans",
    "features": "columns",
    "per_view_threshold": True,
    "threshold": "relu",
    "renewed_anchors": True,
    "trained_thresholds": True,
    "loss": "recon",
    "unit_codes": False,
    "noise": True,
}
NOTHING_OF_OURS = {"balanced": False, "outliers": False}
RELEASED = {
    "learning_rate": 0.05,
    "per_view_threshold": False,
    "threshold": "selu",
    "trained_thresholds": False,
    "random_layers": True,
}


def in_effect(**params):
    resolved = make(LargeMvCNet, 3, **params)._resolved()
    return {**resolved, **resolved["options"].get_params()}


@pytest.mark.parametrize(
    ("preset", "stated"),
    [
        ("paper", {**PRINTED, **NOTHING_OF_OURS}),
        ("authors", {**PRINTED, **NOTHING_OF_OURS, **RELEASED}),
    ],
)
def test_a_preset_has_what_the_paper_or_its_released_code_states(preset, stated):
    found = in_effect(preset=preset)
    assert {name: found[name] for name in stated} == stated


def test_what_is_given_wins_over_the_preset_also_where_it_equals_a_default():
    usual = in_effect()
    names = ["max_epochs", "batch_size", *PRESETS["paper"]["options"].given()]
    given_values = {name: usual[name] for name in names}
    found = in_effect(preset="paper", **given_values)
    assert {name: found[name] for name in names} == given_values
    assert in_effect(preset="paper", scale="feature")["scale"] == "feature"


def naive_step(value, theta, activation):
    return activation(torch.tensor(value - theta)) - activation(torch.tensor(-value - theta))


@given(st.integers(0, 1000), st.sampled_from(["relu", "selu"]), st.booleans())
def test_the_printed_layer_of_the_code_is_that_of_plain_loops(seed, threshold, per_view):
    """Eq. 11: the threshold of each view and then their mean, or of the mean, for each entry."""
    generator = torch.Generator().manual_seed(seed)
    module = RepresentModule(3, 1, per_view=per_view, threshold=threshold)
    with torch.no_grad():
        module.draw(generator)
    codes, *proposals = torch.randn(3, 4, 3, generator=generator)
    present = torch.tensor([[1.0, 1], [1, 0], [0, 1], [1, 1]])
    found = module(0, codes, proposals, present)[0]
    theta = float(module.theta[0].detach())
    activation = torch.relu if threshold == "relu" else torch.nn.functional.selu
    for i in range(4):
        own = [proposal[i] for v, proposal in enumerate(proposals) if present[i, v]]
        values = [(codes[i] @ module.residual + one @ module.mixing).detach() for one in own]
        values = values if per_view else [sum(values) / len(values)]
        for j in range(3):
            steps = [naive_step(float(value[j]), theta, activation) for value in values]
            assert float(found[i, j]) == pytest.approx(float(sum(steps)) / len(steps), abs=1e-5)


def test_the_two_sided_threshold_gives_negative_codes():
    values = torch.linspace(-2, 2, 9)
    found = objective.two_sided_step(values, 0.5, torch.relu)
    assert found.tolist() == [-1.5, -1.0, -0.5, 0.0, 0.0, 0.0, 0.5, 1.0, 1.5]


def test_a_pass_renews_the_anchors_of_each_layer_from_its_codes_as_algorithm_1_does():
    rows, present = problem(3, widths=(7, 5), missing=False)
    anchors = anchors_for(3, widths=(7, 5))
    network = network_for(rows, anchors, 3, 0.1, BETA[:2], per_view=True, threshold="relu")
    with torch.no_grad():
        found = renewed_layers(network, rows, present)
    codes, weights = torch.zeros(40, 4).double(), [torch.ones(40, 1).double()] * 2
    for layer in found:
        steps = []
        for x, p, w in zip(rows, anchors, weights, strict=True):
            sound = codes @ p + w * (x - codes @ p)
            steps.append(objective.two_sided_step(sound @ p.T, 0.1, torch.relu))
        codes = sum(steps) / 2
        torch.testing.assert_close(layer.codes, codes, atol=1e-6, rtol=0)
        for v, (x, p) in enumerate(zip(rows, anchors, strict=True)):
            residual = x - codes @ p
            weights[v] = (BETA[v] / residual.norm(dim=1, keepdim=True)).clamp(max=1)
            cross = codes.T @ (codes @ p + weights[v] * residual)
            left, _, right = torch.linalg.svd(cross, full_matrices=False)
            anchors[v] = left @ right
    for kept, last in zip(network.anchors(3), anchors, strict=True):
        torch.testing.assert_close(kept, last, atol=1e-4, rtol=0)


@pytest.fixture(scope="module")
def views():
    generator = torch.Generator().manual_seed(0)
    kind = torch.arange(90) % 3
    spots = [4 * torch.randn(3, width, generator=generator)[kind] for width in (6, 5)]
    return [(spot + torch.randn(spot.shape, generator=generator)).numpy() for spot in spots]


def test_the_papers_line_runs_the_code_of_its_equations(views):
    model = make(LargeMvCNet, 3, preset="paper", max_epochs=2, random_state=0)
    called = called_by(lambda: model.fit(views))
    assert not_run("largemvc", called) == []
    assert "initial.partition_views" not in called
    assert (model.transform(views) < 0).any()


def test_gradients_move_the_papers_thresholds_and_not_those_of_the_released_code(views):
    for preset, frozen in (("paper", False), ("authors", True)):
        start, end = (
            make(LargeMvCNet, 3, preset=preset, max_epochs=n, random_state=0).fit(views).network_
            for n in (0, 3)
        )
        assert torch.equal(start.represent.theta, end.represent.theta) is frozen
        assert torch.equal(start.noise.rho, end.noise.rho) is frozen
        assert not torch.equal(start.represent.mixing, end.represent.mixing)
        assert torch.equal(start.represent.mixing, torch.eye(3)) is not frozen
