"""
Correct a clustering by pointing at rows
========================================

A clustering is a proposal. :func:`coterie.refine` takes what a person says about single rows, in the light of
which every row is labelled again, and names the rows worth asking about next.
"""

# %%
# A short training leaves some digits mixed up.

import numpy as np

from coterie import PCX, refine
from coterie.data import load_digits
from coterie.metrics import accuracy

digits = load_digits()
model = PCX(n_clusters=10, hidden=(128,), max_epochs=40, random_state=0).fit(digits.views)
print(f"before: accuracy {accuracy(digits.target, model.labels_):.3f}")

# %%
# Each round we answer the rows that ``ask`` names. A person would look at them; here the known digit answers.
# With ``keep=False`` the answers alone decide, so that the numbers of the classes are the digits themselves.
# The first round needs a start: the row that stands for each cluster.

said = {int(row): int(digits.target[row]) for row in model.exemplar_indices_}
refined = refine(model, digits.views, said, keep=False)
answers, scores = [len(said)], [accuracy(digits.target, refined.labels)]
for _ in range(8):
    said |= {int(row): int(digits.target[row]) for row in refined.ask}
    refined.update(said)
    answers.append(len(said))
    scores.append(accuracy(digits.target, refined.labels))
print(f"after {answers[-1]} answers: accuracy {scores[-1]:.3f}")

# %%
# The first answers say most. On the right the rows that the last round asked about: none of them is easy.

import matplotlib.pyplot as plt

figure, (curve, picture) = plt.subplots(1, 2, figsize=(10, 3.2), width_ratios=(1, 1.4))
curve.axhline(accuracy(digits.target, model.labels_), color="#aaaaaa", linestyle=":", label="before")
curve.plot(answers, scores, "o-", color="#1b6ca8", label="with answers")
curve.set(xlabel="answers", ylabel="accuracy", ylim=(0.5, 1))
curve.legend(loc="lower right")
asked = digits.views.read(refined.ask[:10])[0].reshape(2, 5, 8, 8)
picture.imshow(np.block([[np.pad(one, 1) for one in line] for line in asked]), cmap="gray_r")
picture.set(title="asked next", xticks=[], yticks=[])
figure.tight_layout()

# %%
# The corrected clustering is a model: it labels new rows and can be saved. ``coterie explore`` does all of
# this on a page in the browser, with the mouse.

corrected = refined.model({digit: f"the {digit}s" for digit in range(10)})
print(corrected.predict(digits.views.select(slice(0, 8))), digits.target[:8])
