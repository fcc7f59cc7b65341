"""A real server, asked over real HTTP: answers, clear refusals, limits that hold, a clean end."""

import asyncio
import http.client
import json
import re
import select
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import psutil
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from kilogram.kitchen import KitchenError
from kilogram.kitchen.artifact.model_file import model_bytes
from kilogram.kitchen.features.columns import Column, Layout
from kilogram.kitchen.serve import Limits
from kilogram.kitchen.serve.app import make_app, refuse_images
from kilogram.kitchen.serve.limits import Job, RequestError, RequestQueue
from kilogram.kitchen.serve.openapi import describe_model, example, openapi
from kilogram.kitchen.serve.responses import Predictor
from kilogram.kitchen.serve.server import _listen
from tests.kitchen.conftest import curved

# one server for all: the tests of this file stay on one worker, in their order
pytestmark = pytest.mark.xdist_group("serve")
JSON = {"Content-Type": "application/json"}
CSV = {"Content-Type": "text/csv"}
ROWS = [{"x": 0.5, "noise": None, "word": "red"}, {"x": -1, "noise": 2.0, "word": "blue"}]


def job(body):
    return Job(body, "application/json", "application/json", 0.9)


def start(path, *options):
    command = [sys.executable, "-m", "kilogram.cli", "serve", str(path), "--port", "0", *options]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = server.stdout.readline()
    assert "http://127.0.0.1:" in line, server.stderr.read()
    return server, int(line.split("http://127.0.0.1:")[1].split()[0])


