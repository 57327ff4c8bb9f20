"""The reduced objective against dense formulas; spec fucsmf, section 4, properties 1 to 6, 9 and 12."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize

from coterie import FUCSMFOptions
from coterie.methods.fucsmf.newton import Newton
from coterie.methods.fucsmf.problem import AnchorGraph, build_objective, label_lengths, recover_rows
from coterie.methods.fucsmf.solver import best_step, minimise, solve
from coterie.methods.fucsmf.supervision import as_pairs, combine

NO_LINKS = as_pairs(None, 0, "must_link")
MUST, CANNOT = np.array([[5, 6], [6, 7], [8, 0]]), np.array([[5, 9], [10, 1], [11, 12]])
LAM, MU = 20.0, 3.0


# FUCSMF in the space of rows, as its formulas are written: dense, for tiny problems.


def random_graph(n, m, p, seed):
    """A row-stochastic (n, m) matrix with p entries a row, every anchor in use."""
    rng = np.random.default_rng(seed)
    weights = np.zeros((n, m))
    for i in range(n):
        columns = np.append(i % m, rng.choice(np.delete(np.arange(m), i % m), p - 1, replace=False))
        weights[i, columns] = rng.random(p) + 0.05
    return weights / weights.sum(axis=1, keepdims=True)


def dense_b(weights):
    return weights @ np.diag(1 / weights.sum(axis=0)) @ weights.T


def value(weights, rows, lam, *, together=(), apart=(), mu=0.0):
    b, (n, c) = dense_b(weights), rows.shape
    center = np.eye(c) - 1 / c
    f = np.sum((b - rows @ rows.T) ** 2) + lam * np.trace(rows.T @ (np.eye(n) - b) @ rows)
    f += mu * sum(np.sum((rows[i] - rows[j]) ** 2) for i, j in together)
    return f + mu * sum(np.sum(((rows[i] + rows[j]) @ center) ** 2) for i, j in apart)


def gradient(weights, rows, lam):
    b = dense_b(weights)
    return 4 * rows @ (rows.T @ rows) + 2 * lam * rows - 2 * (lam + 2) * b @ rows


def hessian(weights, rows, lam, free):
    """The (n_free c, n_free c) second derivatives, from differences that are exact along unit directions."""
    b, n, c = dense_b(weights), *rows.shape
    inner, columns = rows.T @ rows, []
    for i in free:
        for k in range(c):
            h = np.zeros((n, c))
            h[i, k] = 1
            cross = h.T @ rows
            column = 4 * (rows @ (cross + cross.T) + h @ inner) + 2 * lam * h - 2 * (lam + 2) * b @ h
            columns.append(column[free].ravel())
    return np.array(columns)


def options(smoothness, link_weight, tol, max_iter):
    return FUCSMFOptions(smoothness=smoothness, link_weight=link_weight, tol=tol, max_iter=max_iter)


def problem(seed=0, *, n=40, m=12, hard=None, scale="balanced", lam=LAM, counts=(2, 2, 1)):
    """Labels on the first rows; with `hard`, links among rows that follow."""
    weights = random_graph(n, m, 4, seed)
    codes = np.full(n, -1)
    labelled = np.repeat(np.arange(len(counts)), counts)
    codes[: len(labelled)] = labelled
    must, cannot = (NO_LINKS, NO_LINKS) if hard is None else (MUST, CANNOT)
    known = combine(codes, must, cannot, hard=bool(hard))
    graph = AnchorGraph.of(sparse.csr_matrix(weights))
    sizes = label_lengths(known.codes, len(counts), scale)
    return weights, graph, known, sizes, build_objective(graph, known, sizes, smoothness=lam, link_weight=MU)


def in_rows(graph, known, sizes, objective, x):
    m = len(objective.degrees)
    return recover_rows(graph, known, sizes, x[:m], x[m:])


def dense_value(weights, known, rows, hard, lam=LAM):
    together = () if hard or hard is None else MUST
    apart = () if hard is None else CANNOT
    return value(weights, rows, lam, together=together, apart=apart, mu=MU)


@given(st.integers(0, 10_000))
def test_the_graph_is_symmetric_row_stochastic_and_positive_semidefinite(seed):
    b = dense_b(random_graph(15, 6, 3, seed))
    eigenvalues = np.linalg.eigvalsh(b)
    np.testing.assert_allclose(b, b.T, atol=1e-12)
    np.testing.assert_allclose(b.sum(axis=1), 1, atol=1e-12)
    assert eigenvalues.min() > -1e-10
    assert eigenvalues.max() < 1 + 1e-10


@pytest.mark.parametrize("hard", [None, True, False])
@pytest.mark.parametrize("scale", ["balanced", "one"])
def test_value_is_that_of_the_dense_formula(hard, scale):
    weights, graph, known, sizes, objective = problem(hard=hard, scale=scale)
    x = np.random.default_rng(1).normal(size=objective.shape)
    rows = in_rows(graph, known, sizes, objective, x)
    assert objective.value(objective.point(x)) == pytest.approx(
        dense_value(weights, known, rows, hard), rel=1e-10
    )


@pytest.mark.parametrize("hard", [None, True, False])
def test_along_a_line_the_objective_is_the_polynomial_it_says(hard):
    weights, graph, known, sizes, objective = problem(hard=hard)
    rng = np.random.default_rng(2)
    x, d = rng.normal(size=(2, *objective.shape))
    point, change = objective.point(x), objective.direction(d)
    before = dense_value(weights, known, in_rows(graph, known, sizes, objective, x), hard)
    for t in (-0.7, 0.4, 2.0):
        after = dense_value(weights, known, in_rows(graph, known, sizes, objective, x + t * d), hard)
        assert np.polyval([*objective.line_polynomial(point, change), 0], t) == pytest.approx(
            after - before, rel=1e-9
        )
        assert objective.value(objective.moved(point, t, change)) == pytest.approx(after, rel=1e-9)


@pytest.mark.parametrize("hard", [None, True, False])
def test_the_gradient_is_the_derivative_in_every_direction(hard):
    _, _, _, _, objective = problem(hard=hard)
    rng = np.random.default_rng(3)
    x, d = rng.normal(size=(2, *objective.shape))
    point, change = objective.point(x), objective.direction(d)
    difference = objective.value(objective.point(x + 1e-6 * d)) - objective.value(
        objective.point(x - 1e-6 * d)
    )
    assert change.dot(objective.gradient(point)) == pytest.approx(difference / 2e-6, rel=1e-6)


def test_the_natural_gradient_times_weights_is_the_gradient_of_the_rows():
    weights, graph, known, sizes, objective = problem()
    x = np.random.default_rng(4).normal(size=objective.shape)
    rows, free = in_rows(graph, known, sizes, objective, x), known.codes < 0
    found = weights[free] @ objective.gradient(objective.point(x))
    np.testing.assert_allclose(found, gradient(weights, rows, LAM)[free], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("scale", ["balanced", "one"])
@pytest.mark.parametrize("lam", [1.0, 100.0])
@pytest.mark.parametrize("counts", [(1, 1, 1), (3, 2, 1), (2, 2, 0)])
def test_curvature_is_the_lowest_eigenvalue_of_the_hessian_at_zero(scale, lam, counts):
    weights, graph, known, sizes, objective = problem(scale=scale, lam=lam, counts=counts)
    free = np.flatnonzero(known.codes < 0)
    rows = in_rows(graph, known, sizes, objective, np.zeros(objective.shape))
    lowest = np.linalg.eigvalsh(hessian(weights, rows, lam, free))[0]
    assert objective.curvature() == pytest.approx(lowest, abs=1e-8)
    rows[free] = np.random.default_rng(0).normal(size=(len(free), len(counts)))
    assert np.linalg.eigvalsh(hessian(weights, rows, lam, free))[0] >= lowest - 1e-8


def test_a_large_sparse_graph_has_the_curvature_of_the_dense_eigenvalue():
    weights, _, known, _, objective = problem(n=400, m=250)
    free = known.codes < 0
    mu = np.linalg.eigvalsh(dense_b(weights)[np.ix_(free, free)])[-1]
    assert objective.curvature() == pytest.approx(4 + 2 * LAM - 2 * (LAM + 2) * mu, abs=1e-6)


@given(st.integers(0, 10_000))
def test_midpoints_lie_below_when_every_class_has_a_label(seed):
    _, _, _, _, objective = problem(seed, lam=1.0, counts=(1, 1, 1))
    x, y = np.random.default_rng(seed).normal(size=(2, *objective.shape))
    value_at = [objective.value(objective.point(at)) for at in (x, y, (x + y) / 2)]
    assert value_at[2] <= (value_at[0] + value_at[1]) / 2 + 1e-9 * abs(value_at[0])


def test_a_class_without_labels_can_have_two_minima_with_a_hill_between():
    """The counter-example of spec 3.2: the unlabelled class may point either way."""
    _, _, _, _, objective = problem(0, n=60, lam=1.0, counts=(2, 2, 0))
    assert objective.curvature() < 0
    start = np.random.default_rng(0).normal(size=objective.shape)
    one = minimise(objective, start, tol=1e-9, max_iter=2000)
    mirrored = one.point.at.x * np.array([1.0, 1.0, -1.0])
    values = [objective.value(objective.point(x)) for x in (one.point.at.x, mirrored)]
    middle = objective.value(objective.point((one.point.at.x + mirrored) / 2))
    assert values[0] == pytest.approx(values[1], rel=1e-9)
    assert middle > values[0] + 1e-3


def test_a_class_without_labels_stays_empty_where_the_problem_is_convex():
    _, graph, known, _, objective = problem(0, lam=100.0, counts=(2, 2, 0))
    assert objective.curvature() > 0
    answer = solve(graph, known, 3, options(100.0, 0.0, 1e-9, 500))
    assert np.abs(answer.rows[:, 2]).max() == 0


@pytest.mark.parametrize("hard", [None, True, False])
def test_different_starts_and_an_independent_solver_agree(hard):
    weights, graph, known, sizes, objective = problem(hard=hard)
    found = minimise(objective, None, tol=1e-10, max_iter=1000)
    start = np.random.default_rng(5).normal(size=objective.shape)
    again = minimise(objective, start, tol=1e-10, max_iter=1000)
    rows = in_rows(graph, known, sizes, objective, found.point.at.x)
    np.testing.assert_allclose(in_rows(graph, known, sizes, objective, again.point.at.x), rows, atol=1e-5)

    def in_space_of_rows(u):
        v = rows.copy()
        v[known.codes < 0] = u.reshape(-1, v.shape[1])
        if hard:  # rows of one unit are one row
            for k in range(known.n_groups):
                members = np.flatnonzero(known.group == k)
                v[members] = v[members].mean(axis=0)
        return dense_value(weights, known, v, hard)

    free = int((known.codes < 0).sum()) * rows.shape[1]
    other = minimize(
        in_space_of_rows, np.zeros(free), method="L-BFGS-B", options={"maxfun": 10**6, "ftol": 1e-14}
    )
    assert found.value == pytest.approx(other.fun, rel=1e-6)
    assert found.value <= other.fun + 1e-9


def test_rows_of_the_answer_have_no_gradient():
    weights, graph, known, _, _ = problem()
    answer = solve(graph, known, 3, options(LAM, 0.0, 1e-9, 500))
    free = known.codes < 0
    largest = np.abs(gradient(weights, answer.rows, LAM)[free]).max()
    assert largest < 1e-6
    assert np.linalg.norm(gradient(weights, answer.rows, LAM)[free]) < 2 * answer.minimum.gradient_norm + 1e-9


def test_conjugate_directions_arrive_in_few_steps():
    _, _, _, _, objective = problem(n=200, m=60, lam=1000.0)
    assert len(minimise(objective, None, tol=1e-9, max_iter=500).history) < 50  # steepest descent takes 127


def strip(n, m, known):
    """Rows and anchors along a line, four anchors a row: labels have a long way to go."""
    at = np.sort(np.random.default_rng(0).random(n)) * (m - 3)
    columns = np.floor(at)[:, None].astype(int) + np.arange(4)
    weights = 1.0 + (at % 1)[:, None] * np.array([-1, -0.3, 0.3, 1])
    graph = AnchorGraph.of(
        sparse.csr_matrix(((weights / 4).ravel(), columns.ravel(), np.arange(0, 4 * n + 1, 4)), shape=(n, m))
    )
    codes = np.full(n, -1)
    codes[np.linspace(0, n - 1, known).astype(int)] = np.arange(known) % 3
    return graph, codes


@pytest.mark.parametrize("hard", [None, True, False])
def test_newtons_steps_are_few_and_end_where_plain_ones_do(hard):
    graph, codes = strip(8000, 600, 9)
    pairs = (NO_LINKS, NO_LINKS) if hard is None else (np.array([[700, 2900]]), np.array([[1200, 1300]]))
    known = combine(codes, *pairs, hard=bool(hard))
    objective = build_objective(
        graph, known, label_lengths(codes, 3, "balanced"), smoothness=1000.0, link_weight=100.0
    )
    plain = minimise(objective, None, tol=1e-9, max_iter=5000)
    guided = minimise(objective, None, tol=1e-9, max_iter=5000, newton=graph.newton(1000.0))
    assert guided.converged
    assert len(guided.history) < len(plain.history) / 2
    np.testing.assert_allclose(guided.point.at.x, plain.point.at.x, atol=1e-6)


@pytest.mark.parametrize("hard", [None, True])
def test_newtons_step_solves_the_equation_it_is_said_to_solve(hard):
    _, _, _, _, objective = problem(hard=hard)
    m, lead, pull = len(objective.degrees), 60.0, 44.0
    rng = np.random.default_rng(6)
    x, slope = rng.normal(size=(2, *objective.shape))
    graph_part = pull * objective.gram.toarray() / objective.degrees[:, None]
    exact = np.linalg.inv(lead * np.eye(m) - graph_part) - np.eye(m) / lead
    newton = Newton(lead, torch.from_numpy(exact.astype(np.float32)), torch.eye(m))
    point = objective.point(x)
    step = newton.step(point, slope)
    cross = step.T @ point.at.dual
    changed = lead * step + 4 * x @ (cross + cross.T)
    changed[:m] -= graph_part @ step[:m]
    np.testing.assert_allclose(changed, -slope, atol=1e-4)


def test_newtons_step_is_kept_for_the_next_labels_and_left_out_where_labels_are_many():
    graph, codes = strip(8000, 600, 9)
    settings = options(1000.0, 0.0, 1e-6, 500)
    many = combine(strip(8000, 600, 120)[1], NO_LINKS, NO_LINKS, hard=True)
    solve(graph, many, 3, settings)
    assert not graph._newton
    known = combine(codes, NO_LINKS, NO_LINKS, hard=True)
    first = solve(graph, known, 3, settings)
    kept = graph.newton(1000.0)
    more = codes.copy()
    more[[500, 3000]] = [0, 2]
    again = solve(graph, combine(more, NO_LINKS, NO_LINKS, hard=True), 3, settings, first.anchor_codes)
    assert graph.newton(1000.0) is kept
    assert len(again.minimum.history) < 30
    assert graph.newton(10.0) is not kept
    assert problem()[1].newton(1000.0) is None  # few anchors
    assert strip(4000, 600, 9)[0].newton(1000.0) is None  # few rows


def test_the_nearest_anchor_is_the_first_of_the_heaviest():
    weights = sparse.csr_matrix([[0.2, 0.4, 0.4], [0.0, 0.0, 1.0], [0.6, 0.0, 0.4]])
    assert AnchorGraph.of(weights).nearest.tolist() == [1, 2, 0]


def test_every_step_lowers_the_objective_and_the_record_of_it_is_right():
    _, _, _, _, objective = problem()
    found = minimise(objective, None, tol=1e-5, max_iter=500)
    values = [objective.value(objective.point(np.zeros(objective.shape)))]
    values += [record["objective"] for record in found.history]
    assert all(b < a for a, b in itertools.pairwise(values))
    assert values[-1] == pytest.approx(found.value, rel=1e-9)


def test_hard_links_make_rows_equal_and_pass_labels_on():
    _, graph, known, _, _ = problem(hard=True)
    answer = solve(graph, known, 3, options(LAM, MU, 1e-8, 500))
    np.testing.assert_array_equal(answer.rows[5], answer.rows[6])
    np.testing.assert_array_equal(answer.rows[5], answer.rows[7])
    assert known.codes[8] == known.codes[0] == 0


def test_soft_links_draw_together_and_push_apart():
    _, graph, known, _, _ = problem()
    _, _, linked, _, _ = problem(hard=False)
    free = solve(graph, known, 3, options(LAM, 0.0, 1e-8, 500)).rows
    tied = solve(graph, linked, 3, options(LAM, 50.0, 1e-8, 500)).rows
    assert np.linalg.norm(tied[5] - tied[6]) < 0.2 * np.linalg.norm(free[5] - free[6])
    alike = [np.corrcoef(rows[11], rows[12])[0, 1] for rows in (free, tied)]
    assert alike[1] < alike[0]


def test_links_only_add_curvature():
    _, _, _, _, objective = problem(hard=False)
    form = objective.links
    center = np.eye(3) - 1 / 3
    whole = np.kron(form.together.toarray(), np.eye(3)) + np.kron(form.apart.toarray(), center)
    assert np.linalg.eigvalsh(whole)[0] > -1e-12


def test_smoothness_is_a_fit_of_rows_to_anchors_and_the_means_are_the_best_anchors():
    """The identity of spec 2.6."""
    weights = random_graph(30, 8, 3, 0)
    rng = np.random.default_rng(0)
    rows, degrees = rng.normal(size=(30, 3)), weights.sum(axis=0)
    means = weights.T @ rows / degrees[:, None]

    def fit(anchors):
        return np.sum(weights * np.sum((rows[:, None] - anchors) ** 2, axis=2))

    smoothness = np.trace(rows.T @ (np.eye(30) - dense_b(weights)) @ rows)
    assert fit(means) == pytest.approx(smoothness, rel=1e-12)
    assert fit(means + 1e-3 * rng.normal(size=means.shape)) > fit(means)


def test_without_labels_the_minimum_is_the_closed_form_of_the_spectrum():
    """Spec 3.9: the top eigenvectors, each as long as its eigenvalue allows; turning them changes nothing."""
    weights, lam, c = random_graph(30, 8, 3, 1), 1.0, 3
    b = dense_b(weights)
    eigenvalues = np.linalg.eigvalsh(b)
    lengths = np.maximum(0, ((lam + 2) * eigenvalues[::-1][:c] - lam) / 2)
    closed = np.sum(b**2) - np.sum(lengths**2)
    graph = AnchorGraph.of(sparse.csr_matrix(weights))
    known = combine(np.full(30, -1), NO_LINKS, NO_LINKS, hard=True)
    objective = build_objective(graph, known, np.ones(c), smoothness=lam, link_weight=0.0)
    start = np.random.default_rng(0).normal(size=objective.shape)
    found = minimise(objective, start, tol=1e-9, max_iter=5000)
    assert found.value == pytest.approx(closed, rel=1e-6)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(c, c)))[0]
    assert objective.value(objective.point(found.point.at.x @ turn)) == pytest.approx(found.value, rel=1e-12)
    assert objective.curvature() == pytest.approx(-4.0, abs=1e-9)


def test_permuting_classes_permutes_the_columns_of_the_answer():
    _, graph, known, _, _ = problem(counts=(2, 2, 2))
    order = np.array([2, 0, 1])
    renamed = combine(np.where(known.codes >= 0, order[known.codes], -1), NO_LINKS, NO_LINKS, hard=True)
    settings = options(LAM, 0.0, 1e-10, 500)
    first, second = solve(graph, known, 3, settings), solve(graph, renamed, 3, settings)
    np.testing.assert_allclose(second.rows[:, order], first.rows, atol=1e-8)


def test_a_warm_start_ends_where_a_cold_one_does():
    _, graph, known, _, _ = problem()
    settings = options(LAM, 0.0, 1e-9, 500)
    first = solve(graph, known, 3, settings)
    again = solve(graph, known, 3, settings, first.anchor_codes)
    assert len(again.minimum.history) <= 1
    np.testing.assert_allclose(again.rows, first.rows, atol=1e-8)


def test_a_search_cut_short_says_so():
    _, graph, known, _, _ = problem()
    with pytest.warns(UserWarning, match="max_iter=2"):
        solve(graph, known, 3, options(LAM, 0.0, 1e-12, 2))


@given(st.lists(st.floats(-3, 3), min_size=3, max_size=3), st.floats(0.1, 3))
def test_the_step_is_the_lowest_point_of_the_line(rest, lead):
    quartic = np.array([lead, *rest])
    grid = np.linspace(-20, 20, 4001)
    assert np.polyval([*quartic, 0], best_step(quartic)) <= np.polyval([*quartic, 0], grid).min() + 1e-6
