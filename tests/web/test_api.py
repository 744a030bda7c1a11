"""The HTTP API: questions, answers, undo, results, edits, people."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from clew.answers import Question, new_id
from clew.items import Item
from clew.store.base import Suggestion
from clew.web.accounts import make_link, sign_in
from clew.web.asking import item_json
from clew.web.serving.server import owner_invite


@pytest.fixture
def api(make_site: Any) -> Any:
    """Clients of people of one site, by name and role."""
    site = make_site(result=True)
    clients = []

    def client(name: str = "Ann", role: str = "annotator") -> httpx.Client:
        cookies = {"clew_session": site.session(name, role)} if name else {}
        one = httpx.Client(base_url=f"{site.url}/api/v1", cookies=cookies, timeout=20)
        clients.append(one)
        return one

    client.site = site  # type: ignore[attr-defined]
    yield client
    for one in clients:
        one.close()


def lease(client: httpx.Client, n: int = 4, **more: Any) -> list[dict[str, Any]]:
    """Lease questions."""
    reply = client.post("/questions:lease", json={"n": n, **more})
    assert reply.status_code == 200, reply.text
    return reply.json()["questions"]


def answer_to(question: dict[str, Any], answer: Any = "same", **more: Any) -> dict[str, Any]:
    """Return an answer as the page sends it."""
    return {
        "submission_id": new_id(),
        "question_id": question["question_id"],
        "answer": answer,
        **more,
    }


def statuses(client: httpx.Client, *answers: dict[str, Any], n: int | None = None) -> list[str]:
    """Send answers; return what became of them."""
    reply = client.post("/answers", json={"answers": list(answers), "n": n})
    assert reply.status_code == 200, reply.text
    return [one["status"] for one in reply.json()["results"]]


@pytest.mark.slow
def test_an_answer_is_stored_once(api: Any) -> None:
    """The same submission again is a duplicate; another answer takes its place."""
    ann = api()
    (first, *_) = lease(ann)
    given = answer_to(first, order=[one["id"] for one in first["items"]][::-1], ms=812)
    assert statuses(ann, given) == ["stored"]
    assert statuses(ann, given, given) == ["duplicate", "duplicate"]
    assert statuses(ann, answer_to(first, "different")) == ["superseded"]
    (answer,) = [one for one in api.site.standing() if one.value == 0]
    assert len(api.site.standing()) == 1
    assert answer.annotator == "Ann"


@pytest.mark.slow
def test_answers_and_the_next_questions_in_one_request(api: Any) -> None:
    """The reply holds new questions, never those that are held or were answered."""
    ann = api()
    first = lease(ann, 4)
    have = [one["question_id"] for one in first[1:]]
    reply = ann.post(
        "/answers", json={"answers": [answer_to(first[0])], "n": 4, "have": have}
    ).json()
    assert len(reply["questions"]) == 1
    assert reply["questions"][0]["question_id"] not in [one["question_id"] for one in first]
    assert len(reply["held"]) == 4


@pytest.mark.slow
def test_an_answer_counts_though_others_count_just_before_it(
    api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts read while an answer is being stored lack it; they are not kept."""
    ann, bo, kind = api(), api("Bo"), type(api.site.store)
    (first, *_), store_it = lease(ann), kind.answer_and_lease

    def after_others_counted(*args: Any) -> Any:
        monkeypatch.setattr("clew.web.results.COUNTED_FOR", -1.0)
        assert bo.get(f"{api.site.url}/ask").status_code == 200
        monkeypatch.setattr("clew.web.results.COUNTED_FOR", 60.0)
        return store_it(*args)

    monkeypatch.setattr(kind, "answer_and_lease", after_others_counted)
    reply = ann.post("/answers", json={"answers": [answer_to(first)], "n": 1}).json()
    assert (reply["n_answered"], reply["n_mine"]) == (1, 1)


def test_undo_appends_and_asks_the_same_again(api: Any) -> None:
    """A retraction in a batch, an answer to the same question by the id of the first, and DELETE."""  # noqa: E501
    ann = api()
    question = lease(ann)[0]
    first = answer_to(question)
    undo = {"submission_id": new_id(), "revokes": first["submission_id"]}
    again = {**answer_to(question, "different"), "question_id": f"@{first['submission_id']}"}
    assert statuses(ann, first, undo, again)[:2] == ["stored", "stored"]
    assert [one.value for one in api.site.standing()] == [0]
    assert ann.delete(f"/answers/{again['submission_id']}").json()["status"] == "stored"
    assert ann.delete(f"/answers/{again['submission_id']}").json()["status"] == "duplicate"
    assert api.site.standing() == []
    assert len(api.site.entries()) == 4


