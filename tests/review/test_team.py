"""Sharing with a team: equal to a pooled run, nothing private in the files, and nothing of fewer than three people."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import pytest
from click.testing import CliRunner

from knowbound.cli.main import knowbound, main
from knowbound.config import load
from knowbound.core.signal import Signal
from knowbound.errors import InputError
from knowbound.gaps.observe import observe
from knowbound.report.formats.json import as_json
from knowbound.report.model import ObserveReport
from knowbound.report.review import SharedFile, TeamProject, TeamReport, render_team
from knowbound.review.sharing import share
from knowbound.review.team import parse_shared, read_shares, share_text, team_review, write_share
from knowbound.store.observed import Observed
from knowbound.traces.corpus import scan
from knowbound.traces.sessions import parts_of, sessions_of
from tests.conftest import SHARED
from tests.test_nothing_planted_is_written import planted
from tests.transcripts import Transcript

REAL = SHARED / "traces" / "claude-code" / "packmind"
MACHINES = 8
PROMPT = "Please let the violet walrus of Mrs Kowalczyk pay her invoice twice"
PASSPHRASE = re.compile(r"[A-Za-z]+(?:[-_ !.][A-Za-z]+)*[-_!.]?\d{0,4}[!*#]?")
ANSWER = "The quiet marmalade lighthouse is done, and I am not sure whether its lamp_keeper table has an owner."


class Machine:
    """A user of a machine: folders, settings and a key of its own."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "shop"
        self.root.mkdir(parents=True)
        self.environ = {"HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
        self.traces = folder / "traces"

    def session(self, number: int, tell: Callable[[Transcript], object]) -> None:
        """One more session in the project."""
        id_ = f"{number:08d}-2222-4333-8444-{abs(hash(str(self.root))) % 10**12:012d}"
        transcript = Transcript(id_, "/home/kowalczyk/shop").user(PROMPT)
        tell(transcript)
        transcript.says("Done.").write(self.traces, f"{id_}.jsonl")

    def share(self, paths: Sequence[Path] = ()) -> SharedFile:
        """What the machine shares."""
        with mock.patch.dict(os.environ, self.environ):
            return share(list(paths) or [self.traces], load(self.root))


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machine]:
    return (Machine(tmp_path / f"machine-{number}") for number in range(100))


def misses(*names: str) -> Callable[[Transcript], object]:
    def tell(transcript: Transcript) -> None:
        for name in names:
            transcript.grep(name)

    return tell


def titles(report: TeamReport) -> list[str]:
    return [one.value.title for project in report.projects for one in project.topics]


# Real sessions on eight machines, and the same sessions on one


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[SharedFile], SharedFile, ObserveReport, list[Signal]]:
    if not REAL.exists():
        pytest.skip("no real sessions: ../shared/data is absent")
    folder = tmp_path_factory.mktemp("real")
    with closing(Observed(folder / "listing")) as store:
        sessions = sessions_of(scan([REAL])[0], store, None).sessions
    dealt = [[Path(part) for one in sessions[number::MACHINES] for part in parts_of(one)] for number in range(MACHINES)]
    shared = [Machine(folder / f"machine-{number}").share(paths) for number, paths in enumerate(dealt)]
    pooled = Machine(folder / "pooled")
    every = [path for paths in dealt for path in paths]
    whole = pooled.share(every)
    with mock.patch.dict(os.environ, pooled.environ):
        report, signals = observe(every, load(pooled.root))
        return shared, whole, report, list(signals)


def without_people(report: TeamReport) -> list[Any]:
    found: dict[str, Any] = json.loads(render_team(report, "json"))
    for project in found["projects"]:
        del project["watermark"]
        for part in (project, *(one for kind in ("topics", "statements", "rules", "items") for one in project[kind])):
            del part["people"]
    return sorted(found["projects"], key=lambda one: str(one["project"]))


