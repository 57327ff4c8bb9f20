"""clustpy's deep clustering with PCX's encoder and as many epochs as PCX takes."""

# n rows, d columns

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from benchmarks.peers.torchvision import stand_in
from coterie import PCX
from coterie.engine.schedule import auto_epochs

stand_in()  # clustpy imports it
from clustpy import deep  # noqa: E402
from clustpy.deep import neural_networks  # noqa: E402

_PRETRAINING = 0.4
"""Share of the epochs before there are clusters: 100 of 250 are clustpy's own."""


def dec(tables: Sequence[np.ndarray], k: int, seed: int) -> np.ndarray:
    """Return the clusters of DEC (Xie, Girshick and Farhadi 2016)."""
    return _labels("DEC", "FeedforwardAutoencoder", _unit_columns(tables), k, seed)


def idec(tables: Sequence[np.ndarray], k: int, seed: int) -> np.ndarray:
    """Return the clusters of IDEC (Guo and others 2017)."""
    return _labels("IDEC", "FeedforwardAutoencoder", _unit_columns(tables), k, seed)


def dcn(tables: Sequence[np.ndarray], k: int, seed: int) -> np.ndarray:
    """Return the clusters of DCN (Yang and others 2017)."""
    return _labels("DCN", "FeedforwardAutoencoder", _unit_columns(tables), k, seed)


def vade(tables: Sequence[np.ndarray], k: int, seed: int) -> np.ndarray:
    """Return the clusters of VaDE (Jiang and others 2017), which wants columns between 0 and 1."""
    rows = np.hstack(tables)
    low, high = rows.min(axis=0), rows.max(axis=0)
    rows = np.clip((rows - low) / np.where(high > low, high - low, 1), 0, 1)
    return _labels("VaDE", "VariationalAutoencoder", rows, k, seed)


def _unit_columns(tables: Sequence[np.ndarray]) -> np.ndarray:
    """Return rows whose columns have squares of mean 1, as DEC's authors scale them; zeros stay zeros."""
    rows = np.hstack(tables)
    return rows / np.sqrt(np.mean(np.square(rows)))


def codes(table: np.ndarray, n_code: int, seed: int) -> np.ndarray:
    """Return the codes of an auto-encoder that is trained as long as the others before they have clusters."""
    usual, rows = PCX().get_params(), _unit_columns([table]).astype(np.float32)
    epochs = round(_PRETRAINING * auto_epochs(math.ceil(len(rows) / usual["batch_size"])))
    torch.manual_seed(seed)
    layers = [rows.shape[1], *usual["hidden"], n_code]
    network = neural_networks.FeedforwardAutoencoder(layers)
    loader = _loader(rows, usual["batch_size"], True, seed)
    network.fit(n_epochs=epochs, optimizer_params={"lr": 1e-3}, dataloader=loader)
    network.eval()
    with torch.no_grad():
        return network.encode(torch.from_numpy(rows)).numpy()


def _labels(method: str, network: str, rows: np.ndarray, k: int, seed: int) -> np.ndarray:
    usual = PCX().get_params()
    epochs = auto_epochs(math.ceil(len(rows) / usual["batch_size"]))
    before = round(_PRETRAINING * epochs)
    layers = [rows.shape[1], *usual["hidden"], usual["n_code"]]
    rows = rows.astype(np.float32)
    model = getattr(deep, method)(
        k, batch_size=usual["batch_size"], pretrain_epochs=before, clustering_epochs=epochs - before,
        neural_network=(getattr(neural_networks, network), {"layers": layers}),
        embedding_size=usual["n_code"], device="cpu", random_state=seed,
        custom_dataloaders=tuple(_loader(rows, usual["batch_size"], shuffle, seed) for shuffle in (True, False)),
    )  # fmt: skip
    return model.fit(rows).labels_


class _Rows(Dataset):
    """Rows with their numbers, a batch at a time; one by one, as clustpy's own, costs more than the network."""

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = torch.from_numpy(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitems__(self, numbers: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        chosen = torch.tensor(numbers)
        return chosen, self.rows[chosen]


def _loader(rows: np.ndarray, batch_size: int, shuffle: bool, seed: int) -> DataLoader:
    generator = torch.Generator().manual_seed(seed)
    return DataLoader(_Rows(rows), batch_size, shuffle, collate_fn=list, generator=generator)
