"""Images with a handful of labels: scikit-learn's digits, three of each labelled, then twenty answers of a person.

The person is scripted: it answers what the page of `coterie explore` would ask, from the known digits.

    python examples/images.py
"""

import numpy as np

from coterie import FUCSMF, LargeMvCNet, refine, write_report
from coterie.data import load_digits
from coterie.metrics import matching

LABELS_A_CLASS, N_ROUNDS = 3, 2


def main() -> None:
    """Spread few labels, then mend the clusters of a model that saw none."""
    digits = load_digits()
    truth = digits.target
    rng = np.random.default_rng(0)
    known = np.full(len(truth), -1)
    for digit in range(10):
        known[rng.choice(np.flatnonzero(truth == digit), LABELS_A_CLASS, replace=False)] = digit
    free = known < 0

    steered = FUCSMF(random_state=0).fit(digits.views, known)
    print(f"{LABELS_A_CLASS} labels a class, {(~free).sum()} of {len(truth)} images labelled")
    print(f"  right on the other images: {np.mean(steered.labels_[free] == truth[free]):.1%}")
    print(f"  the answer is the only one: {steered.is_convex_}")
    unsure = steered.label_distributions_.max(axis=1)
    print(f"  right on the surest half: {right_on_surest(steered.labels_, truth, unsure, free):.1%}")

    model = LargeMvCNet(9, random_state=0).fit(digits.views)  # one cluster too few, as it happens
    names = matching(truth, model.labels_)  # the person calls each cluster by its commonest digit
    print(f"\nno label, 9 clusters for 10 digits: {score(model.labels_, truth, names):.1%} right")
    said: dict[int, int] = {}
    refined = refine(model, digits.views, said)
    for _ in range(N_ROUNDS):
        said |= {int(row): cluster_of(int(truth[row]), names) for row in refined.ask}
        refined.update(said)
        right = score(refined.labels, truth, names)
        print(f"after {len(said)} answers: {right:.1%} right, {len(refined.classes)} classes")

    made = refined.model({cluster: f"digit {digit}" for cluster, digit in names.items()})
    made.save("digits.coterie")
    print(
        f"a new image is of cluster {made.predict(digits.views.read(slice(0, 1))[0])[0]}; the model: digits.coterie"
    )
    write_report(
        steered, digits.views, "images.html", truth=truth, image_shape=digits.image_shape, title="Digits"
    )
    print("Report: images.html")


def right_on_surest(labels: np.ndarray, truth: np.ndarray, sure: np.ndarray, free: np.ndarray) -> float:
    """Return the share of right labels among the half of the free rows with the highest confidence."""
    rows = np.flatnonzero(free)
    rows = rows[np.argsort(-sure[rows])[: len(rows) // 2]]
    return float(np.mean(labels[rows] == truth[rows]))


def cluster_of(digit: int, names: dict[int, int]) -> int:
    """Return the cluster that is called by a digit; a digit without one gets a new number."""
    for cluster, name in names.items():
        if name == digit:
            return cluster
    names[max(names) + 1] = digit
    return max(names)


def score(labels: np.ndarray, truth: np.ndarray, names: dict[int, int]) -> float:
    """Return the share of rows whose cluster is called by their digit."""
    return float(
        np.mean([names.get(int(label), -1) == digit for label, digit in zip(labels, truth, strict=True)])
    )


if __name__ == "__main__":
    main()