def test_a_team_of_eight_machines_equals_the_pooled_run(real: Any) -> None:
    shared, whole, _, _ = real
    team = team_review(shared, least=1)
    assert sum(len(one.topics) for one in team.projects) > 20
    assert without_people(team) == without_people(team_review([whole], least=1))
    assert team_review(reversed(shared), least=1) == team


def test_the_figures_of_a_team_are_those_of_observe_over_the_same_sessions(real: Any) -> None:
    shared, _, report, signals = real
    projects = team_review(shared, least=1).projects
    gap = sum((one.gap for one in projects[1:]), start=projects[0].gap)
    assert as_json(gap) == as_json(report.gap)
    assert sum(one.sessions for one in projects) == report.totals.sessions
    assert sum(one.tool_calls for one in projects) == report.totals.tool_calls
    expected: dict[str, list[Signal]] = {}
    for one in signals:
        if one.query and one.topic:
            expected.setdefault(one.topic, []).append(one)
    compared = 0
    for found in (each.value for project in projects for each in project.topics):
        same = expected[found.id]
        if len(same) == found.signals:  # no search phrase among them, which stays on its machine
            compared += 1
            assert found.sessions == len({one.session for one in same})
            assert found.cost.calls == sum(max(one.cost.calls if one.cost else 0, 1) for one in same)
    assert compared > len(expected) / 2


def test_real_sessions_show_only_names_that_three_machines_have(real: Any) -> None:
    shared, _, _, _ = real
    people = Counter(
        (part.project, name) for file in shared for part in file.projects for name in {one.name for one in part.misses}
    )
    common = {key for key, number in people.items() if number >= 3}
    report = team_review(shared)
    assert all(one.people >= 3 for project in report.projects for one in project.topics)
    shown = {(project.project, one.value.title) for project in report.projects for one in project.topics}
    assert len(shown) <= len(common)
    assert bool(shown) == bool(common)


# Nothing private


def test_nothing_planted_reaches_the_file(machines: Iterator[Machine]) -> None:
    machine = next(machines)
    secrets = planted(7, "prompt", "answer", "output", "command", all_places=False)
    # A passphrase of plain words, searched for alone, is a name like any other: the user sees it before it is written.
    random = [one.secret for one in secrets if not PASSPHRASE.fullmatch(one.secret)]
    assert len(random) > 60

    def tell(transcript: Transcript) -> None:
        for one in secrets:
            transcript.user(one.text).says(one.text)
            transcript.bash("cat notes.txt", one.text)
        for secret in random:
            transcript.grep(secret)
            transcript.read(f"{transcript.project}/{secret}", there=False)
            transcript.bash(f"grep -r '{secret}' .", "")
        transcript.says(ANSWER)
        transcript.grep("violet walrus of Mrs Kowalczyk")
        transcript.read("/home/kowalczyk/private/diary.md", there=False)
        transcript.read("~/notes/plan.md", there=False)
        transcript.grep("refund_retry_budget")

    machine.session(1, tell)
    data = share_text(machine.share()).encode()
    assert b"refund_retry_budget" in data  # the name that was searched for is what is shared
    leaked = {one.kind: one.secret for one in secrets for part in one.parts if part in data}
    assert not leaked
    for word in (b"walrus", b"alczyk", b"marmalade", b"lamp", b"diary", b"notes", b"00000001-2222", b"/home"):
        assert word not in data


