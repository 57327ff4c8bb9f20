"""A stream: readings of machines arrive day by day, drift slowly, and one day a new state appears.

The model follows the drift and keeps the numbers of its clusters. That it is sure of a row does not mean that it has
seen rows of this kind: a new group goes to the nearest cluster, and may be sure of it. How far rows lie from the
exemplar of their cluster tells, and says when to fit again.

    python examples/stream.py
"""

import numpy as np

from coterie import PCX, load
from coterie.metrics import accuracy

N_STATES, N_SENSORS, N_READINGS, N_DAYS, NEW_DAY = 4, 12, 600, 8, 6
ALARM = 0.1


def readings(day: int, places: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a day's readings and the state of each: places drift, and from `NEW_DAY` on there is one state more."""
    state = rng.integers(0, N_STATES + (day >= NEW_DAY), N_READINGS)
    drift = 0.05 * day * np.sin(np.arange(N_SENSORS))
    return (places[state] + drift + 0.5 * rng.normal(size=(N_READINGS, N_SENSORS))).astype(np.float32), state


def distances(model: PCX, rows: np.ndarray) -> np.ndarray:
    """Return how far rows lie from what their cluster looks like."""
    return np.linalg.norm(rows - model.exemplars_[model.predict(rows)], axis=1)


def start(rows: np.ndarray, n_clusters: int) -> tuple[PCX, float]:
    """Return a model of these rows, and the distance that one row in a hundred exceeds."""
    model = PCX(n_clusters, hidden=(64, 32), max_epochs=60, random_state=0).partial_fit(rows)
    return model, float(np.quantile(distances(model, rows), 0.99))


def main() -> None:
    """Follow the stream, and fit again when rows lie far from everything known."""
    rng = np.random.default_rng(0)
    places = 1.5 * rng.normal(size=(N_STATES + 1, N_SENSORS))
    first, _ = readings(0, places, rng)
    model, usual = start(first, N_STATES)
    numbers = model.predict(places[:N_STATES])
    print(f"day 0: {N_READINGS} readings; the states are in the clusters {numbers.tolist()}")

    for day in range(1, N_DAYS):
        rows, state = readings(day, places, rng)
        far = float(np.mean(distances(model, rows) > usual))
        if far > ALARM:
            sure = model.assign(rows).confidence.mean()
            print(
                f"day {day}: {far:.0%} of the readings are far from all exemplars (confidence {sure:.2f}): fit again"
            )
            model, usual = start(rows, N_STATES + 1)
            numbers = model.predict(places)
            print(f"       the states are in the clusters {numbers.tolist()} now")
            continue
        model.partial_fit(rows)
        kept = np.mean(model.labels_ == numbers[state])
        print(f"day {day}: {far:.0%} far away; {kept:.1%} are in the cluster of their state")

    model.save("stream.coterie")
    later = load("stream.coterie")
    rows, state = readings(N_DAYS, places, rng)
    later.partial_fit(rows)
    print(f"saved, loaded, and on with day {N_DAYS}: accuracy {accuracy(state, later.labels_):.2f}")


if __name__ == "__main__":
    main()
