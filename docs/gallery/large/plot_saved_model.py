"""
A saved model and new rows
==========================

A model is one file of numbers and names: nothing in it can run, and it labels new rows without the old ones.
"""

# %%
# Train on the first 1,300 digits, save, and forget everything.

import tempfile
import zipfile
from pathlib import Path

from coterie import SSCNet, load
from coterie.data import load_digits

digits = load_digits()
old, new = digits.views.select(slice(0, 1300)), digits.views.select(slice(1300, None))
path = Path(tempfile.mkdtemp()) / "digits.coterie"
SSCNet(n_clusters=10, n_atoms=64, max_epochs=15, random_state=0).fit(old).save(path)

# %%
# The file is a zip with a readable manifest and arrays in the safetensors format.

with zipfile.ZipFile(path) as archive:
    for part in archive.infolist():
        print(part.filename, part.file_size, "bytes")

# %%
# ``load`` gives the model back, with the versions it was made with. A row gets the same label alone as in a
# batch.

model = load(path)
labels, confidence = model.assign(new)
alone = [int(model.predict(new.select([row]))[0]) for row in range(5)]
print(alone, labels[:5])
print(model.versions_)

# %%
# How sure the model is of rows it has never seen. The known digits say whether that can be trusted: the share
# of right labels should rise with confidence.

import matplotlib.pyplot as plt
import numpy as np

from coterie.metrics import matching

target = digits.target[1300:]
classes = matching(target, labels)
right = np.array([classes.get(label, -1) for label in labels.tolist()]) == target
fifths = np.array_split(np.argsort(confidence), 5)
figure, axis = plt.subplots(figsize=(5.5, 3.2))
axis.bar(range(5), [right[part].mean() for part in fifths], color="#1b6ca8")
ranges = [f"{confidence[part].min():.2f} to\n{confidence[part].max():.2f}" for part in fifths]
axis.set(
    xticks=range(5),
    xticklabels=ranges,
    xlabel="confidence, a fifth of the new rows each",
    ylabel="share right",
)
figure.tight_layout()
