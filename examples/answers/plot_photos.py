"""
A folder of images, answers in a file
=====================================

What ``clew ask`` does, in Python: read a folder of images, ask, and keep each
answer in a file. The person is simulated, and one answer in ten is wrong.
"""

# %%
# A folder with images of digits.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from clew import Session
from clew.features import read_images
from clew.items import open_image
from clew.metrics import adjusted_rand_score
from clew.oracles import SimulatedOracle
from clew.store import AnswerFile

folder = Path(tempfile.mkdtemp())
digits = load_digits(n_class=5)
for at in range(150):
    pixels = (digits.images[at] * 15.9).astype(np.uint8)
    Image.fromarray(pixels).save(folder / f"{at:03}.png")

images = read_images(folder)
print(images.X.shape, images.ids[:3])

# %%
# Ask and answer. Each answer is on disk before the next question.
session = Session(images.X, ids=images.ids, random_state=0)
file = AnswerFile(folder / "answers.jsonl", images.ids)
person = SimulatedOracle(
    digits.target[:150], error=0.1, origin="asked", random_state=0
)
for _ in range(60):
    (question,) = session.ask()
    answer = person.answer(question)
    file.append(answer)
    session.tell(answer)

result = session.result()
ari = adjusted_rand_score(digits.target[:150], result.labels_)
print(f"ARI {ari:.2f}; {result.remaining_}")
print("\n".join(map(str, result.doubtful_)))

# %%
# Typical images of the largest groups.
largest = np.argsort(-np.bincount(result.labels_), kind="stable")[:5]
fig, axes = plt.subplots(3, 5, figsize=(5, 3.2))
for column, group in zip(axes.T, largest, strict=True):
    for ax in column:
        ax.axis("off")
    for ax, name in zip(column, result.exemplars_[group], strict=False):
        ax.imshow(open_image(folder / name))
plt.show()