def test_the_name_of_the_user_and_of_the_machine_stay(
    machines: Iterator[Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = next(machines)
    monkeypatch.setenv("USER", "kowalczyk")
    monkeypatch.setenv("LOGNAME", "kowalczyk")
    monkeypatch.setattr("socket.gethostname", lambda: "blue-laptop.example.com")
    machine.session(1, misses("kowalczyk_settings", "settings-Blue-Laptop.json", "invoice_total"))
    (project,) = machine.share().projects
    assert [one.name for one in project.misses] == ["invoicetotal"]


def test_the_file_is_shown_whole_and_written_only_after_a_yes(
    machines: Iterator[Machine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = next(machines)
    machine.session(1, misses("invoice_total"))
    monkeypatch.chdir(machine.root)
    target = tmp_path / "week.json"
    asked = ["share", str(machine.traces), "-o", str(target)]
    refused = CliRunner().invoke(knowbound, asked, input="n\n")
    assert isinstance(refused.exception, InputError)
    assert not target.exists()
    agreed = CliRunner().invoke(knowbound, asked, input="y\n")
    assert agreed.exit_code == 0, agreed.output
    assert target.read_text("utf-8") == agreed.stdout
    assert "invoice_total" in agreed.stdout


# Thresholds


def test_a_topic_appears_from_three_people_up(machines: Iterator[Machine]) -> None:
    files = []
    for number in range(4):
        machine = next(machines)
        machine.session(
            1, misses("everyones_thing", *(["two_have_it"] if number < 2 else ["three_have_it"][: number - 1]))
        )
        files.append(machine.share())
    assert titles(team_review(files)) == ["everyones_thing"]
    fifth = next(machines)
    fifth.session(1, misses("everyones_thing", "three_have_it"))
    report = team_review([*files, fifth.share()])
    assert sorted(titles(report)) == ["everyones_thing", "three_have_it"]
    assert {one.value.title: (one.people, one.value.sessions) for one in report.projects[0].topics} == {
        "everyones_thing": (5, 5),
        "three_have_it": (3, 3),
    }


def test_the_same_machine_counts_once_with_its_newest_file(machines: Iterator[Machine]) -> None:
    first, second, third = (next(machines) for _ in range(3))
    first.session(1, misses("invoice_total"))
    second.session(1, misses("invoice_total"))
    old = first.share()
    first.session(2, misses("invoice_total"))
    new = msgspec.structs.replace(first.share(), made="2099-01-01T00:00:00Z")
    with pytest.raises(InputError, match="Only 2 people"):
        team_review([old, new, old, second.share()])
    third.session(1, misses("something_else"))
    (project,) = team_review([new, old, second.share(), third.share()]).projects
    assert (project.people, project.sessions, project.topics) == (3, 4, [])


def forged(file: SharedFile, **changed: object) -> SharedFile:
    part = msgspec.structs.replace(file.projects[0], **changed)
    return msgspec.structs.replace(file, projects=[part, part])


def test_two_files_of_an_attacker_do_not_reveal_the_topic_of_a_third(machines: Iterator[Machine]) -> None:
    victim, one, two = (next(machines) for _ in range(3))
    victim.session(1, misses("secret_project_osprey", "invoice_total"))
    for attacker in (one, two):
        attacker.session(1, misses("invoice_total"))
    third = victim.share()
    (miss,) = one.share().projects[0].misses
    guesses = [
        msgspec.structs.replace(miss, session=number, name=name, query=query)
        for number, (name, query) in enumerate(
            [("*", "*"), ("", ""), ("secret", "secret_project_*"), ("invoicetotal", "invoice_total"), (".*", ".*")]
        )
    ]
    files = [third, *(forged(each.share(), misses=guesses * 5, sessions=10**9) for each in (one, two))]
    report = team_review(files)
    assert "osprey" not in render_team(report, "json")
    assert "osprey" not in render_team(report, "text")
    assert [(each.value.title, each.people) for each in report.projects[0].topics] == [("invoice_total", 3)]
    without = team_review(
        [forged(third, misses=[m for m in third.projects[0].misses if "osprey" not in m.name]), *files[1:]]
    )
    assert [each.topics for each in without.projects] == [each.topics for each in report.projects]


def test_spellings_and_places_of_fewer_people_are_not_shown(machines: Iterator[Machine]) -> None:
    files = []
    for folder in ("billing-anna", "billing", "billing", "billing"):
        machine = next(machines)
        machine.session(1, lambda transcript, folder=folder: found_in(transcript, folder))  # type: ignore[misc]
        files.append(machine.share())
    shown = render_team(team_review(files), "json")
    assert "src/billing/export.ts" in shown
    assert "anna" not in shown


def found_in(transcript: Transcript, folder: str) -> None:
    transcript.read(f"{transcript.project}/lib/{folder}/export.ts", there=False)
    transcript.read(f"{transcript.project}/src/{folder}/export.ts")


def test_a_project_of_fewer_people_is_in_no_sum(machines: Iterator[Machine]) -> None:
    files = []
    for _ in range(3):
        machine = next(machines)
        machine.session(1, misses("invoice_total"))
        files.append(machine.share())
    alone = msgspec.structs.replace(files[0].projects[0], project="side-project")
    files[0] = msgspec.structs.replace(files[0], projects=[*files[0].projects, alone])
    report = team_review(files)
    assert [one.project for one in report.projects] == ["shop"]
    assert "side-project" not in render_team(report, "text")
    assert report == team_review([msgspec.structs.replace(files[0], projects=files[0].projects[:1]), *files[1:]])


# Places and bad files


def test_bad_files_are_refused_with_their_name(tmp_path: Path) -> None:
    for text in ("", "[]", '{"format": "knowbound.share/9", "machine": "", "made": "", "version": "", "projects": []}'):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(InputError, match=r"x\.json"):
            list(read_shares([str(tmp_path)]))
    with pytest.raises(InputError, match="Cannot read"):
        list(read_shares([str(tmp_path / "none.json")]))


def test_a_rate_that_cannot_be_is_refused(machines: Iterator[Machine]) -> None:
    machine = next(machines)
    machine.session(1, misses("invoice_total"))
    document = json.loads(share_text(machine.share()))
    document["projects"][0]["gap"]["rate"]["k"] = 99
    with pytest.raises(InputError, match="0 <= k <= n"):
        parse_shared(json.dumps(document).encode(), "x.json")


def test_files_folders_and_mongodb_give_the_same_review(
    machines: Iterator[Machine], tmp_path: Path, mongo_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "shares"
    folder.mkdir()
    for number in range(3):
        machine = next(machines)
        machine.session(1, misses("invoice_total"))
        shared = machine.share()
        for place in (str(folder / f"{number}.json"), mongo_url, mongo_url):
            write_share(shared, place)
    printed = []
    for places in ([str(folder)], sorted(map(str, folder.iterdir())), [mongo_url], [mongo_url, str(folder)]):
        with pytest.raises(SystemExit) as ended:
            main(["review", "--team", *places, "--format", "json"])
        assert ended.value.code == 0
        printed.append(capsys.readouterr().out)
    assert len(set(printed)) == 1
    project: dict[str, Any] = json.loads(printed[0])["projects"][0]
    assert (project["people"], project["sessions"], project["topics"][0]["title"]) == (3, 3, "invoice_total")


def test_the_screen_of_a_team_names_actions_and_its_watermark(machines: Iterator[Machine]) -> None:
    files = []
    for _ in range(3):
        machine = next(machines)
        (machine.root / "CLAUDE.md").write_text("# Shop\n\n- Commands live in `src/commands/`.\n- See `src/cart.ts`.\n")
        (machine.root / "src").mkdir()
        (machine.root / "src" / "cart.ts").write_text("export const cart = []\n")
        machine.session(1, misses("invoice_total"))
        files.append(machine.share())
    text = render_team(team_review(files), "text")
    assert "write     invoice_total" in text
    assert "3 of 3 people, 3 of 3 sessions, 3 calls" in text
    assert "Test set: shared files of 3 people · 3 samples · sha256 " in text
    assert "does not represent the knowledge base's absolute completeness" in text
    assert team_project(files).statements == team_project(files[::-1]).statements


def team_project(files: Sequence[SharedFile]) -> TeamProject:
    (project,) = team_review(files).projects
    return project
