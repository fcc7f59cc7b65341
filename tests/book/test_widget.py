"""The live page of a notebook: the replies of the kernel, and the page in a host of widgets."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest

import kilogram as kg
from kilogram.book.errors import BookError
from kilogram.book.notebook import NotebookPage
from kilogram.book.scene import run_scene
from tests.book.test_browser import CHROMIUM, FRONT_END, NODE, in_browser, needs_bundle

pytest.importorskip("anywidget", reason="anywidget is not installed")
pytestmark = [needs_bundle, pytest.mark.xdist_group("browser")]

X = np.round(np.random.default_rng(0).normal(size=(24, 2)), 3)
y = np.repeat(["no", "yes"], 12)


@pytest.fixture
def sent(monkeypatch):
    """The messages from the kernel, which a notebook would get through its socket."""
    import comm
    from comm.base_comm import BaseComm

    messages: list[dict] = []

    class Recorded(BaseComm):
        def publish_msg(self, msg_type, data=None, metadata=None, buffers=None, **keys):
            messages.append(data)

    monkeypatch.setattr(comm, "create_comm", Recorded)
    return messages


def deliver(widget, content):
    """A message to the kernel."""
    widget._handle_msg(
        {"content": {"data": {"method": "custom", "content": content}}, "buffers": []}
    )


def ask(widget, sent, path, body=None):
    """One request as the page sends it, and the reply."""
    deliver(widget, {"id": "a1", "path": path, "body": body})
    content = sent[-1]["content"]
    assert content["id"] == "a1"
    return json.loads(content["text"])


def test_the_widget_has_what_a_host_needs(sent):
    widget = kg.book.page("svm", X=X, y=y, height=700)
    opened = next(m["state"] for m in sent if "_esm" in m["state"])
    assert opened["_model_module"] == "anywidget"
    assert opened["height"] == 700
    assert "export default" in opened["_esm"]
    assert '"slug": "svm"' in opened["html"]
    assert "KILOGRAM_EXPORT = {" not in opened["html"]  # no recorded fits
    assert widget.comm is not None


def test_the_kernel_fits_the_data_given_first_and_then_what_the_page_has(sent):
    widget = kg.book.page("svm", X=X, y=y)
    page = ask(widget, sent, "page/svm")
    scene = next(scene for scene in page["scenes"] if scene["id"] == "svm")
    assert scene["presets"][0] == ["own", "your data"]
    request = {"scene": "svm", "controls": {"C": 2.0}, "preset": "own", "points": None}
    reply = ask(widget, sent, "run", request)
    given = [[*row, int(c == "yes")] for row, c in zip(X.tolist(), y, strict=True)]
    assert reply["points"] == given
    _, expected = run_scene("svm", {"C": 2.0}, given=given)
    assert reply["readouts"] == json.loads(json.dumps(expected.as_json()["readouts"]))
    moved = [[5.0, 5.0, 0], *given[1:]]
    assert ask(widget, sent, "run", {**request, "points": moved})["points"] == moved
    preset = scene["presets"][1][0]
    assert ask(widget, sent, "run", {**request, "preset": preset})["points"] != given


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        ("page/nothing", None, "no page called 'nothing'"),
        ("run", {"scene": "svm", "preset": "own", "controls": {"C": -5}}, "must be between"),
        ("run", {"scene": "svm", "preset": "own", "points": []}, "needs at least 2 points"),
        ("run", None, "no scene called ''"),
        ("files/secret", None, "no request of a page"),
    ],
)
def test_a_request_that_cannot_be_answered_is_a_sentence(sent, path, body, sentence):
    assert sentence in ask(kg.book.page("svm", X=X, y=y), sent, path, body)["error"]


def test_a_defect_of_a_scene_and_an_interrupt_leave_the_page_alive(sent, monkeypatch):
    widget = kg.book.page("svm", X=X, y=y)
    for error, sentence in [(ZeroDivisionError("x"), "failed"), (KeyboardInterrupt(), "interrupt")]:

        def fail(request, error=error):
            raise error

        monkeypatch.setattr("kilogram.book.widget.answer", fail)
        assert sentence in ask(widget, sent, "run", {"scene": "svm"})["error"]
    monkeypatch.undo()
    assert "frames" in ask(widget, sent, "run", {"scene": "svm", "preset": "own"})


def test_a_page_without_data_is_the_page_of_the_book(sent):
    widget = kg.book.page("kmeans")
    assert "own" not in dict(ask(widget, sent, "page/clusters")["scenes"][0]["presets"])
    assert ask(widget, sent, "cost/clusters")["rows"]
    assert len(ask(widget, sent, "book")["pages"]) > 20


def test_recorded_pages_remain_and_replace_the_live_ones_without_anywidget(monkeypatch):
    assert isinstance(kg.book.page("centroids", live=False), NotebookPage)
    monkeypatch.delitem(sys.modules, "kilogram.book.widget", raising=False)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    assert isinstance(kg.book.page("centroids"), NotebookPage)
    with pytest.raises(BookError, match=r"kilogram\[notebook\]"):
        kg.book.page("centroids", live=True)


HOST = """<!doctype html><meta charset="utf-8"><title>Notebook</title>
<body data-jp-theme-light="false"><script type="module">
  import widget from './widget.js';
  const traits = await (await fetch('traits')).json();
  const handlers = new Set();
  const model = {
    get: (name) => traits[name],
    on: (event, handler) => event === 'msg:custom' && handlers.add(handler),
    off: (event, handler) => handlers.delete(handler),
    send: async (content) => {
      const reply = await fetch('send', { method: 'POST', body: JSON.stringify(content) });
      const found = await reply.json();
      for (const handler of handlers) handler(found, []);
    },
  };
  widget.render({ model, el: document.body });
