"""
A stream that changes
=====================

Rows keep arriving, and they do not stay as they were. ``partial_fit`` follows them: clusters keep their
numbers, and move.
"""

# %%
# Four groups that drift to the right, in 24 batches. In the end two of them are where the other two began.

import numpy as np

rng = np.random.default_rng(0)
corners = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0], [6.0, 6.0]])


def batch(time, n_rows=300):
    """Return rows of one moment, and the groups they come from."""
    kind = rng.integers(4, size=n_rows)
    place = corners[kind] + np.array([0.2 * time, 0.0])
    return place + 0.6 * rng.normal(size=(n_rows, 2)), kind


# %%
# The first call is a fit, each later one a pass over the new rows. The option ``memory`` is how much of a centre
# stays in one step: 0.995 by default, for rows that hardly change, less for a stream that moves. A second model is
# fitted once and then left alone.

from coterie import PCX, PCXOptions
from coterie.metrics import accuracy

settings = {
    "n_clusters": 4,
    "hidden": (32,),
    "n_code": 2,
    "max_epochs": 30,
    "options": PCXOptions(memory=0.8),
}
rows, kind = batch(0)
follows = PCX(**settings, random_state=0).partial_fit(rows)
stays = PCX(**settings, random_state=0).fit(rows)

seen, followed, stayed = [rows], [accuracy(kind, follows.labels_)], [accuracy(kind, stays.labels_)]
numbers = [follows.labels_]
for time in range(1, 24):
    rows, kind = batch(time)
    stayed.append(accuracy(kind, stays.predict(rows)))
    followed.append(accuracy(kind, follows.partial_fit(rows).labels_))
    seen.append(rows)
    numbers.append(follows.labels_)

# %%
# Colours are cluster numbers. They stay with their groups as these move; the model that was left alone gives
# the numbers of places where other groups used to be.

import matplotlib.pyplot as plt

figure, (*maps, lines) = plt.subplots(1, 4, figsize=(11, 2.9), width_ratios=(1, 1, 1, 1.4))
for axis, time in zip(maps, (0, 12, 23), strict=True):
    axis.scatter(*seen[time].T, c=numbers[time], cmap="tab10", s=5, vmin=0, vmax=9)
    axis.set(title=f"batch {time}", xlim=(-2, 13), ylim=(-2, 8), yticks=[])
lines.plot(followed, color="#1b6ca8", label="partial_fit")
lines.plot(stayed, color="#e08214", label="fitted once")
lines.set(xlabel="batch", ylabel="accuracy", ylim=(0, 1.05))
lines.legend(loc="lower left")
figure.tight_layout()
