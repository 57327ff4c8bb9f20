"""The same rows in another form get the same labels, or one sentence, from every public class."""

import numpy as np
import pandas as pd
import pytest
from benchmarks.making import make
from scipy import sparse

from coterie import GraphClustering, InputError, load
from coterie.methods.registry import METHODS

SHORT = {
    "PCX": {"max_epochs": 2, "hidden": (8,)},
    "LargeMvCNet": {"n_landmarks": 20},
    "MVSIB": {"max_epochs": 2, "hidden": (8,)},
    "SSCNet": {"max_epochs": 2, "n_atoms": 16, "n_landmarks": 40},
    "SSC": {"tol": 0.1},
}
NAMES = list("abcdef")
KINDS = np.arange(60) % 3
SPARSE = ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def whole_numbers():
    """Return rows of three groups that overlap, of small whole numbers, which every type holds exactly."""
    rng = np.random.default_rng(0)
    return np.round(5 * rng.normal(size=(3, 6))[KINDS] + 2 * rng.normal(size=(60, 6)))


def read_only(rows):
    rows = rows.copy()
    rows.flags.writeable = False
    return rows


def frame(rows):
    return pd.DataFrame(rows, columns=NAMES)


FORMS = {
    **{
        name: lambda rows, name=name: rows.astype(name) for name in ("f2", "f4", ">f8", "g", "i1", "i4", "i8")
    },
    "Fortran order": np.asfortranarray,
    "every second column": lambda rows: np.repeat(rows, 2, axis=1)[:, ::2],
    "read-only": read_only,
    "masked nowhere": np.ma.masked_array,
    "lists": np.ndarray.tolist,
    "objects": lambda rows: rows.astype(object),
    "frame": frame,
    "nullable whole numbers": lambda rows: frame(rows).astype("Int64"),
    "nullable numbers": lambda rows: frame(rows).astype("Float64"),
    **{f"{kind} matrix": lambda rows, kind=kind: getattr(sparse, f"{kind}_matrix")(rows) for kind in SPARSE},
    **{f"{kind} array": lambda rows, kind=kind: getattr(sparse, f"{kind}_array")(rows) for kind in SPARSE},
}
TRUTHS = {
    "bool": lambda rows: rows.astype(bool),
    "u1": lambda rows: rows.astype(np.uint8),
    "frame of bool": lambda rows: frame(rows.astype(bool)),
    "nullable bool": lambda rows: frame(rows.astype(bool)).astype("boolean"),
    "sparse bool": lambda rows: sparse.csr_array(rows.astype(bool)),
}


def fit(method, X):
    model = make(method.load(), 3, random_state=0, **SHORT.get(method.name, {}))
    known = np.where(np.arange(60) < 10, KINDS, -1)
    return model.fit(X, known) if method.uses_labels else model.fit(X)


@pytest.fixture(scope="module", params=METHODS, ids=lambda method: method.name)
def method(request):
    return request.param


@pytest.mark.parametrize(
    ("rows", "forms"),
    [(whole_numbers(), FORMS), (1.0 * (whole_numbers() > 0), TRUTHS)],
    ids=["numbers", "bool"],
)
def test_a_form_that_holds_the_same_numbers_gets_the_same_labels(method, rows, forms):
    wanted = fit(method, rows)
    predicted = wanted.predict(rows)
    for name, form in forms.items():
        X = form(rows)
        np.testing.assert_array_equal(fit(method, X).labels_, wanted.labels_, err_msg=name)
        np.testing.assert_array_equal(wanted.predict(X), predicted, err_msg=name)


def test_what_a_mask_hides_is_not_taken_for_a_number(method):
    rows = whole_numbers()
    hidden = np.ma.masked_array(rows.astype(int), mask=False)
    hidden[7, 2] = np.ma.masked
    empty = rows.copy()
    empty[7, 2] = np.nan
    said = []
    for X in (hidden, empty):
        with pytest.raises(InputError, match="row 7") as refusal:
            fit(method, X)
        said.append(str(refusal.value))
    assert said[0] == said[1]


def test_the_columns_of_fit_are_matched_by_name_in_any_order_and_among_others(method):
    table = frame(whole_numbers())
    model = fit(method, table)
    wanted = model.predict(table)
    np.testing.assert_array_equal(model.predict(table[NAMES[::-1]].assign(more="x")), wanted)
    with pytest.raises(InputError, match="X lacks the column 'c': new rows need every column of the fit"):
        model.predict(table.drop(columns="c"))
    with pytest.raises(InputError, match="X has none of the columns of fit: a, b, c"):
        model.predict(table.rename(columns=str.upper))


def test_the_columns_of_a_view_or_a_file_are_matched_by_name_also_by_a_loaded_model(tmp_path):
    table = frame(whole_numbers())
    one, two = table[["a", "b", "c"]], table[["d", "e", "f"]]
    model = GraphClustering(3, random_state=0).fit({"one": one, "two": two})
    model.save(tmp_path / "model.coterie")
    for each in (model, load(tmp_path / "model.coterie")):
        turned = {"two": two[["f", "d", "e"]], "one": one}
        np.testing.assert_array_equal(each.predict(turned), model.labels_)
    table.to_csv(tmp_path / "rows.csv", index=False)
    table[NAMES[::-1]].to_csv(tmp_path / "turned.csv", index=False)
    model = GraphClustering(3, random_state=0).fit(tmp_path / "rows.csv")
    np.testing.assert_array_equal(model.predict(tmp_path / "turned.csv"), model.labels_)


def test_words_and_gaps_go_into_every_method_and_come_back_from_its_file(method, tmp_path):
    numbers = whole_numbers()
    table = frame(numbers).assign(word=np.array(["x", "y", "z"])[KINDS])
    table.loc[7, "c"] = np.nan
    model = fit(method, table)
    assert model.n_features_in_ == 7
    model.save(tmp_path / "model.coterie")
    same = load(tmp_path / "model.coterie")
    for rows in (table, table[table.columns[::-1]], table[7:9]):
        np.testing.assert_array_equal(same.predict(rows), model.predict(rows))
    with pytest.raises(InputError, match="X lacks the column 'word'"):
        same.predict(frame(numbers))


@pytest.mark.parametrize("name", ["GraphClustering", "PCX", "LargeMvCNet", "MVSIB", "SSC"])
@pytest.mark.parametrize("n", [2, 3])
def test_as_many_clusters_as_rows_are_as_many_clusters(name, n):
    method = next(method for method in METHODS if method.name == name)
    rows = np.array([[0.0, 1, 2], [9, 8, 7], [-9, 5, 20]])[:n]
    model = make(method.load(), n, random_state=0, **({"max_epochs": 2} if name in ("PCX", "MVSIB") else {}))
    assert sorted(model.fit(rows).labels_) == list(range(n))