@pytest.mark.slow
def test_what_is_not_theirs_is_not_there(api: Any) -> None:
    """Other people's questions and answers, unknown items, media and groups: 404."""
    ann, bo = api("Ann"), api("Bo")
    question = lease(ann)[0]
    assert statuses(bo, answer_to(question)) == ["refused"]
    given = answer_to(question)
    statuses(ann, given)
    undo = {"submission_id": new_id(), "revokes": given["submission_id"]}
    assert statuses(bo, undo) == ["refused"]
    assert bo.delete(f"/answers/{given['submission_id']}").status_code == 404
    for path in (
        "/media/nothing.png",
        "/media/..%2F..%2Fetc%2Fpasswd",
        "/groups/77",
        "/export/nothing",
        "/jobs/9",
    ):
        assert bo.get(path).status_code in (404, 422), path
    assert bo.get("/answers", params={"mine": False}).status_code == 404
    assert len(api.site.standing()) == 1


def test_media_stay_in_the_folder(api: Any, tmp_path: Any) -> None:
    """A link that leads out of the folder is not followed; a picture is encoded anew."""
    from clew.items import Item

    site, ann = api.site, api()
    (tmp_path / "secret.png").write_bytes((site.settings.root / site.ids[0]).read_bytes())
    (site.settings.root / "out.png").symlink_to(tmp_path / "secret.png")
    site.store.add_items(
        [Item("out", "image", path="out.png"), Item("up", "image", path="../secret.png")]
    )
    assert ann.get("/media/out").status_code == 404
    assert ann.get("/media/up").status_code == 404
    found = ann.get(f"/media/{site.ids[0]}", params={"size": "160"})
    assert found.headers["content-type"] == "image/webp"
    assert found.content != (site.settings.root / site.ids[0]).read_bytes()
    assert ann.get(f"/media/{site.ids[0]}", params={"size": "9999"}).status_code == 422


def test_one_wrong_answer_does_not_hold_up_the_others(api: Any) -> None:
    """A batch with a wrong word, a wrong order and an unknown question stores the rest."""
    ann = api()
    a, b, c, d = lease(ann)
    wrong = [
        answer_to(a, "purple"),
        answer_to(b, order=["x", "y"]),
        {**answer_to(c), "question_id": "no"},
    ]
    assert statuses(ann, *wrong, answer_to(d)) == ["refused", "refused", "refused", "stored"]


@pytest.mark.slow
def test_every_kind_of_answer(api: Any) -> None:
    """Words, ids, positions, ticks and flags reach the store as the codes of `clew.answers`."""
    ids = api.site.ids
    api.site.store.set_settings(
        {"kinds": ["pair", "triplet", "odd_one_out", "which_of", "confirm"]}
    )
    cases = [
        (Question("triplet", ids=tuple(ids[:3])), ids[2], 1),
        (Question("odd_one_out", ids=tuple(ids[3:6])), "all_alike", -1),
        (Question("odd_one_out", ids=tuple(ids[6:9])), 2, 2),
        (Question("which_of", ids=tuple(ids[:5]), parts=(1, 2, 2)), 1, 1),
        (Question("which_of", ids=tuple(ids[5:10]), parts=(1, 2, 2)), "none_of_these", -1),
        (Question("confirm", ids=tuple(ids[:6]), parts=(3, 3)), [ids[3], ids[5]], 5),
        (Question("pair", ids=(ids[10], ids[11])), "not_comparable", -3),
        (Question("pair", ids=(ids[12], ids[13])), "dont_know", -2),
    ]
    api.site.store.replace_pool([Suggestion(question) for question, _, _ in cases])
    ann = api()
    leased = {(one["kind"], one["items"][0]["id"]): one for one in lease(ann, 20)}
    for question, given, _ in cases:
        asked = leased[question.kind, str(question.ids[0])]  # type: ignore[index]
        assert statuses(ann, answer_to(asked, given)) == ["stored"]
    assert [one.value for one in api.site.standing()] == [code for _, _, code in cases]
    flagged = lease(ann, 1)
    if flagged:
        assert statuses(
            ann, answer_to(flagged[0], "bad_item", bad=[flagged[0]["items"][0]["id"]])
        ) == ["stored"]


