import torch

from coterie.ops.cluster_statistics import cluster_centers, cluster_means


def rings(n_rows: int = 80) -> tuple[torch.Tensor, torch.Tensor]:
    angles = torch.linspace(0, 2 * torch.pi, n_rows + 1)[:-1]
    circle = torch.stack([angles.cos(), angles.sin()], 1)
    return torch.cat([circle, 3 * circle]), torch.arange(2).repeat_interleave(n_rows)


def test_means_stand_for_clusters_that_are_balls():
    rows = torch.randn(90, 4, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(90) % 3
    rows += 10 * torch.eye(4)[labels]
    assert torch.equal(cluster_centers(rows, labels, 3), cluster_means(rows, labels, 3))


def test_a_ring_around_another_is_stood_for_by_one_of_its_rows():
    rows, labels = rings()
    means = cluster_means(rows, labels, 2)
    assert torch.allclose(means[0], means[1], atol=1e-5)
    points = cluster_centers(rows, labels, 2)
    assert (points[0] - points[1]).norm() > 1
    for cluster in range(2):
        assert min((points[cluster] - row).norm() for row in [means[0], *rows[labels == cluster]]) < 1e-6


def test_a_cluster_without_rows_stays_at_zero():
    points = cluster_centers(torch.tensor([[1.0], [2.0]]), torch.tensor([0, 0]), 2)
    assert points.tolist() == [[1.5], [0.0]]
