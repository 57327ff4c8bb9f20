"""Small random problems for the tests of LargeMvC-Net, and the paper's objective by loops."""

import numpy as np
import torch

from coterie.methods.largemvc import objective
from coterie.methods.largemvc.network import AnchorModule, UnfoldedNetwork, inverse_softplus
from coterie.ops.polar import clip_spectrum, polar

WIDTHS = (7, 5, 3)
BETA = torch.tensor([1.0, 0.8, 0.6]).double()


def problem(seed, n=40, m=4, widths=WIDTHS, missing=True, outliers=True):
    """Random views with a low-rank part, masks, and a few loud rows; m = 4 is more than the last view's columns."""
    rng = np.random.default_rng(seed)
    codes = np.abs(rng.normal(size=(n, m)))
    rows = [codes @ rng.normal(size=(m, d)) + 0.3 * rng.normal(size=(n, d)) for d in widths]
    if outliers:
        rows[0][:3] *= 8
    present = np.ones((n, len(widths)))
    if missing:
        present[rng.random(present.shape) < 0.3] = 0
        present[present.sum(1) == 0, 0] = 1
    tensors = [torch.from_numpy(x * present[:, v : v + 1]) for v, x in enumerate(rows)]
    return tensors, torch.from_numpy(present)


def anchors_for(seed, m=4, widths=WIDTHS):
    generator = torch.Generator().manual_seed(seed)
    drawn = [torch.randn(m, d, generator=generator, dtype=torch.float64) for d in widths]
    return [polar(one) if m <= one.shape[1] else clip_spectrum(one) for one in drawn]


@torch.no_grad()
def naive_objective(rows, present, codes, anchors, noise, alpha, beta):
    """J of Eq. 2 with its noise, by loops."""
    total = 0.0
    for i in range(len(codes)):
        for v, x in enumerate(rows):
            if present[i, v]:
                e = noise[v][i]
                total += 0.5 * float((x[i] - codes[i] @ anchors[v] - e).square().sum())
                total += alpha * float(codes[i].abs().sum()) + float(beta[v]) * float(e.norm())
    return total


def network_for(rows, anchors, n_layers, alpha, beta, **options):
    network = UnfoldedNetwork([x.shape[1] for x in rows], len(anchors[0]), n_layers, **options).double()
    for layer in range(n_layers + 1):
        network.set_anchors(layer, anchors)
    with torch.no_grad():
        network.represent.raw_theta.copy_(
            inverse_softplus(torch.full((n_layers,), alpha, dtype=torch.float64))
        )
        if network.noise is not None:
            network.noise.raw_rho.copy_(inverse_softplus(beta).expand(n_layers, -1))
    return network


@torch.no_grad()
def descend(network, rows, present, alpha, beta):
    """Run all sweeps and return J before each anchor step and after the last."""
    values = []
    for layer in range(network.n_layers):
        last = network(rows, present, layer + 1)[-1]
        module = AnchorModule(network.anchors(layer))
        module.add(last.codes, rows, last.weights, present)
        values.append(float(objective.objective(last.residuals, last.codes, present, alpha=alpha, beta=beta)))
        network.set_anchors(layer + 1, module.step())
        after = network.residuals(rows, last.codes, layer + 1)
        values.append(float(objective.objective(after, last.codes, present, alpha=alpha, beta=beta)))
    return np.array(values)
