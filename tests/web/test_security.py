"""The door of the studio, and what gets past it: nothing of others, nothing from a trace."""

from __future__ import annotations

import http.client
import re
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner
from playwright.sync_api import expect

from knowbound.cli.main import knowbound
from knowbound.review.review import review
from knowbound.web.access import Access, Right, Team, is_password, password_hash, read_users
from knowbound.web.app import LOOPBACK, StudioServer
from knowbound.web.markdown import TextMark, markdown_html
from tests.lessons.shop import Shop
from tests.transcripts import Transcript
from tests.web.conftest import Visiting, running


class Client:
    """Plain HTTP, with any header that a browser would not send."""

    def __init__(self, made: StudioServer) -> None:
        self._made, self.cookie, self.csrf = made, "", ""

    def ask(
        self, path: str, method: str = "GET", body: str = "", headers: Mapping[str, str] | None = None
    ) -> tuple[int, dict[str, str], str]:
        connection = http.client.HTTPConnection(LOOPBACK, self._made.address.port)
        given = {"Host": f"{LOOPBACK}:{self._made.address.port}", "Cookie": self.cookie} | dict(headers or {})
        connection.request(method, path, body, given)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, text

    def open(self) -> Client:
        link = self._made.new_link().removeprefix(self._made.address.url)
        status, headers, _ = self.ask(link)
        assert (status, headers["location"]) == (303, "/")
        self.cookie = headers["set-cookie"].partition(";")[0]
        found = re.search(r'name="csrf" value="([^"]+)"', self.ask("/")[2])
        assert found
        self.csrf = found[1]
        return self

    def change(self, path: str, **fields: str) -> int:
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": self._made.address.url}
        body = "&".join(f"{name}={value}" for name, value in fields.items())
        return self.ask(path, "POST", body, headers)[0]


def test_a_link_works_once_and_nothing_is_shown_without_it(studio: StudioServer) -> None:
    client = Client(studio)
    for path in ("/", "/sessions", "/knowledge", "/events", "/raw/x/1/1"):
        status, headers, text = client.ask(path)
        assert (status, headers["location"], text) == (303, "/closed", "")
    link = studio.new_link().removeprefix(studio.address.url)
    assert client.ask(link, headers={"Sec-Purpose": "prefetch"})[1]["location"] == "/closed"  # nothing is used up
    status, headers, _ = client.ask(link)
    assert "HttpOnly" in headers["set-cookie"]
    assert "samesite=strict" in headers["set-cookie"].lower()
    assert client.ask(link)[1]["location"] == "/closed"
    assert client.ask("/open/nonsense")[1]["location"] == "/closed"


def test_other_hosts_and_origins_are_refused(studio: StudioServer) -> None:
    client = Client(studio).open()
    assert client.ask("/", headers={"Host": "evil.example"})[0] == 403
    assert client.ask("/", headers={"Host": f"evil.example:{studio.address.port}"})[0] == 403
    for site in ("cross-site", "same-site"):
        assert client.ask("/", headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "cors"})[0] == 403
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    for origin in ({}, {"Origin": "null"}, {"Origin": "http://evil.example"}, {"Origin": f"http://{LOOPBACK}:1"}):
        assert client.ask("/preferences", "POST", f"csrf={client.csrf}", form | origin)[0] == 403


def test_a_change_needs_the_token_of_the_session(studio: StudioServer) -> None:
    client = Client(studio).open()
    assert client.change("/preferences", csrf=client.csrf, theme="dark") == 303
    assert client.change("/preferences", csrf="x", theme="dark") == 403
    assert client.change("/preferences", theme="dark") == 403
    assert client.change("/actions/00000000/reject", csrf="x") == 403
    wrong = {"Content-Type": "text/plain", "Origin": studio.address.url}
    assert client.ask("/preferences", "POST", f"csrf={client.csrf}", wrong)[0] == 415


