from __future__ import annotations

from pathlib import Path

from tests.lessons.trees import bash, glob, make_tree, places, read


def test_a_file_of_that_name_in_another_folder(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"src/cli/export.ts": "export const a = 1;\n", "src/index.ts": ""})
    said = read(tree, "src/commands/export.ts")
    assert said.text == "`src/commands/export.ts` does not exist; the file of that name is `src/cli/export.ts`."
    assert (said.status, places(said)) == ("found", ["src/cli/export.ts"])


def test_a_name_that_many_folders_have_is_not_said(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {f"pkg/{name}/index.ts": "" for name in "abcde"})
    assert read(tree, "lib/index.ts").status == "silent"


def test_the_nearest_of_many_equal_names_is_said_and_a_tie_is_not(tmp_path: Path) -> None:
    files = {f"apps/{name}/src/orders.service.ts": "" for name in ("api", "web", "cli", "jobs")}
    tree = make_tree(tmp_path, files)
    assert places(read(tree, "apps/web/lib/orders.service.ts")) == ["apps/web/src/orders.service.ts"]
    assert read(tree, "tools/orders.service.ts").status == "silent"


def test_another_ending_or_spelling_beside_it(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"jest.config.js": "", "src/user_store.py": "", "src/other.py": ""})
    assert places(read(tree, "jest.config.ts")) == ["jest.config.js"]
    assert places(read(tree, "src/userStore.py")) == ["src/user_store.py"]
    assert read(tree, "nothing.py").status == "absent"


def test_a_file_that_is_there_is_not_rescued(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"a/settings.py": "", "b/settings.py": ""})
    assert read(tree, "a/settings.py").status == "silent"


def test_a_place_that_is_gone_since_the_index_was_made_is_not_said(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"src/cli/export.ts": "", "README.md": ""})
    (tmp_path / "tree" / "src" / "cli" / "export.ts").unlink()
    assert read(tree, "src/commands/export.ts").status == "silent"


def test_a_glob_in_another_case(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"plan/ROADMAP.md": "", "plan/m3/ROADMAP.md": "", "plan/STATE.md": ""})
    assert places(glob(tree, "plan/**/roadmap*")) == ["plan/ROADMAP.md", "plan/m3/ROADMAP.md"]


def test_a_glob_that_matches_a_folder_only(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"phases/14-sharing/CONTEXT.md": "", "phases/13-files/CONTEXT.md": ""})
    assert places(glob(tree, "phases/14-*")) == ["phases/14-sharing", "phases/14-sharing/CONTEXT.md"]


def test_a_glob_of_an_ending_alone_says_nothing(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"docs/a.md": "", "src/b.py": ""})
    assert glob(tree, "debug/*.md").status == "silent"


def test_a_check_is_answered_only_where_one_file_fits(tmp_path: Path) -> None:
    files = {"phases/1/PLAN.md": "", "phases/2/PLAN.md": "", "todos/done/lazy-migration.md": ""}
    tree = make_tree(tmp_path, files)
    nothing = "ls: cannot access 'x': No such file or directory"
    assert bash(tree, "ls phases/3/PLAN.md", nothing, "Check for existing plans").status == "silent"
    found = bash(tree, "ls todos/pending/lazy-migration.md", nothing, "Check for the lazy migration todo")
    assert places(found) == ["todos/done/lazy-migration.md"]


def test_places_outside_of_the_tree_are_left_alone(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"export.ts": ""})
    assert bash(tree, "cat /tmp/export.ts", "cat: /tmp/export.ts: No such file or directory").status == "silent"
    assert bash(tree, "cat ~/notes/export.ts", "cat: export.ts: No such file or directory").status == "silent"


def test_a_list_of_files_that_is_filtered_by_a_name(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"src/Remediation.ts": "", "src/main.ts": ""})
    assert places(bash(tree, "find src -type f | grep remediation")) == ["src/Remediation.ts"]


def test_an_ending_that_no_file_of_this_tree_has(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"ci/build.yml": "", "ci/jobs/test.yml": "", "ci/build.py": ""})
    said = glob(tree, "ci/**/*.yaml")
    assert (places(said)[0], said.rule) == ("ci/build.yml", "other_ending")


def test_an_ending_that_other_files_have_is_not_replaced(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"web/site.yaml": "", "ci/build.yml": ""})
    assert glob(tree, "ci/*.yaml").rule != "other_ending"


def test_what_tools_have_installed_is_no_place_of_the_tree(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"web/vite-env.d.ts": "", "web/main.ts": ""})
    assert bash(tree, "find web/node_modules/@auth/modal -name '*.d.ts'").status == "silent"
