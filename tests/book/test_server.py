"""The server: pages, fits within a time limit, stale requests dropped, this machine only."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading

import pytest

from kilogram.book import server
from kilogram.book.choose import choose_trees
from kilogram.book.server import make_app, serve
from kilogram.book.tours import parts_of, tours
from kilogram.book.worker import Superseded, Worker
from kilogram.registry import SLUGS

pytest.importorskip("fastapi", reason="FastAPI is not installed")


class Direct:
    """A worker that answers in this process."""

    def run(self, tab, request):
        from kilogram.book.worker import answer, encode_reply

        return encode_reply(answer(request))


def call(method, path, body=b"", host="127.0.0.1:1"):
    """One request to the application, without a socket."""
    sent: list[dict] = []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    headers = [(b"host", host.encode()), (b"content-length", str(len(body)).encode())]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
        "path": path, "raw_path": path.encode(), "query_string": b"", "headers": headers,
        "scheme": "http", "server": ("127.0.0.1", 1), "client": ("127.0.0.1", 2), "root_path": "",
    }  # fmt: skip
    asyncio.run(make_app(Direct())(scope, receive, send))
    text = b"".join(m.get("body", b"") for m in sent if m["type"] == "http.response.body")
    return sent[0]["status"], text, dict(sent[0]["headers"])


def test_book_lists_all_pages_and_loads_nothing_from_elsewhere():
    status, text, headers = call("GET", "/api/book")
    assert status == 200
    assert sorted(page["slug"] for page in json.loads(text)["pages"]) == sorted(SLUGS)
    assert b"default-src 'self'" in headers[b"content-security-policy"]


def test_replies_do_not_wait_for_acknowledgements():
    """asyncio sets TCP_NODELAY only on sockets whose protocol is named."""
    with server._listen(0) as listening:
        assert listening.proto == socket.IPPROTO_TCP


def test_small_pictures_are_served():
    status, text, _ = call("GET", "/api/thumbnail/clusters")
    assert status == 200
    assert json.loads(text)["panel"]["id"] == "data"
    assert call("GET", "/api/thumbnail/nothing")[0] == 404


def test_the_contents_are_served_without_what_computes():
    """The first page shall not wait for SciPy, the algorithms and the recipes."""
    code = (
        "import sys; from kilogram.book.server import make_app, contents, tours, Worker\n"
        "make_app(Worker()); contents(); tours()\n"
        "print({'scipy', 'sklearn', 'kilogram.kitchen', 'kilogram.book.scene'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_decision_trees_are_served():
    status, text, _ = call("GET", "/api/choose")
    assert status == 200
    assert json.loads(text) == choose_trees()


def test_a_fit_runs():
    status, text, _ = call("POST", "/api/run", json.dumps({"scene": "kmeans"}).encode())
    assert status == 200
    assert json.loads(text)["frames"]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"no json", "no request"),
        (b"[1]", "no request"),
        (b'{"scene": "nothing"}', "no scene called"),
        (b'{"scene": "kmeans", "controls": {"k": "many"}}', "must be between"),
        (b'{"scene": "kmeans", "preset": "sheep"}', "no data set called"),
    ],
)
def test_bad_requests_are_a_sentence(body, sentence):
    _, text, _ = call("POST", "/api/run", body)
    assert sentence in json.loads(text)["error"]


def test_other_hosts_and_other_files_are_refused():
    assert call("GET", "/api/book", host="example.org")[0] == 403
    assert call("GET", "/../server.py")[0] == 404
    assert call("GET", "/api/page/nothing")[0] == 404


def test_without_the_built_pages_one_sentence(monkeypatch, tmp_path):
    from kilogram.book.errors import BookError

    monkeypatch.setattr(server, "STATIC", tmp_path)
    with pytest.raises(BookError, match="run `make book`"):
        serve()


def test_a_stale_request_is_dropped_and_a_long_one_stopped():
    """While one fit runs, a newer request of a tab replaces the waiting one."""
    worker = Worker(time_limit=30)
    running, release = threading.Event(), threading.Event()

    def slow(request):
        running.set()
        release.wait(10)
        return {"who": request["who"]}

    worker._run = slow  # type: ignore[method-assign]
    replies: dict[str, object] = {}

    def ask(who):
        try:
            replies[who] = worker.run("tab", {"who": who})
        except Superseded:
            replies[who] = "superseded"

    threads = [threading.Thread(target=ask, args=(who,)) for who in ("first", "second", "third")]
    threads[0].start()
    assert running.wait(10)
    for thread, count in zip(threads[1:], (2, 3), strict=True):
        thread.start()
        while worker._count < count:
            pass
    release.set()
    for thread in threads:
        thread.join(10)
    assert replies == {"first": {"who": "first"}, "second": "superseded", "third": {"who": "third"}}


def test_a_page_does_not_wait_for_small_pictures():
    worker = Worker(time_limit=30)
    running, release = threading.Event(), threading.Event()
    order: list[str] = []

    def slow(request):
        running.set()
        release.wait(10)
        order.append(next(iter(request.values())))
        return b""

    worker._run = slow  # type: ignore[method-assign]
    requests = [{"thumbnail": name} for name in "abcd"] + [{"page": "page"}, {"scene": "fit"}]
    threads = []
    for count, request in enumerate(requests, 1):
        threads.append(threading.Thread(target=worker.run, args=(str(count), request)))
        threads[-1].start()
        assert running.wait(10)
        while worker._count < count:
            pass
    while worker._turn._wanted < 2:
        pass
    release.set()
    for thread in threads:
        thread.join(10)
    assert order[0] == "a"
    assert set(order[1:3]) == {"page", "fit"}


def test_the_worker_process_responds_and_keeps_its_time_limit():
    worker = Worker(time_limit=300)
    try:
        assert json.loads(worker.run("tab", {"scene": "kmeans"}))["frames"]
        worker.time_limit = 0.0
        assert "was stopped" in json.loads(worker.run("tab", {"scene": "kmeans"}))["error"]
        worker.time_limit = 300
        assert json.loads(worker.run("tab", {"scene": "kmeans"}))["frames"]  # in a new process
    finally:
        worker.close()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Machine Learning Cookbook, chapters 7, A.3, B.1", ("cookbook", ["7", "A.3", "B.1"])),
        ("Machine Learning, lecture notes, lectures 20 to 21", ("lecture_notes", ["20", "21"])),
        ("Machine Learning, lecture notes 2015/16, lectures 10-13",
         ("lecture_notes", ["10", "11", "12", "13"])),
        ("lecture_notes L03, L08", ("lecture_notes", ["3", "8"])),
        ("Cover and Hart 1967", None),
    ],
)  # fmt: skip
def test_sources_name_chapters(source, expected):
    assert parts_of(source) == expected


def test_tours_reach_every_page_and_the_tree_ends_in_methods():
    reached = {
        slug for tour in tours() for chapter in tour["chapters"] for slug in chapter["pages"]
    }
    assert reached == set(SLUGS)
    chapters = {t["text"]: [c["label"] for c in t["chapters"]] for t in tours()}
    assert [f"Lecture {n}" for n in range(2, 28)] == chapters["lecture_notes"]
    assert [f"Section {n}" for n in range(2, 9)] == chapters["summary"]
    assert [f"Chapter {n}" for n in range(4, 25)] == chapters["cookbook"][:21]
    assert [f"Chapter {n}" for n in range(2, 15)] == chapters["first_encounter"][:13]

    def leaves(node):
        if "methods" in node:
            return [node["methods"]]
        return [leaf for _, branch in node["branches"] for leaf in leaves(branch)]

    assert all(leaves(choose_trees()))