def test_every_answer_has_the_strict_policy(studio: StudioServer) -> None:
    client = Client(studio).open()
    for path in ("/", "/closed", "/assets/studio.js", "/no-such-page", "/turn/none/1"):
        policy = client.ask(path)[1]["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert client.ask(path)[1]["x-frame-options"] == "DENY"


@pytest.fixture
def other_server() -> Iterator[list[str]]:
    """A page of another origin; the list has its address, the page whatever is put after it."""
    told: list[str] = []

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write("".join(told[1:]).encode())

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer((LOOPBACK, 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    told.append(f"http://{LOOPBACK}:{server.server_port}/")
    yield told
    server.shutdown()
    server.server_close()
    thread.join()


_ATTACK = """
async page => {
  const found = [];
  for (const options of [{}, {credentials: "include"}, {credentials: "include", mode: "no-cors"}]) {
    try { const answer = await fetch(URL_OF_STUDIO + "/", options); found.push((await answer.text()).length); }
    catch { found.push(-1); }
  }
  const post = {method: "POST", credentials: "include", mode: "no-cors"};
  const form = new URLSearchParams({csrf: "x"});
  try {
    await fetch(URL_OF_STUDIO + "/actions/ID/reject", {...post, body: form});
  } catch { found.push(-1); }
  const frame = document.createElement("iframe");
  frame.src = URL_OF_STUDIO + "/";
  document.body.append(frame);
  await new Promise(done => { frame.onload = done; frame.onerror = done; });
  let inside = "";
  try { inside = frame.contentDocument ? frame.contentDocument.body.textContent : ""; } catch { inside = ""; }
  return [found.filter(one => one > 0).length, inside.includes("action")];
}
"""


def test_a_page_of_another_origin_can_neither_read_nor_change_anything(
    studio: StudioServer, read_shop: Shop, visiting: Visiting, other_server: list[str]
) -> None:
    visit = visiting(studio)
    action = visit.page.locator(".action").get_attribute("id")
    assert action is not None
    other_server.append("<!doctype html><title>other</title><body>hello")
    other = visit.page.context.new_page()  # with the cookie of the studio: cookies know no ports
    other.goto(other_server[0])
    attack = _ATTACK.replace("URL_OF_STUDIO", f'"{studio.address.url}"').replace("ID", action.removeprefix("action-"))
    assert other.evaluate(attack) == [0, False]
    other.set_content(
        f'<form id="f" method="post" action="{studio.address.url}/actions/{action.removeprefix("action-")}/reject">'
        '<input name="csrf" value="x"></form>'
    )
    other.evaluate("document.getElementById('f').submit()")
    expect(other.locator("body")).to_contain_text("does not answer to pages of others")
    expect(visit.goto("/").locator(".action")).to_have_count(1)


_HOSTILE = (
    "<script>window.hit = 1</script> <img src=x onerror='window.hit=2'> <svg onload='window.hit=3'></svg> "
    "[click](javascript:window.hit=4) ![p](http://198.51.100.7/x.png) \u202eevil\u202c \x1b[31mred\x1b[0m "
    '"><a href="javascript:window.hit=5">x</a> <style>body{display:none}</style> '
)


def test_hostile_traces_are_text(shop: Shop, visiting: Visiting) -> None:
    def tells(transcript: Transcript) -> None:
        transcript.user(_HOSTILE)
        transcript.calls("Grep", {"pattern": _HOSTILE, "path": "<b>x</b>"}, "toolu_h")
        transcript.result("toolu_h", _HOSTILE, _HOSTILE, is_error=True)
        transcript.calls("Edit", {"file_path": "a.md", "old_string": "<i>", "new_string": _HOSTILE}, "toolu_e")
        transcript.result("toolu_e", "ok", {"filePath": "a.md"})
        transcript.bash("echo", "w" * 5_000_000)
        transcript.says(f"{_HOSTILE}\n\n```html\n{_HOSTILE}\n```\n\n| a | {_HOSTILE} |\n|---|---|\n")

    id_ = shop.session(tells)
    review([shop.traces], shop.settings(), root_is_given=True)
    with running(shop.settings(), [shop.traces], reads=False) as made:
        visit = visiting(made)
        asked: list[str] = []
        visit.page.on("request", lambda request: asked.append(request.url))
        for path in ("/", "/sessions", f"/session/{id_}", f"/turn/{id_}/2", f"/turn/{id_}/2?line=4"):
            page = visit.goto(path)
            expect(page.locator("main")).to_be_visible()
            assert page.evaluate("window.hit") is None
            assert page.locator("main script, main img, main style, main a[href^=javascript]").count() == 0
            assert "\u202e" not in page.content()
            assert "\x1b" not in page.content()
            assert len(page.content()) < 400_000
        expect(page.locator(".prompt")).to_contain_text("<script>window.hit = 1</script>")
        expect(page.locator(".answer .markdown")).to_contain_text("<img src=x onerror='window.hit=2'>")
        assert [one for one in asked if not one.startswith(made.address.url)] == []
        raw = page.request.get(f"{made.address.url}/raw/{id_}/2/4")
        assert raw.headers["content-type"].startswith("text/plain")


def test_markdown_is_written_from_tokens_alone() -> None:
    shown = markdown_html(
        '**a** <b onclick=x> [l](javascript:x) [m](https://a.example/?q="><script>) `<i>`\n\n<script>'
    )
    assert "<script>" not in shown
    assert "<b" not in shown
    assert re.findall(r'href="([^"]+)"', shown) == ["https://a.example/?q=%22%3E%3Cscript%3E"]
    assert "<strong>a</strong>" in shown
    assert "<code>&lt;i&gt;</code>" in shown


def test_a_mark_over_the_ends_of_bold_letters_stays_well_formed() -> None:
    text = "It is **done. All tests pass.** Really."
    start = text.index("All")
    shown = markdown_html(text, [TextMark(start, len(text), "<a>", "</a>")])
    assert shown == "<p>It is <strong>done. <a>All tests pass.</a></strong><a> Really.</a></p>"


def test_a_team_reads_and_records_and_a_proxy_counts_only_from_its_address(team_studio: StudioServer) -> None:
    client = Client(team_studio)
    assert client.ask("/")[1]["location"] == "/sign-in"
    status, _, text = client.ask("/", headers={"X-User": "grace"})
    assert status == 200
    assert "Accept" not in text
    csrf = re.search(r'name="csrf" value="([^"]+)"', text)
    assert csrf
    headers = {
        "X-User": "grace", "Origin": team_studio.address.url, "Content-Type": "application/x-www-form-urlencoded",
    }  # fmt: skip
    assert client.ask("/actions/00000000/reject", "POST", f"csrf={csrf[1]}", headers)[0] == 403
    assert client.ask("/preferences", "POST", f"csrf={csrf[1]}&theme=dark", headers)[0] == 303
    assert client.ask("/preferences", "POST", f"csrf={csrf[1]}", headers | {"X-User": "mallory"})[0] == 403
    elsewhere = Access("ada", team=Team(proxy="192.0.2.1", header="x-user"))
    assert elsewhere.visitor("", LOOPBACK, {"x-user": "grace"}) is None
    assert elsewhere.visitor("", "192.0.2.1", {"x-user": "grace"})
    assert (elsewhere.may(Right.RECORD), elsewhere.may(Right.WORK)) == (True, False)


def test_members_sign_in_by_password_and_guessing_is_slowed(tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_text(f"# team\ngrace:{password_hash('correct horse')}\n")
    access = Access("ada", team=Team(read_users(file)))
    session = access.sign_in("grace", "correct horse", "192.0.2.7")
    assert session
    found = access.visitor(session, "192.0.2.7", {})
    assert found is not None
    assert found.user == "grace"
    access.sign_out(session)
    assert access.visitor(session, "192.0.2.7", {}) is None
    assert not access.sign_in("nobody", "correct horse", "192.0.2.8")
    assert [access.sign_in("grace", f"wrong {n}", "192.0.2.9") for n in range(5)] == [None] * 5
    assert access.sign_in("grace", "correct horse", "192.0.2.7") is None
    assert not is_password("x", "scrypt$broken")


def test_a_file_of_users_with_a_mistake_names_the_line(tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_text("grace:plain-password\n")
    told = CliRunner().invoke(knowbound, ["serve", "--listen", LOOPBACK, "--users", str(file)])
    assert "users:1 is not NAME:HASH" in str(told.exception)


def test_listening_for_others_needs_a_way_to_know_them() -> None:
    told = CliRunner().invoke(knowbound, ["serve", "--listen", LOOPBACK])
    assert told.exit_code == 2
    assert "--listen needs --users FILE" in told.output
