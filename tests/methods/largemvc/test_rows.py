"""Rows with few features against the tables they stand for."""

import pytest
import torch
from tests.methods.largemvc.problems import BETA, anchors_for, network_for

from coterie.methods.largemvc.features import SparseRows, dense, padded, scores, squares, sums
from coterie.methods.largemvc.network import AnchorModule

WIDTHS = (12, 9, 3)  # m = 4 anchors are more than the last has features


def few_features(seed, n=40, width=12, p=3):
    generator = torch.Generator().manual_seed(seed)
    columns = torch.stack([torch.randperm(width, generator=generator)[:p] for _ in range(n)])
    return SparseRows(columns, torch.rand(n, p, generator=generator, dtype=torch.float64), width)


def naive_table(rows):
    table = torch.zeros(len(rows), rows.width).double()
    for i in range(len(rows)):
        for column, value in zip(rows.columns[i], rows.values[i], strict=True):
            table[i, column] += value
    return table


@pytest.mark.parametrize("seed", range(3))
def test_products_squares_and_sums_are_those_of_the_table(seed):
    rows = few_features(seed)
    table, anchors = naive_table(rows), anchors_for(seed, widths=(12,))[0]
    codes = torch.rand(40, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    torch.testing.assert_close(dense(rows), table)
    torch.testing.assert_close(scores(rows, anchors), table @ anchors.T)
    torch.testing.assert_close(squares(rows), table.square().sum(1))
    torch.testing.assert_close(sums(codes, rows), codes.T @ table)
    narrow = SparseRows(rows.columns.int(), rows.values.float(), rows.width)
    torch.testing.assert_close(scores(narrow, anchors.float()), (table @ anchors.T).float())
    torch.testing.assert_close(sums(codes, narrow), codes.T @ table)


def test_cutting_weighing_and_padding_are_those_of_the_table():
    rows = few_features(0)
    table = naive_table(rows)
    assert torch.equal(dense(rows[:7]), table[:7])
    assert torch.equal(dense(padded(rows, 5)), padded(table, 5))
    factors = torch.arange(40.0).double()[:, None]
    assert torch.equal(dense(rows * factors), table * factors)


def test_the_layers_and_the_anchor_step_see_no_difference():
    rows = [few_features(v, width=width) for v, width in enumerate(WIDTHS)]
    tables = [naive_table(x) for x in rows]
    present = torch.ones(40, 3).double()
    present[::3, 1] = 0
    rows = [x * present[:, v : v + 1] for v, x in enumerate(rows)]
    tables = [x * present[:, v : v + 1] for v, x in enumerate(tables)]
    anchors = anchors_for(3, widths=WIDTHS)
    network = network_for(tables, anchors, 3, 0.05, BETA)
    few, whole = network(rows, present), network(tables, present)
    for one, other in zip(few, whole, strict=True):
        torch.testing.assert_close(one.codes, other.codes)
        torch.testing.assert_close(one.residuals, other.residuals)
        torch.testing.assert_close(one.weights, other.weights)
    assert (whole[-1].weights < 1).any()
    assert (whole[-1].codes > 0).any()
    steps = []
    for given, layers in ((rows, few), (tables, whole)):
        module = AnchorModule(anchors)
        module.add(layers[-1].codes, given, layers[-1].weights, present)
        steps.append(module.step())
    for one, other in zip(*steps, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=0)
    torch.testing.assert_close(
        network.residuals(rows, few[-1].codes, 3), network.residuals(tables, whole[-1].codes, 3)
    )


def test_the_score_of_a_row_does_not_depend_on_its_company():
    rows = few_features(5, n=1000)
    rows = SparseRows(rows.columns, rows.values.float(), rows.width)
    anchors = anchors_for(5, widths=(12,))[0].float()
    for given, places in ((rows, anchors), (rows.double(), anchors.double())):
        together = scores(given, places)
        for row in (0, 513, 999):
            assert torch.equal(scores(given[row : row + 1], places)[0], together[row])
