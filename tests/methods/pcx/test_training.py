"""The steps of PC-X's training: phases, weights, ablations."""

import tracemalloc

import numpy as np
import pytest
import torch
from benchmarks.making import make
from tests.tracing import called_by, not_run

from coterie import PCX
from coterie.data import Scaler, as_views
from coterie.data.batches import Batch, Batches
from coterie.engine.loop import Loop
from coterie.graph.metric import MetricChoice
from coterie.graph.neighbour_pairs import NeighbourPairs
from coterie.methods.pcx import objective, singular_shares
from coterie.methods.pcx.network import draw_network, encode_rows
from coterie.methods.pcx.options import PCXSettings
from coterie.methods.pcx.training import Assigned, PCXTask, start_clusters, start_encoder
from coterie.methods.run_setup import ComparedRows
from coterie.nn.autoencoder import mlp
from coterie.ops.cluster_statistics import cluster_centers, cluster_means, count_and_sum
from coterie.ops.memberships import log_memberships

X = np.random.default_rng(0).normal(size=(120, 6)).astype(np.float32)


def task_of(n_epochs=8, **params) -> PCXTask:
    model = make(PCX, 4, hidden=(16,), n_code=3, batch_size=40, max_epochs=n_epochs, random_state=0, **params)
    settings = PCXSettings.of(model._resolved())
    views = as_views(X)
    batches = Batches(views, Scaler("none").fit(views), batch_size=40, seed=0)
    metric = MetricChoice("euclidean", 6, {})
    rows = ComparedRows(batches, torch.from_numpy(X), metric, 0, torch.Generator().manual_seed(0))
    return PCXTask(draw_network(settings, rows), settings, batches, seed=0)


def a_batch(partners=True) -> Batch:
    rows = np.arange(40)
    return Batch(rows, [X[rows]], Batch(rows + 40, [X[rows + 40]]) if partners else None)


def in_cluster_phase(**params) -> PCXTask:
    task = task_of(**{"code_noise": 0.0, "hold": 0.0, "init": "kmeans", **params})
    start_clusters(task, None)
    task.begin_epoch(7)
    return task


def test_centroids_are_buffers_that_never_get_a_gradient():
    task = in_cluster_phase()
    losses, carried = task.losses(a_batch())
    losses["loss"].backward()
    network = task.network
    assert "centroids" in network.state_dict()
    assert not network.centroids.requires_grad
    assert network.centroids.grad is None
    assert all(p is not network.centroids for p in task.optimizer.parameters)
    before = network.centroids.clone()
    task.after_step(carried)
    assert not torch.equal(network.centroids, before)


def test_every_layer_gets_a_gradient():
    task = in_cluster_phase()
    losses, _ = task.losses(a_batch())
    losses["loss"].backward()
    for name, parameter in task.network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_the_loss_is_the_weighted_sum_of_its_terms():
    weights = {
        "centroid_weight": 0.3,
        "entropy_weight": 0.2,
        "neighbor_weight": 0.7,
        "consistency_weight": 0.4,
    }
    task = in_cluster_phase(relative_weights=False, **weights)
    losses, _ = task.losses(a_batch())
    total = losses["reconstruction"] + 0.7 * losses["contrast"] + 0.3 * losses["clustering"]
    total = total + 0.2 * losses["entropy"] + 0.4 * losses["consistency"]
    torch.testing.assert_close(losses["loss"], total)


def test_entropy_and_size_weights_wait_for_the_end_of_the_burn_in():
    task = task_of(n_epochs=8, burn_in=0.5, imbalance=True, init="kmeans", hold=0.0, relative_weights=False)
    start_clusters(task, None)
    task.network.sizes.copy_(torch.tensor([1.0, 5.0, 10.0, 24.0]))
    for epoch, on in [(0, False), (3, False), (4, True), (7, True)]:
        task.begin_epoch(epoch)
        losses, carried = task.losses(a_batch())
        assert ("entropy" in losses) is on
        distances = task.network.distances(carried.codes)
        weights = objective.size_weights(task.network.sizes, 5.0) if on else None
        torch.testing.assert_close(
            losses["clustering"].detach(), objective.clustering(distances, carried.labels, weights)
        )


