"""Fixes: what is written, when nothing is, and how it is taken back."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import termios
from contextlib import closing, suppress
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from knowbound.cli.main import knowbound
from knowbound.core.lesson import LessonStatus
from knowbound.files import FilePatch, moved_to
from knowbound.kms.opening import open_knowledge_store
from knowbound.kms.validation import NewItem
from knowbound.review.fixing import known_fixes
from knowbound.review.review import Reviewed, review
from knowbound.store.decisions import FixState, Screens
from tests.lessons.shop import Shop
from tests.review.conftest import WRONG, looks_in_the_wrong_folder
from tests.services import until

MAIN = "from knowbound.cli.main import main; main()"


def run(shop: Shop, *arguments: str, input_: str = "") -> Result:
    return CliRunner().invoke(knowbound, [*arguments, "--root", str(shop.root)], input=input_)


def reviewed(shop: Shop) -> Reviewed:
    return review([shop.traces], shop.settings(), root_is_given=True)


def action(shop: Shop) -> str:
    return reviewed(shop).actions[0].id


def claude(shop: Shop) -> str:
    return (shop.root / "CLAUDE.md").read_text("utf-8")


def test_a_fix_shows_the_diff_asks_writes_that_very_line_and_is_taken_back(shop: Shop) -> None:
    before, id_ = claude(shop), action(shop)
    refused = run(shop, "fix", id_, input_="n\n")
    assert refused.exit_code != 0
    assert claude(shop) == before
    done = run(shop, "fix", id_, input_="y\n")
    assert done.exit_code == 0, done.output
    assert "+- Commands live in `src/cli/`." in done.output
    assert claude(shop) == before.replace("src/commands/", "src/cli/")
    assert reviewed(shop).actions == []
    undone = run(shop, "fix", "--undo", id_, "--yes")
    assert undone.exit_code == 0, undone.output
    assert claude(shop) == before
    assert [one.id for one in reviewed(shop).actions] == [id_]


def test_a_file_that_changed_elsewhere_is_written_and_one_whose_lines_changed_is_not(shop: Shop) -> None:
    id_ = action(shop)
    shop.write("CLAUDE.md", "A new first line.\n" + claude(shop))
    assert run(shop, "fix", id_, "--yes").exit_code == 0
    assert claude(shop).startswith("A new first line.\n")
    assert "src/cli/" in claude(shop)
    run(shop, "fix", "--undo", id_, "--yes")
    id_ = action(shop)
    changed = claude(shop).replace("Commands live", "All commands live")
    shop.write("CLAUDE.md", changed)
    refused = run(shop, "fix", id_, "--yes")
    assert refused.exit_code != 0
    assert "changed since" in str(refused.exception)
    assert claude(shop) == changed


def test_undo_refuses_with_the_reverse_diff_if_the_lines_changed_since(shop: Shop) -> None:
    id_ = action(shop)
    run(shop, "fix", id_, "--yes")
    changed = claude(shop).replace("`src/cli/`", "`src/cli/` today")
    shop.write("CLAUDE.md", changed)
    refused = run(shop, "fix", "--undo", id_, "--yes")
    assert refused.exit_code != 0
    assert "+- Commands live in `src/commands/`." in str(refused.exception)
    assert claude(shop) == changed


def test_nothing_is_written_through_a_link_that_leads_out(shop: Shop, tmp_path: Path) -> None:
    id_ = action(shop)
    outside = tmp_path / "outside.md"
    outside.write_text(claude(shop), "utf-8")
    (shop.root / "CLAUDE.md").unlink()
    (shop.root / "CLAUDE.md").symlink_to(outside)
    refused = run(shop, "fix", id_, "--yes")
    assert refused.exit_code != 0
    assert "leads out" in str(refused.exception)
    assert WRONG in outside.read_text("utf-8")


def test_a_folder_that_became_a_link_and_a_path_out_of_the_root_are_refused(shop: Shop, tmp_path: Path) -> None:
    shop.write("docs/CLAUDE.md", f"{WRONG}\n")
    shop.write("CLAUDE.md", "# Shop\n")
    id_ = action(shop)
    (tmp_path / "outside").mkdir()
    (shop.root / "docs").rename(tmp_path / "outside" / "docs")
    (shop.root / "docs").symlink_to(tmp_path / "outside" / "docs")
    assert "leads out" in str(run(shop, "fix", id_, "--yes").exception)
    assert WRONG in (tmp_path / "outside" / "docs" / "CLAUDE.md").read_text("utf-8")
    from knowbound.errors import InputError
    from knowbound.files import read_below

    for path in ("../outside.md", str(tmp_path / "outside.md")):
        with pytest.raises(InputError, match="leads out"):
            read_below(shop.root, path)


def test_two_fixes_at_once_write_once_and_lose_nothing(shop: Shop) -> None:
    id_ = action(shop)
    before = claude(shop)
    command = [sys.executable, "-c", MAIN, "fix", id_, "--yes", "--root", str(shop.root)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    ended = [(one.communicate(timeout=60), one.returncode)[1] for one in both]
    assert sorted(ended)[0] == 0
    assert claude(shop) == before.replace("src/commands/", "src/cli/")
    with closing(Screens(shop.settings().home)) as screens:
        assert [one.state for one in screens.fixes()] == [FixState.APPLIED]


def test_a_killed_fix_is_finished_by_the_next_command(shop: Shop) -> None:
    shop.write("src/cli/AGENTS.md", f"{WRONG}\n")
    id_ = action(shop)
    code = (
        "import os, knowbound.files as files, knowbound.review.fixing as fixing\n"
        "real = files.write_patches\n"
        "def killed(root, patches):\n"
        "    real(root, patches[:1])\n"
        "    os.kill(os.getpid(), 9)\n"
        "fixing.write_patches = killed\n"
        "from knowbound.cli.main import main\n"
        f"main(['fix', {id_!r}, '--yes', '--root', {str(shop.root)!r}])\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)
    assert ended.returncode == -9
    both = (shop.root / "CLAUDE.md", shop.root / "src/cli/AGENTS.md")
    assert sorted("src/commands/" in path.read_text("utf-8") for path in both) == [False, True]
    _, decided = known_fixes(shop.settings())
    assert decided[id_].state is FixState.APPLIED
    assert not any("src/commands/" in path.read_text("utf-8") for path in both)
    assert not [name for name in os.listdir(shop.root) if name.startswith(".new-")]
    run(shop, "fix", "--undo", id_, "--yes")
    assert all("src/commands/" in path.read_text("utf-8") for path in both)


def test_a_rejected_action_is_not_shown_again(shop: Shop) -> None:
    id_ = action(shop)
    assert run(shop, "fix", id_, "--reject").exit_code == 0
    assert reviewed(shop).actions == []
    assert "rejected" in str(run(shop, "fix", id_, "--yes").exception)


def test_an_action_without_a_repair_is_rejected_too(shop: Shop) -> None:
    shop.write("CLAUDE.md", "# Shop\n\nA shop.\n\n- The ledger is `src/ledger/book.ts`.\n")
    (one,) = (one for one in reviewed(shop).actions if "src/ledger/book.ts" in one.title)
    assert one.id not in reviewed(shop).fixes
    assert "with a fix" in str(run(shop, "fix", one.id, "--yes").exception)
    assert run(shop, "fix", one.id, "--reject").exit_code == 0
    assert one.id not in {each.id for each in reviewed(shop).actions}


def test_a_written_line_is_watched_and_taken_back(shop: Shop) -> None:
    shop.write("CLAUDE.md", "# Shop\n\nA shop.\n")
    for _ in range(3):
        shop.session(looks_in_the_wrong_folder)
    id_ = action(shop)
    assert run(shop, "fix", id_, "--yes").exit_code == 0
    assert "export.ts" in claude(shop)
    assert [one.status for one in shop.learn().lessons] == [LessonStatus.APPLIED]
    run(shop, "fix", "--undo", id_, "--yes")
    assert claude(shop) == "# Shop\n\nA shop.\n"
    assert [one.status for one in shop.learn().lessons] == [LessonStatus.NEW]


def test_after_a_fix_the_rate_before_and_after_is_shown_and_closed_only_by_data(shop: Shop) -> None:
    run(shop, "fix", action(shop), "--yes")
    (one,) = reviewed(shop).watched
    assert one.applied is not None
    assert (one.applied.before.missed, one.applied.before.sessions, one.applied.after.sessions) == (3, 3, 0)
    assert one.status is LessonStatus.APPLIED
    for _ in range(12):
        shop.session(lambda transcript: transcript.read(f"{transcript.project}/src/cli/export.ts"), day="2999-01-01")
    (one,) = reviewed(shop).watched
    assert one.applied is not None
    assert (one.applied.after.missed, one.applied.after.sessions) == (0, 12)
    assert one.status is LessonStatus.CLOSED
    assert "closed: missed in 3 of 3 sessions before, 0 of 12 since" in run(shop, "review", str(shop.traces)).stdout


def test_an_item_is_superseded_by_its_repair_and_comes_back(shop: Shop) -> None:
    settings = shop.settings()
    with closing(open_knowledge_store(settings, by="me")) as store:
        id_ = store.add(NewItem(content=WRONG)).item.id
    (wanted,) = [one for one in reviewed(shop).actions if one.place == f"item:{id_}"]
    assert run(shop, "fix", wanted.id, "--yes").exit_code == 0
    with closing(open_knowledge_store(settings)) as store:
        now = store.show(store.show(id_).in_force)
        assert (now.item.content, now.served) == ("Commands live in `src/cli/`.", True)
    assert run(shop, "fix", "--undo", wanted.id, "--yes").exit_code == 0
    with closing(open_knowledge_store(settings)) as store:
        assert store.show(id_).in_force == id_


def test_a_branch_gets_the_change_and_the_work_tree_stays(shop: Shop) -> None:
    def git(*words: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
        return subprocess.run(
            ["git", "-C", str(shop.root), *who, *words], check=True, capture_output=True, text=True
        ).stdout

    git("init", "-q")
    git("config", "user.name", "a")
    git("config", "user.email", "a@b.c")
    git("add", "-A")
    git("commit", "-qm", "one")
    hook = shop.root / ".git/hooks/post-commit"
    hook.write_text("#!/bin/sh\ntouch ran\n")
    hook.chmod(0o755)
    before, id_ = claude(shop), action(shop)
    done = run(shop, "fix", id_, "--branch")
    assert done.exit_code == 0, done.output
    assert claude(shop) == before
    assert git("status", "--porcelain", "--", "CLAUDE.md") == ""
    assert "src/cli/" in git("show", f"knowbound/fix-{id_}:CLAUDE.md")
    assert git("diff", "--name-only", "HEAD", f"knowbound/fix-{id_}").split() == ["CLAUDE.md"]
    assert not (shop.root / "ran").exists()
    again = run(shop, "fix", id_, "--branch")
    assert again.exit_code != 0  # the branch is there


def test_an_unknown_id_is_a_clear_error(shop: Shop) -> None:
    reviewed(shop)
    assert "There is no action 'nope'" in str(run(shop, "fix", "nope").exception)
    assert "never carried out" in str(run(shop, "fix", "--undo", "nope").exception)


@pytest.mark.parametrize(
    ("current", "moved"),
    [
        (b"a\nold\nz\n", b"a\nnew\nz\n"),
        (b"top\na\nold\nz\n", b"top\na\nnew\nz\n"),
        (b"a\nold\nz\na\nold\nz\n", None),
        (b"a\nother\nz\n", None),
    ],
)
def test_a_change_moves_with_its_lines_or_not_at_all(current: bytes, moved: bytes | None) -> None:
    found = moved_to(FilePatch("f", b"a\nold\nz\n", b"a\nnew\nz\n"), current)
    assert (found.after if found else None) == moved


def test_all_actions_are_gone_through_with_single_keys_on_a_terminal(shop: Shop) -> None:
    shop.write("src/cli/AGENTS.md", "Orders are in `src/orders/list.ts`, the cart in `src/basket/cart.ts`.\n")
    shop.write("src/shopping/list_of_orders.ts")
    shop.write("docs/AGENTS.md", "Lists are made by `src/orders/list_of_orders.ts`.\n")
    with_fix = [one for one in reviewed(shop).actions if one.diff]
    assert len(with_fix) == 2
    before = {name: (shop.root / name).read_text("utf-8") for name in ("CLAUDE.md", "docs/AGENTS.md")}
    code, shown = _on_a_terminal(shop, b"ra")  # reject the first, accept the second
    assert code == 0, shown
    assert "1 of 2" in shown
    assert "2 of 2" in shown
    assert "a accept" in shown
    first, second = (one.place for one in with_fix)
    assert (shop.root / first).read_text("utf-8") == before[first]
    assert (shop.root / second).read_text("utf-8") != before[second]
    assert all(one.id != with_fix[0].id for one in reviewed(shop).actions)


def _on_a_terminal(shop: Shop, keys: bytes) -> tuple[int, str]:
    """Run `knowbound fix` on a terminal of its own; a key is pressed whenever the keys are shown."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-c", MAIN, "fix", "--root", str(shop.root)])
    shown, pressed = b"", 0
    with suppress(OSError):  # the terminal is closed when the command ends
        while part := os.read(terminal, 65536):
            shown += part
            while pressed < min(shown.count(b"q quit"), len(keys)):
                until(lambda: not termios.tcgetattr(terminal)[3] & termios.ICANON)  # it waits for a single key
                os.write(terminal, keys[pressed : pressed + 1])
                pressed += 1
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown.decode("utf-8", "replace")
