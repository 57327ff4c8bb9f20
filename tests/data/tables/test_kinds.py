"""The kind of a column, guessed from its cells and its name, and the numbers and dates that cells hold."""

import numpy as np
import pytest

from coterie.data.tables.columns import Column, MixedTable, cells_of
from coterie.data.tables.kinds import guess_kinds
from coterie.data.tables.parsing import parse_date, parse_number
from coterie.errors import InputError


def kind_of(cells, name="a", given=None):
    """Guess the kind of a column of written cells, beside one of numbers."""
    return guess_kinds(MixedTable((Column(name, cells_of(cells)),), "t.csv"), given)[0]


@pytest.mark.parametrize(
    ("cells", "name", "kind"),
    [
        (["1,50 €", "1.200,00 €", ""], "spend", "money"),
        (["12 %", "7,5 %"], "share", "percent"),
        (["1", "2.5", "NA"], "a", "number"),
        (["ja", "nein", "ja"], "a", "boolean"),
        (["2026-11-18", "2026-01-02 10:30"], "a", "date"),
        (["18.11.2026", "2.1.26"], "a", "date"),
        (["S", "XL", "M", "s"], "a", "category"),
        (["S", "XL", "M"], "a", "grade"),
        (["rot", "blau", "rot"], "a", "category"),
        (["01067", "80331", "01067"], "plz", "category"),
        ([f"K-{i}" for i in range(30)], "code", "identifier"),
        ([str(1000 + i) for i in range(30)], "customer_id", "identifier"),
        ([str(1000 + i) for i in range(30)], "metres", "number"),
        ([f"a long remark of customer {i}" for i in range(30)], "note", "text"),
        (["", "-", "n/a"], "a", "empty"),
        (["x", "x", ""], "a", "constant"),
        (["+49 171 22 33", "+49 30 11 22", "+49 30 11 22", "+49 171 22 33"], "phone", "category"),
    ],
)
def test_the_kind_of_a_column_is_guessed(cells, name, kind):
    assert kind_of(cells, name).name == kind


def test_a_guess_can_be_overruled():
    assert kind_of(["1", "2", "1"], given={"a": "category"}).name == "category"
    assert kind_of(["c", "a", "b"], given={"a": "b<a<c"}).levels == ("b", "a", "c")
    assert kind_of(["10 t", "2 t"], given={"a": "grade"}).levels == ("2 t", "10 t")
    for given, message in (
        ({"b": "date"}, "names the column 'b', which t.csv does not have: its columns are a"),
        ({"a": "colour"}, "gives 'a' the kind 'colour': give one of number, money"),
        ({"a": "boolean"}, "kind boolean, but it has 3 different values"),
    ):
        with pytest.raises(InputError, match=message):
            kind_of(["1", "2", "3"], given=given)


def test_one_decimal_sign_of_a_file_decides_what_a_column_does_not_show():
    shown, hidden = Column("a", cells_of(["1,5", "2"])), Column("b", cells_of(["1.234", "2.000"]))
    assert guess_kinds(MixedTable((shown, hidden), "t.csv"))[1].decimal == ","
    assert guess_kinds(MixedTable((hidden,), "t.csv"))[0].decimal == "."


@pytest.mark.parametrize(
    ("cell", "decimal", "number"),
    [
        ("1.234,50 €", ",", 1234.5),
        ("€ 1.234.567", ",", 1234567),
        ("$1,234.50", ".", 1234.5),
        ("CHF 1'200.50", ".", 1200.5),
        ("1 200,5 EUR", ",", 1200.5),
        ("\u22123", ".", -3),
        ("1e3", ".", 1000),
        ("12.34,5", ",", None),
        ("1_000", ".", None),
        ("12:30", ".", None),
        ("EUR", ".", None),
    ],
)
def test_a_written_number_is_read_by_its_decimal_sign(cell, decimal, number):
    assert parse_number(cell, decimal) == number


def test_dates_that_do_not_exist_are_none():
    assert parse_date("29.2.2024") is not None
    for cell in ("29.2.2023", "2024-13-01", "1.2", "1-2.2024", "00.01.2024", "2024-01-01 25:00"):
        assert parse_date(cell) is None


def test_numbers_that_count_or_name_the_rows_are_told_by_their_name():
    values = np.arange(5.0) + 7
    table = MixedTable(
        (Column("Kunden-Nr", values), Column("year", values), Column("b", values * 0)), "t.csv"
    )
    assert [kind.name for kind in guess_kinds(table)] == ["identifier", "number", "constant"]
