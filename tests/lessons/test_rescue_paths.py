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


def test_the_few_files_of_the_folder(tmp_path: Path) -> None:
    tree = make_tree(
        tmp_path, {"docs/setup.md": "", "docs/logo.png": "", "many/a.md": "", "many/b.md": "", "many/c.md": ""}
    )
    assert read(tree, "docs/install.md").text == "`docs/install.md` does not exist; `docs` has `docs/setup.md`."
    assert read(tree, "many/install.md").status == "absent"


def test_a_file_that_is_a_folder(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"src/vault/index.ts": "", "src/vault/types.ts": "", "web/vault.ts": ""})
    assert places(read(tree, "src/vault.ts")) == ["src/vault/index.ts", "src/vault/types.ts"]


def test_a_folder_of_that_name_elsewhere(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"packages/billing/invoice.py": "", "docs/a.md": ""})
    said = bash(tree, "ls services/billing", "ls: cannot access 'services/billing': No such file or directory")
    assert places(said) == ["packages/billing"]


def test_the_class_that_a_missing_file_would_have(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"src/api/index.ts": "const a = 1;\n\nexport class ApiServer {\n}\n"})
    said = read(tree, "src/api/server.ts")
    assert said.text == "`src/api/server.ts` does not exist; `ApiServer` is defined in `src/api/index.ts:3`."


def test_an_entry_point_that_has_another_name(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"crate/src/main.rs": "fn main() {}\n", "vendor/fuse/src/lib.rs": ""})
    assert places(read(tree, "crate/src/lib.rs")) == ["crate/src/main.rs"]


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


def test_a_glob_one_folder_deeper_or_beside(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"todos/done/lazy-migration.md": "", "todos/pending/tee.md": ""})
    assert places(glob(tree, "todos/*lazy*")) == ["todos/done/lazy-migration.md"]
    assert places(glob(tree, "todos/pending/*lazy*")) == ["todos/done/lazy-migration.md"]


def test_a_glob_of_an_ending_alone_says_nothing(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"docs/a.md": "", "src/b.py": ""})
    assert glob(tree, "debug/*.md").status == "silent"


def test_files_whose_names_carry_a_number_highest_first(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {f"phases/{n}-x/{n}-CONTEXT.md": "" for n in ("2", "10", "9")})
    assert places(glob(tree, "phases/**/CONTEXT.md"))[0] == "phases/10-x/10-CONTEXT.md"


def test_tests_in_a_folder_that_has_the_name(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"src/remediation/parser.test.ts": "", "src/remediation/parser.ts": ""})
    assert places(glob(tree, "**/*remediat*.test.ts")) == ["src/remediation/parser.test.ts"]


def test_options_of_find_in_a_glob_are_taken_apart(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"src/fuse/operations.rs": "", "src/run.sh": ""})
    said = glob(tree, "src/**/*.py -o src/fuse/operations.rs")
    assert places(said) == ["src/fuse/operations.rs"]


def test_quotes_around_a_glob(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"config/app.yaml": "a: 1\n"})
    assert places(glob(tree, '"config/*.yaml"')) == ["config/app.yaml"]


def test_a_check_is_answered_only_where_one_file_fits(tmp_path: Path) -> None:
    files = {"phases/1/1-PLAN.md": "", "phases/2/2-PLAN.md": "", "todos/done/lazy-migration.md": ""}
    tree = make_tree(tmp_path, files)
    nothing = "ls: cannot access 'x': No such file or directory"
    assert bash(tree, "ls phases/3/*-PLAN.md", nothing, "Check for existing plans").status == "silent"
    found = bash(tree, "ls todos/pending/*lazy*", nothing, "Check for the lazy migration todo")
    assert places(found) == ["todos/done/lazy-migration.md"]


def test_places_outside_of_the_tree_are_left_alone(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"export.ts": ""})
    assert bash(tree, "cat /tmp/export.ts", "cat: /tmp/export.ts: No such file or directory").status == "silent"
    assert bash(tree, "cat ~/notes/export.ts", "cat: export.ts: No such file or directory").status == "silent"


def test_a_common_name_one_folder_apart(tmp_path: Path) -> None:
    files = {"apps/api/src/common/types.ts": "", "apps/web/types.ts": "", "lib/types.ts": "", "tools/x/y/types.ts": ""}
    tree = make_tree(tmp_path, files)
    assert places(read(tree, "apps/api/src/types.ts")) == ["apps/api/src/common/types.ts"]
    assert read(tree, "one/two/three/types.ts").status == "silent"


def test_other_signs_between_the_words_of_a_name(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"api/auth.service.ts": "", "api/main.ts": ""})
    assert places(read(tree, "web/auth-service.ts")) == ["api/auth.service.ts"]


