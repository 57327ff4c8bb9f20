import pytest
import torch

from coterie.ops.pca import principal_axes


@pytest.mark.parametrize("shape", [(40, 6), (6, 40)])
def test_axes_are_found_where_single_precision_does_not_converge(shape, monkeypatch):
    rows = torch.randn(*shape, generator=torch.Generator().manual_seed(0))
    usual = principal_axes(rows, 3, generator=torch.Generator())
    eigh = torch.linalg.eigh

    def fails_in_single_precision(matrix):
        if matrix.dtype == torch.float32:
            raise torch.linalg.LinAlgError("did not converge")
        return eigh(matrix)

    monkeypatch.setattr(torch.linalg, "eigh", fails_in_single_precision)
    found = principal_axes(rows, 3, generator=torch.Generator())
    assert found.dtype == rows.dtype
    torch.testing.assert_close((found.T @ usual).abs(), torch.eye(3), atol=1e-3, rtol=0)