@pytest.mark.slow
def test_roles(api: Any) -> None:
    """Each role may do what it may, and sees nothing of the rest."""
    may = {
        ("GET", "/groups"): "viewer", ("GET", "/status"): "viewer", ("POST", "/questions:lease"): "annotator",  # noqa: E501
        ("GET", "/doubtful"): "reviewer", ("POST", "/recluster"): "reviewer", ("GET", "/people"): "owner",  # noqa: E501
        ("GET", "/export/answers"): "reviewer", ("GET", "/export/groups"): "viewer",
    }  # fmt: skip
    roles = ["viewer", "annotator", "reviewer", "owner"]
    clients = {role: api(role.title(), role) for role in roles}
    nobody = api("")
    for (method, path), least in may.items():
        body = {"json": {}} if method == "POST" else {}
        assert nobody.request(method, path, **body).status_code == 401
        for role in roles:
            status = clients[role].request(method, path, **body).status_code
            assert (status == 404) == (roles.index(role) < roles.index(least)), (path, role, status)
    assert clients["reviewer"].post("/links", json={}).status_code == 404
    assert clients["owner"].patch("/people/Owner", json={"role": "viewer"}).status_code == 409


@pytest.mark.slow
def test_links(api: Any) -> None:
    """A link works once; one for many people gives each a name; a revoked one ends its sessions."""
    owner, guest = api("Ann", "owner"), api("")
    url = owner.post("/links", json={"name": "Bo", "role": "reviewer"}).json()["url"]
    secret = url.rsplit("/", 1)[1]
    signed = guest.post("/sign-in", json={"token": secret})
    assert signed.json() == {"name": "Bo", "role": "reviewer"}
    cookie = signed.headers["set-cookie"].casefold()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert guest.get("/me").json()["name"] == "Bo"
    assert api("").post("/sign-in", json={"token": secret}).status_code == 404
    many = owner.post(
        "/links", json={"many": True, "code": "study-7", "completion": "WOOL"}
    ).json()["url"]
    many = many.rsplit("/", 1)[1]
    for name, status in (("Chidi", 200), ("chidi", 409), ("", 422), ("D\u200b", 422), ("Dee", 200)):
        assert api("").post("/sign-in", json={"token": many, "name": name}).status_code == status, (
            name
        )
    assert api.site.store.annotator("Chidi").code == "study-7"
    (link,) = [one for one in owner.get("/people").json()["links"] if one["many"]]
    dee = api("")
    assert dee.post("/sign-in", json={"token": many, "name": "Eve"}).status_code == 200
    assert dee.get("/me").status_code == 200
    owner.delete(f"/links/{link['id']}")
    assert dee.get("/me").status_code == 401
    assert owner.patch("/people/Bo", json={"is_active": False}).status_code == 200
    assert guest.get("/me").status_code == 401


def test_secrets_are_not_kept(api: Any) -> None:
    """The database holds hashes of secrets alone."""
    secret = make_link(api.site.store, annotator="Bo", role="annotator")
    session = api.site.session("Ann")
    folder = api.site.settings.root.parent
    content = b"".join(path.read_bytes() for path in folder.glob("clew.db*"))
    assert secret.encode() not in content
    assert session.encode() not in content
    assert len(secret) >= 22


@pytest.mark.slow
def test_sessions_leases_and_answers_survive_a_restart(make_site: Any) -> None:
    """Another web process on the same store knows the cookie and the question."""
    from clew.web.serving.app import create_app
    from clew.web.serving.server import listen, served

    site = make_site()
    cookies = {"clew_session": site.session("Ann")}
    question = httpx.post(
        f"{site.url}/api/v1/questions:lease", json={"n": 1}, cookies=cookies
    ).json()["questions"][0]
    sock = listen("127.0.0.1", 0, exact=True)
    port = sock.getsockname()[1]
    with served(create_app(site.settings), sock):
        body = {"answers": [answer_to(question)]}
        reply = httpx.post(f"http://127.0.0.1:{port}/api/v1/answers", json=body, cookies=cookies)
    assert reply.json()["results"][0]["status"] == "stored"