def test_relative_weights_do_not_see_the_scale_of_the_code():
    parts = {}
    for factor in (1.0, 10.0):
        task = in_cluster_phase(relative_weights=True, entropy_weight=0.2, neighbor_weight=0.0)
        last = task.network.encoder[-1]
        with torch.no_grad():
            last.weight.mul_(factor)
            last.bias.mul_(factor)
            task.network.centroids.mul_(factor)
            task.network.fuse.mix.weight.div_(factor)
        losses, carried = task.losses(a_batch(partners=False))
        weighted = losses["loss"] - losses["reconstruction"] - 0.2 * losses["entropy"]
        sharp = task._tau() * task.network.distances(carried.codes)
        parts[factor] = (weighted, sharp, carried.labels, losses["loss"])
    for one, ten in zip(parts[1.0], parts[10.0], strict=True):
        torch.testing.assert_close(one, ten, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("hold", [0.9, 1.0])
def test_rows_keep_their_initial_labels_until_the_nearest_centroids_give_them_or_throughout(hold):
    task = task_of(hold=hold)
    alternating = torch.arange(120) % 4
    start_clusters(task, alternating.numpy())
    task.begin_epoch(0)
    rows = a_batch().rows
    losses, carried = task.losses(a_batch())
    assert torch.equal(carried.labels, torch.from_numpy(rows % 4))
    distances = task.network.distances(carried.codes)
    naive = objective.consistency(log_memberships(distances, task._tau()), carried.labels)
    torch.testing.assert_close(losses["consistency"].detach(), naive.detach(), rtol=1e-4, atol=1e-5)
    assert "entropy" not in losses
    task._initial = encode_rows(task.network, torch.from_numpy(X))[1].argmin(1).int()
    task.end_epoch(0)
    task.begin_epoch(1)
    losses, carried = task.losses(a_batch())
    assert ("entropy" in losses) is (hold < 1)
    if hold == 1:
        assert task._keeps_initial()
        return
    assert torch.equal(carried.labels, task.network.distances(carried.codes).argmin(1))
    positives = task.network.encode(torch.from_numpy(X[rows + 40]))
    theirs = task.network.distances(positives).argmin(1)
    naive = objective.consistency(log_memberships(task.network.distances(carried.codes), task._tau()), theirs)
    torch.testing.assert_close(losses["consistency"].detach(), naive.detach(), rtol=1e-4, atol=1e-5)


def test_what_is_seen_of_rows_is_projected_once_and_encoded_as_the_rows_are():
    rows = np.random.default_rng(1).normal(size=(90, 12)).astype(np.float32)
    views = as_views(rows)
    settings = PCXSettings.of(make(PCX, 3, hidden=(16,), n_axes=5, metric="whitened")._resolved())
    batches = Batches(views, Scaler("none").fit(views), batch_size=30, seed=0)
    compared = ComparedRows(
        batches, torch.from_numpy(rows), MetricChoice("whitened", 5, {}), 0, torch.Generator().manual_seed(0)
    )
    network = draw_network(settings, compared)
    pairs = NeighbourPairs(batches, lambda x: x, 5)
    task, plain = (PCXTask(network, settings, batches, graph=graph, seed=0) for graph in (pairs, None))
    assert task.seen.shape == (90, 5)
    assert plain.seen is None
    batch = next(iter(batches.epoch(0)))
    torch.testing.assert_close(task._codes(batch), plain._codes(batch))


def test_the_encoder_starts_from_the_hidden_layers_of_the_classifier():
    torch.manual_seed(0)
    encoder, classifier, seen = mlp([6, 16, 8, 3]), mlp([6, 16, 8, 4]), torch.from_numpy(X)
    start_encoder(encoder, classifier, seen)
    features = classifier[:-1](seen).detach()
    torch.testing.assert_close(encoder[:-1](seen).detach(), features)
    codes = encoder(seen).detach()
    assert codes.std(0).mean() == pytest.approx(1.0, rel=1e-4)
    left = torch.linalg.svd(features - features.mean(0), full_matrices=False)[0][:, :3]
    torch.testing.assert_close(left @ (left.T @ codes), codes, rtol=1e-3, atol=1e-3)


def test_a_cluster_whose_mean_is_not_its_own_starts_from_one_of_its_rows():
    alternating = torch.arange(120) % 4  # clusters that are nowhere: their means are all but one point
    task = task_of()
    start_clusters(task, alternating.numpy())
    codes, centroids = task.encode_all(), task.network.centroids
    torch.testing.assert_close(centroids, cluster_centers(codes, alternating, 4))
    assert not torch.allclose(centroids, cluster_means(codes, alternating, 4))
    torch.testing.assert_close(task.network.sizes, torch.full((4,), 10.0))


def test_labels_do_not_depend_on_tau():
    labels = [in_cluster_phase(tau=tau).losses(a_batch())[1].labels for tau in (0.1, 1.0, 50.0)]
    assert torch.equal(labels[0], labels[1])
    assert torch.equal(labels[0], labels[2])


def test_permuting_the_centroids_permutes_the_labels_and_nothing_else():
    task = in_cluster_phase()
    first, carried = task.losses(a_batch())
    order = torch.tensor([2, 0, 3, 1])
    task = in_cluster_phase()
    task.network.centroids.copy_(task.network.centroids[order])
    second, renamed = task.losses(a_batch())
    assert torch.equal(order[renamed.labels], carried.labels)
    torch.testing.assert_close(second["loss"], first["loss"])


def test_without_the_unit_the_output_does_not_depend_on_the_centroids():
    network = in_cluster_phase(ci_unit=False).network
    codes = network.encode(torch.from_numpy(X[:5]))
    assert torch.equal(network.decode(codes, torch.zeros(5, 3)), network.decode(codes, torch.ones(5, 3)))
    with_unit = in_cluster_phase().network
    codes = with_unit.encode(torch.from_numpy(X[:5]))
    assert not torch.equal(
        with_unit.decode(codes, torch.zeros(5, 3)), with_unit.decode(codes, torch.ones(5, 3))
    )


@pytest.mark.parametrize("params", [{"fixed_centroids": True}, {"memory": 1.0}])
def test_fixed_centroids_equal_full_memory(params):
    task = in_cluster_phase(**params)
    before = task.network.centroids.clone()
    _, carried = task.losses(a_batch())
    task.after_step(carried)
    assert torch.equal(task.network.centroids, before)


def test_both_centroid_updates_are_the_functions_of_the_objective():
    for update in ("fixed", "eq6"):
        task = in_cluster_phase(centroid_update=update, centroid_weight=0.4, memory=0.9)
        before = task.network.centroids.clone()
        _, carried = task.losses(a_batch())
        task.after_step(carried)
        counts, sums = count_and_sum(carried.codes, carried.labels, 4)
        rho = objective.penalty_rho(0.4, 0.9, 4)
        memory = 0.9 if update == "fixed" else objective.centroid_memory(counts, 40, rho=rho, weight=0.4)
        torch.testing.assert_close(
            task.network.centroids, objective.centroid_step(before, counts, sums, memory)
        )


def test_noise_on_the_code_is_relative_seeded_and_off_outside_training():
    task = in_cluster_phase(code_noise=0.5)
    codes = 3 * torch.randn(5000, 3, generator=torch.Generator().manual_seed(0))
    batch = Batch(np.arange(5000), [])
    noise = task._noise_like(codes, batch)
    assert float(noise.std()) == pytest.approx(1.5, rel=0.05)
    task.begin_epoch(7)
    assert torch.equal(task._noise_like(codes, batch), noise)
    assert in_cluster_phase(code_noise=0.0)._noise_like(codes, batch) is None


PRINTED = {  # section 3.1, A.3.1 and A.7
    "hidden": (500, 500, 2000),
    "n_code": 10,
    "batch_size": 256,
    "learning_rate": 5e-4,
    "max_epochs": 1000,
    "n_neighbors": 0,
    "init": "xavier",
    "tau": 5.0,
    "memory": 0.995,
    "centroid_update": "fixed",
    "burn_in": 250 / 1000,
    "ci_unit": True,
    "fixed_centroids": False,
    "reconstruction": "mse",
    "smoothing": 5.0,
}
NOTHING_OF_OURS = {
    "metric": "euclidean",
    "scale": "none",
    "n_axes": None,
    "settle": False,
    "self_training": 0.0,
    "hold": 0.0,
    "neighbor_weight": 0.0,
    "relative_weights": False,
    "code_noise": 0.0,
    "straight_through": False,
}
RELEASED = {  # by the authors' code, spec 7
    "batch_size": 512,
    "max_epochs": 701,
    "burn_in": 0.0,
    "code_noise": 0.5,
    "straight_through": True,
    "centroid_update": "sums",
    "smoothing": 1e-5,
    "centroid_weight": 5e-4,
    "entropy_weight": 1e-5,
}


@pytest.mark.parametrize(
    ("preset", "stated"),
    [
        ("paper", {**PRINTED, **NOTHING_OF_OURS}),
        ("authors", {**PRINTED, **NOTHING_OF_OURS, **RELEASED}),
    ],
)
def test_a_preset_has_what_the_paper_or_its_authors_code_states(preset, stated):
    params = PCX(10, preset=preset)._resolved()
    in_effect = {**params, **params["options"].get_params()}
    assert {name: in_effect[name] for name in stated} == stated


def test_what_is_given_wins_over_a_preset_also_where_it_equals_a_default():
    usual = PCX(10)._resolved()
    usual_options = {**usual["options"].get_params()}
    given = {name: usual[name] for name in ("hidden", "batch_size", "learning_rate", "n_neighbors")}
    options = {
        name: usual_options[name] for name in ("hold", "code_noise", "tau", "relative_weights", "n_axes")
    }
    resolved = make(PCX, 10, preset="paper", **given, **options)._resolved()
    in_effect = {**resolved, **resolved["options"].get_params()}
    assert {name: in_effect[name] for name in {**given, **options}} == {**given, **options}


def test_the_papers_centroids_are_drawn_by_xaviers_rule():
    task = task_of(preset="paper", n_epochs=4)
    start_clusters(task, None)
    bound = (6 / 7) ** 0.5
    assert task.network.centroids.abs().max() <= bound
    assert task.network.centroids.std() > bound / 4


def test_the_papers_line_runs_the_code_of_its_equations_and_nothing_of_ours():
    model = make(PCX, 4, preset="paper", max_epochs=4, imbalance=True, random_state=0)
    called = called_by(lambda: model.fit(X))
    assert not_run("pcx", called) == {
        "Eq. 1": ["network.CodeOnly"],  # the ablation without the unit
        "Eq. 4": ["objective.penalty_rho"],  # centroid_update="eq6"
        "Eq. 6": ["objective.centroid_memory"],
        "A.6, no number": ["fusion.singular_shares"],  # after a fit
        "A.7, no number": ["agreement.accuracy", "agreement.score_all"],
    }
    functions = {name.split(".")[-1] for name in called}
    assert not functions & {"initial_labels", "self_train", "neighbour_contrast", "consistency", "kmeans"}


def test_the_authors_second_input_of_the_unit_passes_its_gradient_to_the_code():
    gradients = []
    for passes in (False, True):
        task = in_cluster_phase(straight_through=passes, centroid_weight=0, entropy_weight=0)
        with torch.no_grad():
            task.network.fuse.mix.weight[:, :3] = 0  # only the second input is left
        loss = task.losses(a_batch(partners=False))[0]["reconstruction"]
        loss.backward()
        gradients.append((loss.item(), task.network.encoder[0].weight.grad.abs().max()))
    (plain, none), (same, some) = gradients
    assert same == pytest.approx(plain)
    assert none == 0
    assert some > 0


def test_the_authors_averages_of_sums_and_counts_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    task = in_cluster_phase(centroid_update="sums", init="xavier", memory=0.9, smoothing=1e-5)
    centroids = task.network.centroids.numpy().astype(float)
    sums, counts = centroids.copy(), np.zeros(4)
    assert task.network.sizes.tolist() == [0] * 4
    for _ in range(5):
        codes, labels = rng.normal(size=(40, 3)).astype(np.float32), rng.integers(4, size=40)
        task.after_step(Assigned(torch.from_numpy(codes), torch.from_numpy(labels)))
        for k in range(4):
            sums[k] = 0.9 * sums[k] + 0.1 * codes[labels == k].sum(0)
            counts[k] = 0.9 * counts[k] + 0.1 * (labels == k).sum()
        counts = (counts + 1e-5) * counts.sum() / (counts.sum() + 4e-5)
    np.testing.assert_allclose(task.network.centroids.numpy(), sums / counts[:, None], rtol=1e-3, atol=1e-5)


def test_noise_of_absolute_weights_is_absolute():
    task = in_cluster_phase(code_noise=0.5, relative_weights=False)
    noise = task._noise_like(100 * torch.randn(5000, 3), Batch(np.arange(5000), []))
    assert float(noise.std()) == pytest.approx(0.5, rel=0.05)


def test_shares_of_the_largest_singular_value_are_those_of_each_clusters_codes():
    model = PCX(2, hidden=(8,), n_code=3, max_epochs=1, random_state=0).fit(X)
    codes, centroids = torch.from_numpy(model.transform(X)), model.network_.centroids
    labels = torch.from_numpy(model.labels_)
    with torch.no_grad():
        fused = model.network_.fuse(codes, centroids[labels])
    for shares, seen in zip(singular_shares(model, X), (codes, fused), strict=True):
        for k in range(2):
            values = np.linalg.svd(seen[labels == k].numpy(), compute_uv=False)
            assert shares[k] == pytest.approx(values[0] / values.sum(), rel=1e-4)


def test_training_keeps_nothing_of_the_size_of_the_data_but_the_order_of_its_rows():
    def peak(n_rows: int) -> int:
        views = as_views(np.ones((n_rows, 6), dtype=np.float32))
        task = task_of(n_epochs=2, preset="paper")
        start_clusters(task, None)
        task.batches = Batches(views, Scaler("none").fit(views), batch_size=40, seed=0)
        loop = Loop(task, task.batches.epoch, per_epoch=task.batches.per_epoch, max_epochs=2)
        tracemalloc.start()
        loop.run()
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    peak(500)
    two_permutations = 2 * 8 * 12_000
    assert peak(16_000) - peak(4_000) < 1.2 * two_permutations