</script></body>"""


def host_of(widget, sent):
    """A server of a page that has the interface anywidget gives to the script of a widget."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            traits = {"html": widget.html, "height": widget.height}
            found = {
                "/": ("text/html", HOST),
                "/widget.js": ("text/javascript", widget._esm),
                "/traits": ("application/json", json.dumps(traits)),
            }.get(self.path, ("text/plain", ""))
            self._reply(*found)

        def do_POST(self):
            content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            deliver(widget, content)
            self._reply("application/json", json.dumps(sent[-1]["content"]))

        def _reply(self, kind, text):
            self.send_response(200)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    return HTTPServer(("127.0.0.1", 0), Handler)


@in_browser
def test_a_notebook_shows_a_live_page(sent, tmp_path):
    server = host_of(kg.book.page("svm", X=X, y=y), sent)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        address = f"http://127.0.0.1:{server.server_port}/"
        command = [str(NODE), "e2e/notebook.mjs", address, tmp_path / "seen.json", str(CHROMIUM)]
        subprocess.run(command, cwd=FRONT_END, timeout=300, check=True)
    finally:
        server.shutdown()
        server.server_close()
    seen = json.loads((tmp_path / "seen.json").read_text("utf-8"))
    assert "failed" not in seen, seen["failed"]
    assert [text for text in seen["problems"] if "favicon" not in text] == []
    first, dragged = seen["first"], seen["dragged"]
    assert first["scene"] == "svm"
    assert first["theme"] == "dark"  # as the notebook has it
    assert first["preset"] == "your data"
    assert first["circles"] >= len(X)
    given = [[*row, int(c == "yes")] for row, c in zip(X.tolist(), y, strict=True)]
    _, recording = run_scene("svm", {}, given=given)
    expected = [*recording.frames[-1].readouts, *recording.readouts]
    for shown, (_, value) in zip(first["values"], expected, strict=True):
        assert shown == (pytest.approx(value, rel=1e-3) if isinstance(value, float) else value)
    assert dragged["values"] != first["values"]
    assert not first["alert"]
    assert not dragged["alert"]
    assert seen["second"]["scene"] != "svm"  # a link of the page leads inside its frame
    assert seen["address"] == address