@pytest.fixture(scope="module")
def served(cooked, tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "model.skops"
    path.write_bytes(model_bytes(cooked.model, card="# A card"))
    server, port = start(path, "--waiting", "4", "--timeout", "120")
    yield server, port
    if server.poll() is None:
        server.kill()
        server.communicate()


def ask(port, body, headers=JSON, path="/predict", method="POST"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    body = body if isinstance(body, bytes | str | None) else json.dumps(body)
    connection.request(method, path, body, headers)
    reply = connection.getresponse()
    text = reply.read().decode()
    connection.close()
    return reply, json.loads(text) if "json" in reply.headers["content-type"] else text


def test_responses_are_the_predictions_of_the_model(served, cooked):
    frame = curved(30, seed=8)
    expected = cooked.predict(frame)
    reply, response = ask(served[1], frame.drop(columns="y").to_csv(index=False), CSV)
    assert reply.status == 200
    values = np.array([row["prediction"] for row in response["predictions"]])
    assert values == pytest.approx(expected)
    assert all(row["low"] < row["prediction"] < row["high"] for row in response["predictions"])
    rows = json.loads(frame.drop(columns="y").to_json(orient="records", double_precision=15))
    _, bare = ask(served[1], rows)
    assert [row["prediction"] for row in bare["predictions"]] == pytest.approx(expected)
    _, text = ask(served[1], {"rows": ROWS}, JSON | {"Accept": "text/csv"})
    assert text.splitlines()[0].startswith('"x","noise","word","predicted y"')
    wide = ask(served[1], ROWS, path="/predict?coverage=0.95")[1]["predictions"]
    narrow = ask(served[1], ROWS, path="/predict?coverage=0.5")[1]["predictions"]
    assert wide[0]["high"] > narrow[0]["high"]


def test_new_words_and_more_columns_get_predictions_with_notes(served):
    rows = [ROWS[0] | {"word": "purple", "more": 1}]
    reply, response = ask(served[1], rows)
    assert reply.status == 200
    assert response["predictions"][0]["out_of_distribution"] is True
    assert "'word'" in " ".join(response["notes"])
    assert "'more'" in " ".join(response["notes"])


@pytest.mark.parametrize(
    ("body", "headers", "status", "says"),
    [
        ('{"rows": [', JSON, 400, "Not valid JSON"),
        ("[" * 100_000, JSON, 400, "nested"),
        ('[{"x": NaN}]', JSON, 400, "null"),
        ('"rows"', JSON, 400, "list of rows"),
        ('[{"x": 1, "noise": 1, "word": "\\ud800"}]', JSON, 400, "surrogate"),
        ('[{"x": 1, "noise": 1, "word": "red", "\\udfff": 1}]', JSON, 400, "surrogate"),
        ("", JSON, 400, "empty"),
        ("[]", JSON, 422, "no rows"),
        ("[1]", JSON, 422, "Row 0 is not an object"),
        ([{"x": 1, "word": "red"}], JSON, 422, "lacks the column 'noise'"),
        ([ROWS[0] | {"x": "abc"}], JSON, 422, "expected a number"),
        ([ROWS[0] | {"x": True}], JSON, 422, "expected a number"),
        ('[{"x": 1e999, "noise": 1, "word": "red"}]', JSON, 422, "too large"),
        ([ROWS[0] | {"word": {}}], JSON, 422, "expected a string"),
        ([ROWS[0]] * 10_001, JSON, 413, "10,000 rows"),
        ("x,noise\n1,2\n", CSV, 422, "lacks the column 'word'"),
        ("x,noise,word\n", CSV, 422, "no rows"),
        ("x,noise,word\nabc,1,red\n", CSV, 422, "'x'"),
        ("," * 20_000, CSV, 413, "columns"),
        (b"\0\1\2\3" * 50, CSV, 400, "binary"),
        ("x=1", {"Content-Type": "application/x-www-form-urlencoded"}, 415, "text/csv"),
    ],
)
def test_refusals_say_what_to_do(served, body, headers, status, says):
    reply, response = ask(served[1], body, headers)
    assert reply.status == status, response
    assert says in response["error"]


def test_where_an_error_is_can_be_read_by_machines(served):
    _, response = ask(served[1], [ROWS[0], ROWS[0] | {"x": "?"}])
    assert (response["row"], response["column"]) == (1, "x")
    assert ask(served[1], ROWS, path="/predict?coverage=2")[0].status == 422
    assert ask(served[1], None, {}, "/nowhere", "GET")[0].status == 404
    reply, response = ask(served[1], None, {}, "/predict", "GET")
    assert reply.status == 405
    assert "POST" in response["error"]


def test_it_describes_itself_without_the_network(served):
    health = ask(served[1], None, {}, "/health", "GET")[1]
    assert health["status"] == "ok"
    response = ask(served[1], None, {}, "/model", "GET")[1]
    assert response["card"] == "# A card"
    assert [column["name"] for column in response["columns"]] == ["x", "noise", "word"]
    _, card = ask(served[1], None, {"Accept": "text/markdown"}, "/model", "GET")
    assert card == "# A card"
    document = ask(served[1], None, {}, "/openapi.json", "GET")[1]
    body = document["paths"]["/predict"]["post"]["requestBody"]["content"]
    assert ask(served[1], body["application/json"]["example"])[0].status == 200
    reply, page = ask(served[1], None, {}, "/", "GET")
    assert "default-src 'none'" in reply.headers["content-security-policy"]
    assert "http" not in page.replace("HTTP", "")


def test_a_gigabyte_is_refused_by_its_length_alone(served):
    with socket.create_connection(("127.0.0.1", served[1]), timeout=120) as wire:
        wire.sendall(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
                     b"Content-Length: 1000000000\r\n\r\n")  # fmt: skip
        assert wire.recv(1000).startswith(b"HTTP/1.1 413")


def test_a_streamed_gigabyte_is_cut_off_and_never_held(served):
    process = psutil.Process(served[0].pid)
    before = process.memory_info().rss
    chunk = b"100000\r\n" + b"1" * (1 << 20) + b"\r\n"
    sent, most = 0, 0
    with socket.create_connection(("127.0.0.1", served[1]), timeout=120) as wire:
        wire.sendall(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
                     b"Transfer-Encoding: chunked\r\n\r\n")  # fmt: skip
        while sent < 1000 and not select.select([wire], [], [], 0)[0]:
            wire.sendall(chunk)
            sent += 1
            most = max(most, process.memory_info().rss)
        assert wire.recv(1000).startswith(b"HTTP/1.1 413")
    assert 8 < sent < 200
    assert most - before < 100 << 20
    assert ask(served[1], ROWS)[0].status == 200


def test_a_client_that_sends_all_before_it_reads_gets_the_error_too(served):
    reply, response = ask(served[1], b"1" * (24 << 20), CSV)
    assert reply.status == 413
    assert "kg predict" in response["error"]


def test_two_hundred_at_once_are_served_or_asked_to_retry(served):
    found = []

    def one():
        reply, response = ask(served[1], [ROWS[0]] * 200)
        found.append((reply.status, reply.headers.get("retry-after"), response))

    crowd = [threading.Thread(target=one) for _ in range(200)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    assert len(found) == 200
    assert {status for status, _, _ in found} <= {200, 503}
    assert sum(status == 200 for status, _, _ in found) >= 6
    assert all(again == "1" for status, again, _ in found if status == 503)
    assert ask(served[1], ROWS)[0].status == 200
    assert ask(served[1], None, {}, "/health", "GET")[1]["at_work"] == 0


def test_a_body_that_never_ends_and_a_response_that_never_comes_are_given_up():
    """Without a server: what is waited for never comes, however long a busy machine takes."""
    done = threading.Event()
    limits = Limits(timeout=0.05, threads=1, waiting=0)
    queue = RequestQueue(limits, lambda jobs: [done.wait() for _ in jobs])

    async def endless():
        yield b"["
        await asyncio.Event().wait()

    async def whole():
        yield b"[]"

    async def clients():
        with pytest.raises(RequestError) as slow:
            await queue.process(endless(), "100", job)
        with pytest.raises(RequestError) as late:
            await queue.process(whole(), None, job)
        with pytest.raises(RequestError) as full:  # the late one keeps its place
            await queue.process(whole(), None, job)
        done.set()
        return [one.value.status for one in (slow, late, full)], slow.value.message

    statuses, message = asyncio.run(clients())
    queue.close()
    assert statuses == [408, 503, 503]
    assert "to arrive" in message


def test_requests_for_another_host_are_refused(served):
    """A page whose name was rebound to this machine cannot read predictions."""
    for host, status in [("localhost", 200), ("127.0.0.1:1", 200), ("[::1]:80", 200),
                         ("evil.com", 421), ("127.0.0.1.evil.com", 421), ("", 421)]:  # fmt: skip
        assert ask(served[1], ROWS, JSON | {"Host": host})[0].status == status, host
        assert ask(served[1], None, {"Host": host}, "/health", "GET")[0].status == status


def test_a_queue_within_its_bytes():
    """Bodies of waiting requests take at most `max_queued_bytes` together."""
    limits = Limits(max_bytes=100, max_queued_bytes=150, timeout=60.0)
    queue = RequestQueue(limits, lambda jobs: [len(job.body) for job in jobs])

    async def body(size, gate):
        yield b"1" * size
        await gate.wait()

    async def requests():
        gate = asyncio.Event()
        first = asyncio.create_task(queue.process(body(100, gate), None, job))
        await asyncio.sleep(0)
        while not queue.queued_bytes:
            await asyncio.sleep(0)
        with pytest.raises(RequestError) as full:
            await queue.process(body(100, gate), None, job)
        gate.set()
        return full.value.status, await first

    assert asyncio.run(requests()) == (503, 100)
    queue.close()
    assert queue.queued_bytes == queue.active == 0


def test_a_client_that_hangs_up_leaves_no_traceback(cooked):
    """Half a body, then the connection is gone: nothing is raised, and the queue is empty."""
    app, sent = make_app(cooked.model), []
    messages = [{"type": "http.request", "body": b"[", "more_body": True},
                {"type": "http.disconnect"}]  # fmt: skip

    async def receive():
        return messages.pop(0)

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/predict", "headers": [],
             "query_string": b"", "http_version": "1.1"}  # fmt: skip
    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 400
    assert app.state.queue.active == app.state.queue.queued_bytes == 0


def test_small_requests_that_wait_are_processed_together():
    """One thread is busy; what arrives meanwhile is one batch, a large request is not in it."""
    busy, sizes = threading.Event(), []

    def work(jobs):
        sizes.append(len(jobs))
        busy.wait(60)
        return [RequestError(422, "bad") if job.body == b"bad" else job.body for job in jobs]

    queue = RequestQueue(Limits(threads=1), work)

    async def body(content):
        yield content

    async def requests():
        sent = [b"first", b"a", b"bad", b"c", b"9" * 20_000, b"d"]
        tasks = []
        for content in sent:
            tasks.append(asyncio.create_task(queue.process(body(content), None, job)))
            await asyncio.sleep(0.02)
        busy.set()
        return sent, await asyncio.gather(*tasks, return_exceptions=True)

    sent, found = asyncio.run(requests())
    queue.close()
    assert sizes == [1, 3, 1, 1]
    assert isinstance(found[2], RequestError)
    assert found[:2] + found[3:] == sent[:2] + sent[3:]
    assert queue.active == queue.queued_bytes == 0


def test_requests_in_a_batch_get_the_responses_they_get_alone(cooked):
    predictor = Predictor(cooked.model, Limits())
    rows = [{"x": 0.1 * k, "noise": None, "word": "red"} for k in range(4)]
    bodies = [rows[:1], rows[1:3], [{"x": 1.0}], [{"x": 1e9, "noise": 0, "word": "new"}], "no"]
    jobs = [job(json.dumps(body).encode()) for body in bodies]
    for one, together in zip(jobs, predictor.respond(jobs), strict=True):
        (alone,) = predictor.respond([one])
        if isinstance(alone, RequestError):
            assert (together.status, together.message) == (alone.status, alone.message)
            continue
        together, alone = json.loads(together), json.loads(alone)
        assert together["notes"] == alone["notes"]
        for p, q in zip(together["predictions"], alone["predictions"], strict=True):
            assert p == pytest.approx(q)


def test_responses_are_sent_at_once():
    """Connections have TCP_NODELAY, without which each response waits 40 ms for the client."""
    listening = _listen("127.0.0.1", 0)
    flags = []

    async def once():
        def connected(reader, writer):
            found = writer.get_extra_info("socket")
            flags.append(found.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        async with await asyncio.start_server(connected, sock=listening):
            reader, writer = await asyncio.open_connection(*listening.getsockname())
            await reader.read()
            writer.close()

    asyncio.run(once())
    assert flags
    assert all(flags)


@pytest.mark.parametrize("sent", [b"", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_headers_that_do_not_arrive_close_the_connection(sent, monkeypatch):
    """Also after a good request on the same connection: half a request holds no connection."""
    from kilogram.kitchen.serve import server

    monkeypatch.setattr(server, "HEADERS", 0.01)

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    class Wire(asyncio.Transport):
        closed = asyncio.Event()

        def get_extra_info(self, name, default=None):
            return default

        def is_closing(self):
            return self.closed.is_set()

        def close(self):
            self.closed.set()

        def write(self, data):
            pass

        def resume_reading(self):
            pass

        pause_reading = resume_reading

    async def connection():
        import uvicorn
        from uvicorn.server import ServerState

        config = uvicorn.Config(app, http=server._protocol(60.0), lifespan="off")
        config.load()
        wire, protocol = Wire(), config.http_protocol_class(config, ServerState(), {})
        protocol.connection_made(wire)
        if sent:  # asyncio delivers no empty data: to h11 it means the end of the connection
            protocol.data_received(sent)
        for _ in range(20):  # the response
            await asyncio.sleep(0)
        protocol.data_received(b"GET /health HTTP/1.1\r\nHos")
        await asyncio.wait_for(wire.closed.wait(), 60)

    asyncio.run(connection())


def test_models_that_open_paths_are_not_served(cooked):
    layout = Layout((*cooked.model.layout.columns, Column("photo", "image", "said")))
    with pytest.raises(KitchenError, match="not served"):
        make_app(replace(cooked.model, layout=layout))
    refuse_images(cooked.model)


def test_every_kind_of_column_has_an_example():
    columns = (
        Column("d", "date", "", form="%d.%m.%Y"), Column("e", "date", ""),
        Column("s", "ordinal", "", levels=("S", "M", "L")), Column("t", "text", ""),
        Column("n", "numeric", ""), Column("y", "time", "", form="number"),
        Column("c", "categorical", "", levels=tuple("abcdefgh")),
    )  # fmt: skip
    from kilogram.kitchen.artifact.model import Model
    from kilogram.kitchen.serve.request_rows import CellParser, from_rows

    model = Model("target", "regression", Layout(columns), None)
    row = example(model)
    assert row["d"] == "01.01.1970"
    X = model.layout.array(from_rows([row], model.layout, Limits()))
    assert X[0].tolist() == [0.0, 0.0, 1 / 3, "some text", 0.0, 0.0, 0.0]
    again = CellParser(model.layout).cells([row], Limits())
    assert again[0].tolist() == X[0].tolist()
    odd = {"d": None, "e": "2024-02-29", "s": "XXL", "t": None, "n": None, "y": 2.5, "c": "new"}
    X = model.layout.array(from_rows([odd, row], model.layout, Limits()))
    again = CellParser(model.layout).cells([odd, row], Limits())
    assert list(map(str, again.ravel())) == list(map(str, X.ravel()))
    assert "properties" in openapi(model, Limits(), "1")["components"]["schemas"]["Row"]
    assert describe_model(model)["columns"][6]["format"].endswith("…")
    with pytest.raises(KitchenError, match="threads"):
        Limits(threads=0)


def test_ctrl_c_ends_it_cleanly(served):
    """The last one: the server of all tests above is gone after it."""
    server, port = served
    assert ask(port, ROWS)[0].status == 200
    server.send_signal(signal.SIGINT)
    out, err = server.communicate(timeout=120)
    assert server.returncode == 0
    assert re.search(r"\d requests? answered", out)  # one, if no other test shared this server
    assert "Traceback" not in err
