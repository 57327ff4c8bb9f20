"""Unrolled sparse coding against linearised ADMM and its optimum (P2 to P6, P14 of spec sscnet, section 4)."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from coterie.methods.sscnet import objective
from coterie.methods.sscnet.blocks import Block, SparseCoder
from coterie.methods.sscnet.dictionaries import KINDS, LinearDictionary, make_dictionary

LAM, BETA = 0.7, 1.3


def problem(seed: int, n: int = 6, d: int = 5, m: int = 9) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(seed)
    return torch.tensor(rng.normal(size=(n, d))), torch.tensor(rng.normal(size=(d, m)))


def admm_block(A: torch.Tensor, error: str) -> tuple[SparseCoder, float]:
    """Return blocks with ADMM's own values for min ||Z||_1 + LAM ||E||, and the step alpha (P2)."""
    dictionary = LinearDictionary(*A.shape).double()
    alpha = 0.9 / (BETA * float(torch.linalg.matrix_norm(A, 2)) ** 2)
    coder = SparseCoder([dictionary], n_blocks=1, error=error).double()
    block = coder.steps[0]
    with torch.no_grad():
        dictionary.matrix.copy_(A)
        dictionary.adjoint.copy_(alpha * A)
        block.penalty.fill_(BETA)
        block.inverse_penalty.fill_(1 / BETA)
        block.code_threshold.fill_(alpha)
        block.error_threshold.fill_(LAM / BETA)
    return coder, alpha


def shrink(v: np.ndarray, by: float) -> np.ndarray:
    return np.sign(v) * np.maximum(np.abs(v) - by, 0)


def naive_admm(X: np.ndarray, A: np.ndarray, alpha: float, steps: int, error: str) -> tuple[np.ndarray, ...]:
    """Eq. 4 for one column after another, with loops."""
    codes, errors, multipliers = [], [], []
    for x in X:
        z, e, lam = np.zeros(A.shape[1]), np.zeros(len(x)), np.zeros(len(x))
        for _ in range(steps):
            t = A @ z + e - x
            z = shrink(z - alpha * A.T @ (lam + BETA * t), alpha)
            rest = x - A @ z - lam / BETA
            if error == "element":
                e = shrink(rest, LAM / BETA)
            else:
                length = np.linalg.norm(rest)
                e = max(length - LAM / BETA, 0) / length * rest
            lam = lam + BETA * (A @ z + e - x)
        codes.append(z)
        errors.append(e)
        multipliers.append(lam)
    return np.array(codes), np.array(errors), np.array(multipliers)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(1, 6), st.sampled_from(["column", "element"]))
