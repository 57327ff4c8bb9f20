"""What LargeMvC-Net's layers see of views, and the share of it that codes could explain."""

import numpy as np
import torch
from sklearn.datasets import make_blobs

from coterie.methods.largemvc import fitting
from coterie.methods.largemvc.features import LandmarkFeatures, dense


def test_landmark_features_weigh_columns_equally_and_come_back():
    X = torch.from_numpy(make_blobs(200, n_features=6, centers=4, random_state=0)[0]).float()
    features = LandmarkFeatures(20, 6).fit(X, 3 * X + 1, generator=torch.Generator().manual_seed(0))
    found = dense(features(X))
    assert abs(float(found.square().sum(1).mean()) - 1) < 1e-5
    assert ((found > 0).sum(1) <= 5).all()
    heaviness = (found / features.scale).sum(0) * features.scale.square()
    torch.testing.assert_close(heaviness, heaviness.mean().expand(20))
    back = features.restore(found)
    assert float((back - (3 * X + 1)).square().mean()) < 0.2 * float((3 * X).var())


def test_the_share_that_codes_could_explain_is_the_leading_variance():
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(50, 2, generator=generator) @ torch.randn(2, 7, generator=generator)

    shares = fitting.best_shares([rows, torch.eye(50)], 2)
    np.testing.assert_allclose(shares, [1.0, 2 / 50], rtol=1e-4)
