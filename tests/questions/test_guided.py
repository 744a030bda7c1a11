"""Guided: it learns from few answers, withstands wrong ones, and finds out who gives them."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import pdist, squareform

from clew import Answer, Question
from clew.datasets import make_leaf_like
from clew.exceptions import ClewError
from clew.metrics import jaccard_score_pairs
from clew.oracles import SimulatedOracle
from clew.questions import Guided, odd_one_out_information, triplet_information
from clew.questions._answers import key_of
from clew.questions.guided._choice import joint_probabilities, triple_information
from clew.questions.guided._posterior import weight_of_new
from clew.questions.guided._start import (
    START_SHARE,
    is_unconstrained,
    start_labels,
    start_share,
    unconstrained_labels,
)

K, SIZE = 6, 10
random = np.random.RandomState(0)
y = random.permutation(np.repeat(np.arange(K), SIZE))
X = random.normal(size=(K, 6))[y] * 1.2 + random.normal(size=(K * SIZE, 6))
D = squareform(pdist(X))


def ran(strategy, n, oracle, batch=6):
    while len(strategy.answers) < n:
        strategy.tell(oracle.answer_all(strategy.ask(batch)))
    return strategy


@cache
def finished(error):
    """A strategy after its answers, pickled: two a row if they are right, four if some are not."""
    oracle = SimulatedOracle(y, error=error, random_state=1 if error else 0)
    n = (4 if error else 2) * len(y)
    return pickle.dumps(ran(Guided(random_state=0).start(X), n, oracle))


def agreement(strategy):
    return jaccard_score_pairs(y, strategy.labels())


@pytest.mark.slow
def test_answers_improve_the_groups_and_few_suffice():
    assert agreement(Guided(random_state=0).start(X)) < 0.6
    # Of 1,770 pairs, 120 were asked.
    assert agreement(pickle.loads(finished(0.0))) > 0.97


def test_wrong_answers_are_outvoted():
    assert agreement(pickle.loads(finished(0.1))) > 0.9


@pytest.mark.slow
def test_an_annotator_who_errs_gets_a_higher_rate():
    strategy = Guided(random_state=0, update_every=5).start(X)
    good, bad = (
        SimulatedOracle(y, error=error, annotators=[name], random_state=2)
        for name, error in (("good", 0.0), ("bad", 0.4))
    )
    while len(strategy.answers) < 240:
        questions = strategy.ask(6)
        strategy.tell([*good.answer_all(questions[::2]), *bad.answer_all(questions[1::2])])
    rates = strategy.error_rates()
    assert rates["good"] < 0.1 < 0.2 < rates["bad"]


@pytest.mark.slow
def test_distances_are_taken_as_well():
    strategy = Guided(metric="precomputed", random_state=0).start(D)
    assert agreement(ran(strategy, 2 * len(y), SimulatedOracle(y, random_state=0))) > 0.97


@pytest.mark.slow
def test_the_order_of_the_two_rows_of_a_pair_does_not_matter():
    one = ran(Guided(random_state=0).start(X), 30, SimulatedOracle(y, random_state=0))
    other = Guided(random_state=0).start(X)
    other.tell(
        Answer(Question("pair", answer.question.rows[::-1]), answer.value) for answer in one.answers
    )
    assert other.labels().tolist() == one.labels().tolist()


@pytest.mark.slow
def test_labels_have_the_wanted_number_of_groups():
    for k in (1, 2, 6, 9, len(y)):
        labels = Guided(k, random_state=0).start(X).labels()
        assert labels.max() + 1 == k
    right = ran(Guided(K, random_state=0).start(X), 120, SimulatedOracle(y, random_state=0))
    assert agreement(right) > 0.97


@pytest.mark.slow
def test_threads_do_not_change_the_result():
    def questions_and_groups(n_jobs):
        strategy = Guided(random_state=0, n_jobs=n_jobs).start(X)
        ran(strategy, 20, SimulatedOracle(y, random_state=0))
        return strategy.ask(3), strategy.labels().tolist()

    alone = questions_and_groups(1)
    assert questions_and_groups(2) == alone
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(questions_and_groups, (1, 1))) == [alone, alone]


@pytest.mark.slow
def test_taking_back_an_early_answer_is_as_if_it_was_never_given():
    strategy = ran(Guided(random_state=0, update_every=2).start(X), 60, SimulatedOracle(y))
    answers = strategy.answers
    strategy.retract(answers[1])
    other = Guided(random_state=0, update_every=2).start(X).tell((*answers[:1], *answers[2:]))
    assert strategy.ask(4) == other.ask(4)
    assert strategy.labels().tolist() == other.labels().tolist()


@pytest.mark.parametrize("n", [2, 3])
def test_very_few_rows(n):
    strategy = Guided(random_state=0).start(np.arange(n)[:, None] * 1.0)
    questions = strategy.ask(5)
    assert len(questions) == n * (n - 1) // 2
    strategy.tell(Answer(question, "same") for question in questions)
    assert strategy.ask() == []
    assert strategy.labels().tolist() == [0] * n


def test_a_large_batch_is_filled():
    questions = Guided(random_state=0).start(X).ask(200)
    assert len({frozenset(question.rows) for question in questions}) == 200


def test_one_row_far_away_is_no_obstacle():
    far = np.vstack((X, np.full((1, 6), 1e8)))
    strategy = Guided(random_state=0).start(far)
    assert len(strategy.ask(3)) == 3
    assert len(strategy.labels()) == len(far)


@pytest.mark.slow
def test_readings_agree_with_the_truth_once_it_is_known():
    strategy = pickle.loads(finished(0.0))
    i, j = np.triu_indices(len(y), 1)
    p = strategy.probabilities(np.stack((i, j), axis=1))
    assert np.array_equal(p, strategy.probabilities()[i, j])
    assert np.mean((p > 0.5) == (y[i] == y[j])) > 0.99
    assert strategy.expected_jaccard() > 0.8
    assert strategy.error_rate() < 0.03


def test_wrong_answers_are_the_most_doubtful():
    strategy = pickle.loads(finished(0.1))
    dont_know = Answer(Question("pair", (0, 1)), "dont_know")
    strategy.tell([dont_know] * 3)
    doubts = strategy.answer_doubts()
    assert len(doubts) == len(strategy.answers)
    assert (doubts[-3:] == 0).all()
    wrong = np.array(
        [(y[a.question.rows[0]] == y[a.question.rows[1]]) != a.value for a in strategy.answers[:-3]]
    )
    assert doubts[:-3][wrong].mean() > 0.5 > 0.1 > doubts[:-3][~wrong].mean()


@pytest.mark.parametrize("pairs", [[[0, 60]], [[-1, 2]], [[0.5, 1]], [[0, 1, 2]], [0, 1]])
def test_pairs_must_be_row_numbers(pairs):
    with pytest.raises(ClewError, match="pairs must"):
        Guided(random_state=0).start(X).probabilities(pairs)


def test_an_empty_list_of_pairs_has_no_probabilities():
    assert Guided(random_state=0).start(X).probabilities([]).shape == (0,)


@pytest.mark.slow
def test_uninformative_distances_leave_the_groups_to_the_answers():
    n, classes = 24, np.arange(24) % 3
    strategy = Guided(metric="precomputed", random_state=0).start(1 - np.eye(n))
    ran(strategy, 4 * n, SimulatedOracle(classes, random_state=0), batch=4)
    assert jaccard_score_pairs(classes, strategy.labels()) > 0.9


@pytest.mark.slow
def test_groups_are_found_at_every_size():
    # Features of pairs are scaled to the size of groups, which is given or estimated.
    near = random.normal(size=(3, 4))[np.arange(120) % 3] * 6 + random.normal(size=(120, 4))
    for k in (None, 3):
        labels = Guided(k, random_state=0).start(near).labels()
        assert jaccard_score_pairs(np.arange(120) % 3, labels) > 0.9


@pytest.mark.slow
def test_the_start_is_no_worse_than_wards_linkage():
    scores = []
    for seed in range(3):
        made = make_leaf_like(120, class_size=12, noise=0.7, random_state=seed)
        found = [
            cut_tree(linkage(squareform(made.D), "ward"), [10])[:, 0],
            Guided(10, metric="precomputed", random_state=0).start(made.D).labels(),
            Guided(metric="precomputed", random_state=0).start(made.D).labels(),
        ]
        scores.append([jaccard_score_pairs(made.y, labels) for labels in found])
    ward, known, unknown = np.mean(scores, axis=0)
    assert known > ward - 0.02
    assert unknown > ward - 0.1


def test_start_labels_count_less_with_each_answer():
    assert start_share(0, 100) == START_SHARE
    assert start_share(100, 100) < 1e-4
    blocks = np.repeat(np.arange(4), 5)
    log_odds = np.where(blocks[:, None] == blocks, 2.0, -4.0).astype(np.float32)
    np.fill_diagonal(log_odds, 0)
    # The effective number of sampled groups is 4, as there are groups of three rows or more.
    sampled = np.append(blocks[:-1], 4)
    assert jaccard_score_pairs(start_labels(log_odds, sampled, 9.0, None), blocks) == 1.0
    assert start_labels(log_odds, sampled, 9.0, 2).max() == 1
    # Where the log-odds are alike, the other labels decide.
    halves = (blocks + 1) // 2 % 2
    both = start_labels(log_odds, sampled, 9.0, 2, halves)
    assert jaccard_score_pairs(both, halves) == 1.0


def test_other_labels_only_for_a_given_number_of_groups():
    distances = squareform(pdist(X[:12]))
    assert [is_unconstrained(12, number) for number in (None, 1, 3, 12)] == [
        False,
        False,
        True,
        False,
    ]
    assert not is_unconstrained(1001, 3)
    first = unconstrained_labels(distances, 3, 0, 1)
    assert first.max() == 2
    assert first.tolist() == unconstrained_labels(distances, 3, 0, 2).tolist()
    copies = squareform(pdist(np.repeat(np.eye(2), 5, axis=0)))
    assert len(set(unconstrained_labels(copies, 4, 0, None))) == 2


def test_without_evidence_the_start_labels_stay():
    strategy = Guided(random_state=0, update_every=1).start(X)
    before = strategy.labels().tolist()
    strategy.tell(Answer(Question("pair", (0, 1)), "dont_know"))
    assert strategy.labels().tolist() == before


def test_new_probabilities_count_less_if_more_answers_are_wrong():
    weights = [weight_of_new(5, 200, error) for error in (0.0, 0.1, 0.2)]
    assert weights[0] > 0.6 > weights[1] > weights[2] > 0.05
    assert weight_of_new(20, 200, 0.1) > weights[1]
    # Many small batches count as one large one.
    assert weight_of_new(5, 200, 0.2, 200) == weights[2] < weight_of_new(5, 200, 0.2, 300)
    assert weight_of_new(5, 200, 0.2, 400) == weight_of_new(5, 200, 0.2, 600)
    assert (1 - weights[1]) ** 4 == pytest.approx(1 - weight_of_new(20, 200, 0.1))


@pytest.mark.slow
def test_an_outlier_does_not_become_one_of_the_wanted_groups():
    near = random.normal(size=(3, 4))[np.arange(60) % 3] * 9 + random.normal(size=(60, 4))
    near[0] += 40
    labels = Guided(3, random_state=0).start(near).labels()
    assert np.bincount(labels).min() > 10


def states_of(groups):
    """Count the groupings of three rows, in the order of `joint_probabilities`."""
    a, b, c = groups.T
    ab, ac, bc = a == b, a == c, b == c
    alone = [bc & ~ab, ac & ~ab, ab & ~ac]
    return np.mean([ab & ac, *alone, ~ab & ~ac & ~bc], axis=1)


@pytest.mark.parametrize("k", [2, 3, 8])
def test_information_of_three_rows_without_errors_is_that_of_independent_rows(k):
    grid = np.stack(np.meshgrid(*[np.arange(k)] * 3), axis=-1).reshape(-1, 3)
    states = states_of(grid)[None, :]
    for kind, exact in (("triplet", triplet_information), ("odd_one_out", odd_one_out_information)):
        (information,) = triple_information(states, kind, 1e-9)
        assert information == pytest.approx(exact(k, dont_know=False), abs=1e-6)
        assert 0 <= triple_information(states, kind, 0.4) < information


def test_three_rows_are_grouped_transitively():
    near, far = np.array([0.9]), np.array([0.1])
    assert joint_probabilities(near, near, near)[0, 0] > 0.95
    # Two near pairs and a far one contradict each other: each is wrong with the same probability.
    states = joint_probabilities(near, near, far)[0]
    assert states.sum() == pytest.approx(1.0)
    assert states[0] == pytest.approx(states[2]) == pytest.approx(states[3])


@pytest.mark.slow
def test_the_kind_with_the_most_information_per_second_is_asked():
    def kinds_of(**parameters):
        questions = Guided(random_state=0, **parameters).start(X).ask(3)
        assert len({row for q in questions for row in q.rows}) == sum(
            len(q.rows) for q in questions
        )
        return {question.kind for question in questions}

    every = ("odd_one_out", "pair", "triplet")
    assert kinds_of(kinds=every, seconds={"triplet": 50, "odd_one_out": 50}) == {"pair"}
    assert kinds_of(kinds=every, seconds={"pair": 50, "triplet": 50}) == {"odd_one_out"}
    assert kinds_of(kinds=("triplet",)) == {"triplet"}


@pytest.mark.slow
def test_answers_about_three_rows_suffice():
    strategy = Guided(random_state=0, kinds=("triplet", "odd_one_out")).start(X)
    ran(strategy, 2 * len(y), SimulatedOracle(y, random_state=0), batch=12)
    assert agreement(strategy) > 0.97
    assert len({key_of(answer.question) for answer in strategy.answers}) == len(strategy.answers)


@pytest.mark.parametrize(
    "parameters",
    [{"kinds": ()}, {"kinds": ("pairs",)}, {"seconds": {"pair": 0}}, {"seconds": {"odd": 1}}],
)
def test_kinds_and_seconds_are_checked(parameters):
    with pytest.raises(ClewError, match="must"):
        Guided(**parameters).start(X)


@pytest.mark.slow
def test_rows_follow_their_representatives():
    rows = np.repeat(np.arange(len(y)), 4)
    many = X[rows] + 1e-3 * random.normal(size=(len(rows), X.shape[1]))
    strategy = Guided(n_representatives=len(y), random_state=0).start(many)
    ran(strategy, 2 * len(y), SimulatedOracle(y[rows], random_state=0))
    assert jaccard_score_pairs(y[rows], strategy.labels()) > 0.9
    p = strategy.probabilities()
    assert p.shape == (len(rows), len(rows))
    assert p[0, 1] == 1.0
    # An answer about a row that is not a representative counts for the representative of the row.
    strategy.tell(Answer(Question("triplet", (1, 6, 11)), "first"))
    assert len(strategy.ask(3)) == 3


@pytest.mark.slow
@pytest.mark.parametrize("n", [8, 10, 15])
def test_rows_that_all_differ_are_in_groups_of_their_own(n):
    X = np.random.RandomState(0).normal(size=(n, 4))
    strategy = Guided(random_state=0).start(X)
    while questions := strategy.ask(5):
        strategy.tell([Answer(question, 0) for question in questions])
    assert len(np.unique(strategy.labels())) == n


@pytest.mark.slow
@pytest.mark.parametrize(
    "n", [10, 19, 25, *(pytest.param(n, marks=pytest.mark.slow) for n in (9, 20))]
)
def test_an_update_in_two_parts_ends_like_one_at_once(n):
    def started():
        return Guided(update_every=10, random_state=0).start(X)

    pairs = np.random.RandomState(1).permutation(np.argwhere(np.tri(len(X), k=-1)))[:30].tolist()
    answers = [Answer(Question("pair", (i, j)), int(y[i] == y[j])) for i, j in pairs]
    at_once, one_by_one = started().learn(answers[:n]), started()
    for end in range(n + 1):
        one_by_one.learn(answers[:end])
    undone = started()
    for end in (9, 20, 7, n):  # an update that was begun is given up
        undone.learn(answers[:end] if end == n else answers[3 : 3 + end])
    copied = pickle.loads(pickle.dumps(one_by_one))
    saved = started()
    saved.set_state(one_by_one.state())
    saved.learn(answers[:n])
    for other in (one_by_one, undone, copied, saved):
        assert other.ask(3) == at_once.ask(3)
        assert np.array_equal(other.labels(), at_once.labels())
        assert np.array_equal(other.probabilities(), at_once.probabilities())
    # All answers but the last of each ten are in the model.
    assert np.array_equal(at_once.labels(), started().learn(answers[: n // 10 * 10]).labels())
