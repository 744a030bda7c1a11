"""
A few pure examples of each of many groups
==========================================

With many rows and many groups, it takes too many answers to group everything.
:class:`~clew.questions.ActiveSubclustering` looks for a few examples of each group,
and asks where two subclusters may show one group, or a row may be in another group.
"""

import matplotlib.pyplot as plt

from clew.datasets import make_face_like
from clew.metrics import subclustering_jaccard
from clew.oracles import SimulatedOracle
from clew.questions import ActiveSubclustering

# %%
# Some items are near the center of their class, others lie between classes.
faces = make_face_like(
    3000, n_classes=20, class_sizes=(40, 400), noise=1.8, random_state=0
)

# %%
# The score (SJC) is 1 if every class has a subcluster of ten rows of this class.
for error in (0.0, 0.1):
    people = SimulatedOracle(faces.y, error=error, origin="asked", random_state=0)
    strategy = ActiveSubclustering(20, random_state=0).start(faces.X)
    scores = [subclustering_jaccard(faces.y, strategy.exemplars())]
    for _ in range(20):
        strategy.tell(people.answer_all(strategy.ask(10)))
        scores.append(subclustering_jaccard(faces.y, strategy.exemplars()))
    plt.plot(range(0, 201, 10), scores, label=f"{error:.0%} wrong answers")

plt.xlabel("answers")
plt.ylabel("SJC")
plt.legend()
plt.show()