@pytest.mark.slow
def test_groups_names_pages_and_exports(api: Any) -> None:
    """Groups by size, items by confidence with a cursor, a name, and safe CSV."""
    bo = api("Bo", "reviewer")
    groups = bo.get("/groups").json()["groups"]
    assert sum(one["n_items"] for one in groups) == len(api.site.ids)
    assert bo.patch("/groups/1", json={"name": "=HYPERLINK(1)"}).status_code == 200
    first = bo.get("/groups/1", params={"limit": 3}).json()
    rest = bo.get("/groups/1", params={"after": first["next"]}).json()
    ids = [one["id"] for one in first["items"] + rest["items"]]
    assert len(ids) == len(set(ids)) == first["n_items"]
    text = bo.get("/export/groups").text
    assert "'=HYPERLINK(1)" in text
    assert ",=HYPERLINK" not in text
    given = answer_to(lease(bo)[0])
    statuses(bo, given)
    (line,) = bo.get("/export/answers").text.splitlines()
    assert json.loads(line)["id"] == given["submission_id"]
    assert bo.get("/export/all").headers["content-type"] == "application/zip"
    api.site.store.put_artifact("affinity", 0, b"PK")
    found = bo.get("/export/affinity", params={"as": "npz"})
    assert (found.status_code, found.content) == (200, b"PK")
    assert bo.get("/estimate").json()["quality"]["n_checks"] == 46
    assert bo.get("/items", params={"limit": 5}).json()["next"] == 4


@pytest.mark.slow
def test_an_edit_is_looked_at_again_if_what_it_touches_has_changed(api: Any) -> None:
    """A newer result alone, or another item that moved, refuses nothing."""
    bo, ids = api("Bo", "reviewer"), api.site.ids
    edit = {"kind": "move", "items": [ids[0]], "target": [ids[1]]}
    body = dict(api.site.store.result().body)

    def fate(kind: str = "move", *, base: int = 0) -> int:
        reply = bo.post("/edits", json={**edit, "kind": kind, "base_revision": base})
        return int(reply.status_code)

    def publish(revision: int, *moved: int) -> None:
        groups = [2 if at in moved else group for at, group in enumerate(body["group_ids"])]
        api.site.store.publish(revision, {**body, "revision": revision, "group_ids": groups})

    assert fate() == 200
    publish(1)
    assert (fate(), fate("merge")) == (200, 200)
    publish(2, 3)  # another item of the first group
    assert (fate(), fate("merge"), fate("merge", base=2)) == (200, 409, 200)
    publish(3, 1)  # the one that says to which group
    assert (fate(), fate(base=3)) == (409, 200)
    for revision in range(4, 14):
        publish(revision, 1)
    assert fate() == 409  # nobody knows any more what was seen
    assert bo.post("/edits", json={**edit, "items": ["nobody"]}).status_code == 404
    assert bo.post("/edits", json={"kind": "move", "items": [ids[0]]}).status_code == 422


@pytest.mark.slow
def test_a_new_start_withdraws_the_link_that_nobody_used(api: Any) -> None:
    """One link of the terminal is open at a time; a session that one has opened stays."""
    store, owner = api.site.store, api("Ann", "owner")
    link = make_link(store, annotator="Ann", role="owner")
    first = owner_invite(store, "Ann")
    _, session = sign_in(store, first)
    second, third = owner_invite(store, "Ann"), owner_invite(store, "Ann")
    fourth = owner_invite(store, "Cy")
    assert [one["from_terminal"] for one in owner.get("/people").json()["links"]].count(True) == 2
    assert store.check_token(second, "invite") is None
    for secret in (link, third, fourth):
        assert store.check_token(secret, "invite") is not None
    assert store.check_token(session, "session") is not None


