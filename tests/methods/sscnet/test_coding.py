"""Sparse codes: the optimum, its certificate, and what the paper's step does (spec sscnet P3, P4, E1, E5)."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from coterie.methods.sscnet import coding
from coterie.methods.sscnet.coding import sparse_code
from coterie.ops.shrinkage import shrink_rows, soft_threshold

seeds = st.integers(0, 10_000)
EXACT = {"tol": 3e-7, "max_iter": 8000}


def problem(seed, n=5, d=6, m=12):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, m))
    A /= np.linalg.norm(A, axis=0)
    return torch.from_numpy(rng.normal(size=(n, d))), torch.from_numpy(A)


def objective(Z, X, A, lam, error):
    left = X - Z @ A.T
    size = left.norm(dim=1).sum() if error == "column" else left.abs().sum()
    return float(Z.abs().sum() + lam * size)


def by_linear_programme(x, A, lam, forbidden=None):
    """The optimum for one row and element-wise errors: z = p - q, e = u - v, all at least zero."""
    d, m = A.shape
    equal = np.hstack([A, -A, np.eye(d), -np.eye(d)])
    bounds = [(0, 0 if forbidden is not None and j % m == forbidden else None) for j in range(2 * m)]
    found = linprog(
        np.r_[np.ones(2 * m), np.full(2 * d, lam)], A_eq=equal, b_eq=x, bounds=bounds + [(0, None)] * 2 * d
    )
    assert found.success
    return found.fun


def linearised(X, A, lam, error, steps, length):
    """Eq. 4 as written, with the step alpha = `length` / (beta |A|^2) and beta = 1."""
    shrink = shrink_rows if error == "column" else soft_threshold
    alpha = length / float(torch.linalg.matrix_norm(A, 2)) ** 2
    Z, E, multiplier = X.new_zeros(len(X), A.shape[1]), torch.zeros_like(X), torch.zeros_like(X)
    for _ in range(steps):
        Z = soft_threshold(Z - alpha * (multiplier + Z @ A.T + E - X) @ A, alpha)
        E = shrink(X - Z @ A.T - multiplier, lam)
        multiplier = multiplier + Z @ A.T + E - X
    return Z, E


@pytest.mark.parametrize(("seed", "lam"), [(0, 0.5), (2, 1.0), (1, 2.0)])
def test_element_wise_errors_have_the_optimum_of_a_linear_programme(seed, lam):
    X, A = problem(seed)
    coded = sparse_code(X, A, lam, error="element", **EXACT)
    expected = sum(by_linear_programme(x, A.numpy(), lam) for x in X.numpy())
    assert objective(coded.codes, X, A, lam, "element") == pytest.approx(expected, rel=1e-6)


def test_a_row_may_not_use_its_own_atom_where_that_is_forbidden():
    X, _ = problem(3, n=12)
    coded = sparse_code(X, X.T.contiguous(), 1.0, error="element", forbid_self=True, **EXACT)
    assert (coded.codes.diagonal() == 0).all()
    expected = sum(by_linear_programme(x, X.numpy().T, 1.0, i) for i, x in enumerate(X.numpy()))
    assert objective(coded.codes, X, X.T, 1.0, "element") == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("error", "lam"), [("column", 2.0), ("element", 1.0)])
def test_linearised_steps_of_the_right_length_lead_to_the_same_optimum(error, lam):
    X, A = problem(0, n=3)
    coded = sparse_code(X, A, lam, error=error, **EXACT)
    Z, E = linearised(X, A, lam, error, steps=3000, length=0.9)
    assert float((X - Z @ A.T - E).abs().max()) < 1e-8
    ours, theirs = (objective(codes, X, A, lam, error) for codes in (coded.codes, Z))
    assert ours == pytest.approx(theirs, rel=1e-6)
    torch.testing.assert_close(coded.errors, E, atol=1e-4, rtol=0)
    assert float((X - coded.codes @ A.T - coded.errors).abs().max()) < 1e-12


def test_the_printed_step_ends_far_from_the_optimum_and_infeasible():
    X, A = problem(1)
    square = float(torch.linalg.matrix_norm(A, 2)) ** 2
    Z, E = linearised(X, A, 1.5, "column", steps=300, length=1.01 * square * square)
    best = objective(sparse_code(X, A, 1.5, **EXACT).codes, X, A, 1.5, "column")
    assert not objective(Z, X, A, 1.5, "column") < 2 * best
    assert not float((X - Z @ A.T - E).abs().max()) < 1


def test_the_two_errors_have_different_optima():
    X, A = problem(2)
    column, element = (sparse_code(X, A, 1.2, error=error, **EXACT) for error in ("column", "element"))
    for one, other, error in ((column, element, "column"), (element, column, "element")):
        ours, theirs = (objective(c.codes, X, A, 1.2, error) for c in (one, other))
        assert ours < 0.99 * theirs


@given(seeds, st.floats(0.3, 3))
@settings(max_examples=10)
def test_the_gap_bounds_the_distance_to_the_optimum(seed, lam):
    X, A = problem(seed, n=3)
    rough = sparse_code(X, A, lam, error="element", tol=0.05)
    assert (rough.gaps <= 0.05).all()
    assert rough.converged
    for i, x in enumerate(X):
        low = by_linear_programme(x.numpy(), A.numpy(), lam)
        high = objective(rough.codes[i : i + 1], x[None], A, lam, "element")
        assert low * (1 - 1e-9) <= high
        assert high - low <= float(rough.gaps[i]) * high + 1e-9


@pytest.mark.parametrize("error", ["column", "element"])
def test_a_smaller_tolerance_takes_more_steps_and_ends_lower(error):
    X, A = problem(3)
    rough, fine = (sparse_code(X, A, 1.5, error=error, tol=tol) for tol in (0.1, 1e-3))
    assert fine.n_iter > rough.n_iter
    assert objective(fine.codes, X, A, 1.5, error) < objective(rough.codes, X, A, 1.5, error)


def test_a_code_is_zero_exactly_while_errors_are_cheap():
    X, A = problem(3)
    limit = X.norm(dim=1) / (X @ A).abs().amax(1)
    assert (sparse_code(X, A, 0.99 * limit, **EXACT).codes == 0).all()
    assert (sparse_code(X, A, 1.01 * limit, **EXACT).codes != 0).any(1).all()


def test_rows_do_not_depend_on_each_other_nor_on_their_order(monkeypatch):
    X, A = problem(4, n=9)
    lam = torch.linspace(1, 3, 9, dtype=torch.float64)
    whole = sparse_code(X, A, lam, tol=1e-4)
    order = torch.randperm(9, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(sparse_code(X[order], A, lam[order], tol=1e-4).codes, whole.codes[order])
    for i in range(9):
        alone = sparse_code(X[i : i + 1], A, lam[i : i + 1], tol=1e-4)
        torch.testing.assert_close(alone.codes[0], whole.codes[i])
    monkeypatch.setattr(coding, "_BLOCK", 4)
    torch.testing.assert_close(sparse_code(X, A, lam, tol=1e-4).codes, whole.codes)


def test_blocks_know_which_atom_is_their_own(monkeypatch):
    X, _ = problem(0, n=12)
    whole = sparse_code(X, X.T.contiguous(), 2.0, forbid_self=True, tol=1e-2)
    monkeypatch.setattr(coding, "_BLOCK", 5)
    torch.testing.assert_close(
        sparse_code(X, X.T.contiguous(), 2.0, forbid_self=True, tol=1e-2).codes, whole.codes
    )


def test_the_unit_of_measure_does_not_matter():
    X, A = problem(5)
    codes = sparse_code(X, A, 2.0, **EXACT).codes
    torch.testing.assert_close(sparse_code(1e4 * X, A, 2.0, **EXACT).codes, 1e4 * codes, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("beta", [0.01, 100.0])
def test_a_poor_first_penalty_costs_steps_but_not_the_optimum(beta):
    X, A = problem(6)
    plain, other = sparse_code(X, A, 2.0, **EXACT), sparse_code(X, A, 2.0, beta=beta, **EXACT)
    ours, theirs = (objective(c.codes, X, A, 2.0, "column") for c in (plain, other))
    assert ours == pytest.approx(theirs, rel=1e-6)
    assert other.n_iter > plain.n_iter


def test_float32_rows_of_zeros_and_atoms_of_zeros_are_no_trouble():
    X, A = (part.float() for part in problem(7))
    X[1], A[:, 3] = 0, 0
    coded = sparse_code(X, A, 2.0)
    assert coded.codes.dtype == torch.float32
    assert (coded.codes[1] == 0).all()
    assert (coded.codes[:, 3] == 0).all()
    assert coded.converged
    nothing = sparse_code(X, torch.zeros_like(A), 2.0)
    torch.testing.assert_close(nothing.errors, X)


def test_too_few_steps_warn_and_say_how_far_it_is():
    X, A = problem(8)
    with pytest.warns(ConvergenceWarning, match=r"5 of 5 sparse codes .* after max_iter=3 steps"):
        coded = sparse_code(X, A, 2.0, max_iter=3)
    assert not coded.converged
    assert coded.n_iter == 3
    assert (coded.gaps > 1e-3).all()