def test_blocks_with_admms_values_are_the_steps_of_admm(seed, steps, error):
    X, A = problem(seed)
    coder, alpha = admm_block(A, error)
    coder.n_blocks = steps
    with torch.no_grad():
        coded = coder(X)
    expected = naive_admm(X.numpy(), A.numpy(), alpha, steps, error)
    for found, wanted in zip((coded.codes, coded.errors, coded.multipliers), expected, strict=True):
        np.testing.assert_allclose(found.numpy(), wanted, atol=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_many_blocks_reach_the_optimum_of_a_linear_programme(seed):
    X, A = problem(seed)
    coder, _ = admm_block(A, "element")
    coder.n_blocks = 20_000
    with torch.no_grad():
        coded = coder(X)
    assert float((X - coded.codes @ A.T - coded.errors).norm()) < 1e-8
    assert 0 < float((coded.errors != 0).double().mean()) < 1  # neither term of the problem is idle
    (n, d), m = X.shape, A.shape[1]
    costs = np.r_[np.ones(2 * m), np.full(2 * d, LAM)]
    signs = np.hstack([A.numpy(), -A.numpy(), np.eye(d), -np.eye(d)])
    for row in range(n):
        best = linprog(costs, A_eq=signs, b_eq=X[row].numpy()).fun
        reached = float(coded.codes[row].abs().sum() + LAM * coded.errors[row].abs().sum())
        assert reached == pytest.approx(best, rel=1e-6)


def random_coder(kind: str, error: str = "column", n_blocks: int = 3) -> SparseCoder:
    generator = torch.Generator().manual_seed(0)
    coder = SparseCoder(
        [make_dictionary(kind, 64, 40, (24,), (8, 8)) for _ in range(n_blocks)], n_blocks, error
    )
    coder.prepare(torch.randn(50, 64, generator=generator), 0.1, generator)
    return coder


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error", ["column", "element"])
def test_a_row_is_coded_on_its_own_in_any_batch(kind, error):
    coder = random_coder(kind, error)
    X = torch.randn(12, 64, generator=torch.Generator().manual_seed(1))
    order = torch.randperm(12, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        together, mixed, alone = coder(X), coder(X[order]), coder(X[3:4])
    for name in ("codes", "errors", "multipliers", "decoded"):
        torch.testing.assert_close(getattr(mixed, name), getattr(together, name)[order], atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(getattr(alone, name), getattr(together, name)[3:4], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_prepared_codes_are_neither_dead_nor_full(kind):
    coder = random_coder(kind, n_blocks=4)
    with torch.no_grad():
        codes = coder(torch.randn(100, 64, generator=torch.Generator().manual_seed(1))).codes
    share = float((codes != 0).double().mean())
    assert 0.1 < share < 0.99


def test_no_blocks_are_a_plain_auto_encoder():
    coder = random_coder("mlp", n_blocks=1)
    coder.n_blocks = 0
    x = torch.randn(4, 64, generator=torch.Generator().manual_seed(1))
    coded = coder(x)
    torch.testing.assert_close(coded.codes, coder.dictionary.encode(x))
    torch.testing.assert_close(coded.errors, x - coder.dictionary.decode(coded.codes))


def test_a_start_from_nothing_equals_a_start_from_zeros_for_a_linear_dictionary():
    coder = random_coder("linear")
    x = torch.randn(4, 64, generator=torch.Generator().manual_seed(1))
    block: Block = coder.steps[0]
    from_nothing = block(x)
    blank = type(from_nothing)(torch.zeros(4, 40), torch.zeros(4, 64), torch.zeros(4, 64), x)
    torch.testing.assert_close(block(x, blank).codes, from_nothing.codes)


def test_projection_keeps_thresholds_above_zero_and_atoms_within_the_ball():
    coder = random_coder("linear")
    with torch.no_grad():
        for block in coder.steps:
            block.code_threshold.fill_(-1)
            block.error_threshold.fill_(-1)
            block.penalty[0] = -1
            block.dictionary.matrix.mul_(3)
    before = coder.steps[0].dictionary.matrix.detach().clone()
    coder.project()
    for block in coder.steps:
        assert float(block.code_threshold.detach().min()) == 0
        assert float(block.error_threshold.detach().min()) == 0
        assert float(block.penalty.detach().min()) == 0
        assert float(block.dictionary.matrix.detach().norm(dim=0).max()) <= 1 + 1e-6
    torch.testing.assert_close(coder.steps[0].dictionary.matrix, before / before.norm(dim=0))


def coding_loss(x, decoded, codes, sparsity):
    figures = objective.coding_figures(x, decoded, codes)
    return objective.coding_loss(figures, objective.coding_weights(figures, sparsity))


def test_every_parameter_of_every_block_is_trained():
    coder = random_coder("linear")
    x = torch.randn(20, 64, generator=torch.Generator().manual_seed(1))
    coded = coder(x)
    coding_loss(x, coded.decoded, coded.codes, 0.1).backward()
    idle = [name for name, p in coder.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
    # The error and the multiplier that the last block gives out go nowhere; a first block has no multiplier.
    assert set(idle) <= {"blocks.2.error_threshold", "blocks.2.inverse_penalty", "blocks.0.inverse_penalty"}


def test_atoms_are_what_unit_codes_decode_to():
    linear = random_coder("linear").dictionary
    torch.testing.assert_close(linear.atoms(), linear.matrix.detach().T)
    network = random_coder("mlp").dictionary
    with torch.no_grad():
        third = network.decode(torch.eye(40)[3:4]) - network.decode(torch.zeros(1, 40))
    torch.testing.assert_close(network.atoms()[3:4], third, atol=1e-6, rtol=1e-5)


@given(st.lists(st.floats(0, 100, width=32), min_size=2, max_size=30))
def test_row_weights_have_mean_one_and_grow_up_to_a_bound(errors):
    e = torch.tensor(errors, dtype=torch.float64, requires_grad=True)
    w = objective.row_weights(e)
    assert float(w.mean()) == pytest.approx(1, abs=1e-9)
    assert not w.requires_grad
    order = e.detach().argsort()
    assert (w[order].diff() >= -1e-12).all()
    beyond = e.detach() >= e.detach().quantile(0.9)
    assert float(w[beyond].max() - w[beyond].min()) < 1e-12


def test_the_coding_loss_equals_its_naive_form_and_has_no_way_out():
    generator = torch.Generator().manual_seed(0)
    x, decoded = torch.randn(2, 7, 4, generator=generator, dtype=torch.float64)
    codes = torch.randn(7, 5, generator=generator, dtype=torch.float64)
    lengths = [float((x[i] - decoded[i]).norm()) for i in range(7)]
    clip = np.quantile(lengths, 0.9)
    weights = np.array([1 + min(length, clip) for length in lengths])
    weights /= weights.mean()
    size = np.mean([float(row.norm()) for row in x])
    naive = np.mean(weights * lengths) + 0.3 * np.mean([float(z.abs().sum()) for z in codes])
    assert float(coding_loss(x, decoded, codes, 0.3)) == pytest.approx(naive / size, rel=1e-12)
    nothing = coding_loss(x, torch.zeros_like(x), torch.zeros_like(codes), 0.3)
    lengths = x.norm(dim=1)
    assert float(nothing) == pytest.approx(
        float((objective.row_weights(lengths) * lengths).mean() / lengths.mean())
    )
    assert float(coding_loss(9 * x, 9 * decoded, 9 * codes, 0.3)) == pytest.approx(naive / size, rel=0.2)


def test_the_assignment_loss_is_the_cross_entropy():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(6, 3, generator=generator)
    labels = torch.tensor([0, 1, 2, 2, 1, 0])
    expected = torch.nn.functional.cross_entropy(logits, labels, label_smoothing=0.01)
    found = objective.assignment_loss(logits, torch.nn.functional.one_hot(labels, 3).float())
    torch.testing.assert_close(found, expected)
