"""
A folder of pictures, answers in a file
=======================================

What ``clew ask`` does, in Python: read a folder of pictures, ask, and keep each
answer in a file. The person is simulated, and one answer in twenty is wrong.
"""

# %%
# A folder of color pictures, which clew ships. A network that was trained on
# photos describes them; nothing is downloaded.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from clew import Session
from clew.datasets import load_pictures
from clew.features import read_images
from clew.items import open_image
from clew.metrics import adjusted_rand_score
from clew.oracles import SimulatedOracle
from clew.store import AnswerFile

pictures = load_pictures()
images = read_images(pictures.folder)
print(images.X.shape, images.note)

# %%
# Ask and answer. Each answer is on disk before the next question.
session = Session(images.X, ids=images.ids, random_state=0)
file = AnswerFile(Path(tempfile.mkdtemp()) / "answers.jsonl", images.ids)
person = SimulatedOracle(pictures.y, error=0.05, origin="asked", random_state=0)
for _ in range(150):
    (question,) = session.ask()
    answer = person.answer(question)
    file.append(answer)
    session.tell(answer)

result = session.result()
ari = adjusted_rand_score(pictures.y, result.labels_)
print(f"ARI {ari:.2f}; {result.remaining_}")
print("\n".join(map(str, result.doubtful_)))

# %%
# Typical pictures of the largest groups.
largest = np.argsort(-np.bincount(result.labels_), kind="stable")[:6]
fig, axes = plt.subplots(3, 6, figsize=(6, 3.2))
for column, group in zip(axes.T, largest, strict=True):
    for ax in column:
        ax.axis("off")
    for ax, name in zip(column, result.exemplars_[group], strict=False):
        ax.imshow(open_image(images.folder / name))
plt.show()
