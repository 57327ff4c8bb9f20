"""The part of the page about how many clusters there are."""

import re

from coterie.explore import write_report
from coterie.explore.count_panel import count_panel
from coterie.graph.count import CountFigures
from coterie.methods.choosing.clusters import KChoice

CHOICE = KChoice(
    tuple(
        CountFigures(k, drop, stability, 0.2)
        for k, drop, stability in ((2, 0.1, 0.6), (4, 0.5, 0.9), (8, 0.05, 0.3))
    ),
    1200,
)


def lines(page):
    return [
        [tuple(map(float, point.split(","))) for point in found.split()]
        for found in re.findall(r'<polyline points="([^"]+)"', page)
    ]


def test_a_number_that_a_person_gave_needs_no_panel():
    assert count_panel(None) == ""


def test_the_sentence_the_plot_and_the_numbers_are_shown():
    page = count_panel(CHOICE)
    assert "4 clusters, on which resampled graphs agree to 0.90" in page
    assert "Estimated from 1,200 rows" in page
    assert "Four figures over 2 to 8 clusters; 4 were chosen." in page
    assert '<th scope="row">4</th><td>0.125</td><td>0.500</td><td>0.900</td><td>0.200</td>' in page


def test_curves_rise_with_their_figures_and_numbers_lie_at_equal_factors():
    stability = lines(count_panel(CHOICE))[-2]
    (left, at_2), (middle, at_4), (right, at_8) = stability
    assert at_4 < at_2 < at_8
    assert abs((middle - left) - (right - middle)) < 0.2


def test_a_single_number_can_be_drawn():
    assert "Four figures over 5 to 5 clusters" in count_panel(KChoice((CountFigures(5, 0.9, 0.5, 0.5),), 100))


def test_the_report_has_the_panel_where_the_rows_were_asked(fitted, tmp_path):
    model, X = fitted([[0, 0], [5, 5]], [30, 20])
    assert "How many clusters" not in write_report(model, X, tmp_path / "a.html").read_text()
    model.k_choice_ = CHOICE
    assert "How many clusters" in write_report(model, X, tmp_path / "b.html").read_text()