def test_a_file_beside_it_that_shares_a_word(tmp_path: Path) -> None:
    files = {"ui/ShareFolderDialog.tsx": "", "ui/Tabs.tsx": "", "ui/Header.tsx": "", "ui/Footer.tsx": ""}
    tree = make_tree(tmp_path, files)
    assert places(read(tree, "ui/ShareDialog.tsx")) == ["ui/ShareFolderDialog.tsx"]
    assert read(tree, "ui/Chart.tsx").status == "absent"


def test_a_list_of_files_that_is_filtered_by_a_name(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"src/Remediation.ts": "", "src/main.ts": ""})
    assert places(bash(tree, "find src -type f | grep remediation")) == ["src/Remediation.ts"]


def test_an_ending_that_no_file_of_this_tree_has(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"src/cart.test.ts": "", "src/remediation/parser.test.ts": "", "src/cart.ts": ""})
    said = glob(tree, "src/**/*.spec.ts")
    assert (places(said)[0], said.rule) == ("src/cart.test.ts", "other_ending")
    assert places(glob(tree, "**/*remediat*.spec.ts")) == ["src/remediation/parser.test.ts"]


def test_an_ending_that_other_files_have_is_not_replaced(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"web/cart.spec.ts": "", "src/cart.test.ts": ""})
    assert glob(tree, "src/*.spec.ts").rule != "other_ending"


def test_a_name_whose_words_are_two_parts_of_a_path(tmp_path: Path) -> None:
    files = {"crypto/src/file/derive-ipns.ts": "", "crypto/src/file/index.ts": "", "crypto/src/vault.ts": ""}
    tree = make_tree(tmp_path, files)
    assert places(glob(tree, "crypto/src/file-ipns/**/*.ts")) == ["crypto/src/file/derive-ipns.ts"]


def test_words_that_are_far_apart_are_not_one_name(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"shop/wds/workflows/templates/content-output.md": "", "src/a.py": ""})
    assert glob(tree, "shop-output/**/*").status != "found"


def test_a_folder_that_has_all_the_words_stands_for_its_many_files(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {f"plans/phases/14-sharing/{n}.md": "" for n in range(9)} | {"plans/phases/13/a.md": ""})
    assert places(glob(tree, "plans/**/phase-14*"))[0] == "plans/phases/14-sharing"


def test_a_dollar_in_a_name_that_the_shell_takes_for_a_variable(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"routes/runs/$runId.tsx": "export const Run = 1;\n"})
    said = bash(tree, "cat routes/runs/$runId.tsx", "cat: routes/runs/.tsx: No such file or directory")
    assert (places(said), said.rule) == (["routes/runs/$runId.tsx"], "unquoted")


def test_files_that_share_less_than_half_of_the_words_are_not_the_nearest(tmp_path: Path) -> None:
    files = {"notes/2-2-websocket-connection-manager.md": "", "notes/1-3-page-shell.md": "", "notes/a.md": ""}
    tree = make_tree(tmp_path, files)
    assert read(tree, "notes/4-1-websocket-reconnection-exponential-backoff.md").status != "found"


def test_the_stem_of_a_glob_that_shares_its_words_with_a_file_there(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"desktop/src/main.ts": "", "desktop/src/style.css": "", "web/src/main.ts": ""})
    assert places(glob(tree, "desktop/src/main-desktop.*")) == ["desktop/src/main.ts"]


def test_a_folder_of_the_same_number(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"phases/12-multi-factor-login/12-PLAN.md": "", "phases/13-files/13-PLAN.md": ""})
    said = bash(tree, "ls phases/12-mfa/", "ls: cannot access 'phases/12-mfa/': No such file or directory")
    assert places(said) == ["phases/12-multi-factor-login", "phases/12-multi-factor-login/12-PLAN.md"]


def test_a_folder_by_what_its_files_are_called(tmp_path: Path) -> None:
    files = {
        "web/routes/FilesPage.tsx": "",
        "web/routes/LoginPage.tsx": "",
        "web/hooks/useAuth.ts": "",
        "web/a.css": "",
    }
    tree = make_tree(tmp_path, files)
    assert places(glob(tree, "web/pages/**/*.tsx")) == ["web/routes/FilesPage.tsx", "web/routes/LoginPage.tsx"]
    assert glob(tree, "web/layouts/**/*.tsx").status != "found"


def test_the_only_file_of_that_ending_in_a_folder(tmp_path: Path) -> None:
    files = {"designs/shop.pen": "", "designs/notes.md": "", "src/a.py": "", "src/b.py": "", "src/c.py": ""}
    tree = make_tree(tmp_path, files)
    said = glob(tree, "designs/phase-14*.pen")
    assert said.text == "`designs/phase-14*.pen` matches no file; `designs` has `designs/shop.pen` only."
    assert glob(tree, "src/phase-14*.py").status != "found"


def test_what_tools_have_installed_is_no_place_of_the_tree(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"web/vite-env.d.ts": "", "web/main.ts": ""})
    assert bash(tree, "find web/node_modules/@auth/modal -name '*.d.ts'").status == "silent"