@pytest.mark.slow
def test_edits_that_belong_together_are_kept_together(api: Any) -> None:
    """A merge of several is one transaction, also when it is sent again or taken back."""
    bo, ids = api("Bo", "reviewer"), api.site.ids
    one, other = (
        {"kind": "merge", "items": [ids[0]], "target": [ids[at]], "submission_id": f"{at:032x}"}
        for at in (1, 2)
    )
    unknown = {**other, "target": ["nobody"]}
    assert bo.post("/edits:all", json={"edits": [one, unknown]}).status_code == 404
    assert bo.post("/edits:all", json={"edits": [one, {**other, "target": []}]}).status_code == 422
    assert api.site.store.last_seq() == 0
    for fate in ("stored", "duplicate"):
        reply = bo.post("/edits:all", json={"edits": [one, other], "base_revision": 0}).json()
        assert [each["status"] for each in reply["edits"]] == [fate] * 2
    third = {**other, "submission_id": "f" * 32}
    assert bo.post("/edits:all", json={"edits": [one, third]}).status_code == 409
    assert api.site.store.last_seq() == 2
    names = [one["submission_id"], other["submission_id"]]
    assert bo.post("/edits:revoke", json={"ids": [*names, "f" * 32]}).status_code == 404
    assert bo.post("/edits:revoke", json={"ids": names}).json() == {"statuses": ["stored"] * 2}
    assert bo.post("/edits:revoke", json={"ids": names}).json() == {"statuses": []}
    assert api.site.standing() == []
    assert api.site.store.last_seq() == 4


@pytest.mark.slow
def test_events_tell_of_a_new_result(api: Any) -> None:
    """The stream begins with the revision, and tells the next one."""
    ann = api()
    with ann.stream("GET", "/events") as stream:
        lines = stream.iter_lines()
        told = [line for line in (next(lines) for _ in range(2)) if line.startswith("data:")]
        assert json.loads(told[0][5:])["revision"] == 0
        body = dict(api.site.store.result().body)
        api.site.store.publish(1, {**body, "revision": 1})
        for line in lines:
            if line.startswith("data:"):
                assert json.loads(line[5:])["revision"] == 1
                break


@pytest.mark.slow
def test_a_worker_is_not_missed_at_once(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker starts after the app: only later does a page say that there is none."""
    ann = api()
    assert ann.post("/questions:lease", json={"n": 1}).json()["model"] == "warming_up"
    monkeypatch.setattr("clew.web.results.SOON", 0.0)
    assert ann.post("/questions:lease", json={"n": 1}).json()["model"] == "away"


def test_without_items_it_says_so(make_site: Any) -> None:
    """No items, no question: the state names the reason."""
    site = make_site([])
    cookies = {"clew_session": site.session("Ann")}
    reply = httpx.post(f"{site.url}/api/v1/questions:lease", json={}, cookies=cookies).json()
    assert reply["questions"] == []
    assert reply["state"] == "no_items"


@pytest.mark.slow
def test_twenty_people_at_once_lose_nothing(make_site: Any) -> None:
    """Twenty people answer at the same time; every answer is stored once."""
    from concurrent.futures import ThreadPoolExecutor

    site = make_site()
    pairs = [(i, j) for i in range(24) for j in range(i + 1, 24)]
    site.store.replace_pool(
        [Suggestion(Question("pair", ids=(site.ids[i], site.ids[j]))) for i, j in pairs]
    )
    secrets = [site.session(f"P{k}") for k in range(20)]

    def answer(secret: str) -> int:
        with httpx.Client(
            base_url=f"{site.url}/api/v1", cookies={"clew_session": secret}, timeout=30
        ) as client:
            held = lease(client, 2)
            n = 0
            for _ in range(4):
                reply = client.post(
                    "/answers", json={"answers": [answer_to(held.pop(0))], "n": 2}
                ).json()
                n += reply["results"][0]["status"] == "stored"
                held = reply["questions"]
            return n

    with ThreadPoolExecutor(20) as pool:
        assert sum(pool.map(answer, secrets)) == 80
    asked = [tuple(sorted(map(str, one.question.ids))) for one in site.standing()]
    assert len(asked) == len(set(asked)) == 80


def test_an_item_that_has_an_id_alone_is_shown_by_it() -> None:
    """People see something to judge by, also where names of items are hidden."""
    shown = item_json(Item("Anna Lund", "row"), "", size=400, text=None, name=False)
    assert shown["columns"] == [["id", "Anna Lund"]]
    shown = item_json(
        Item("1", "row", columns={"town": "Lund"}), "", size=400, text=None, name=False
    )
    assert shown["columns"] == [["town", "Lund"]]
