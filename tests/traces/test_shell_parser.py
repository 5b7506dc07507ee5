"""The shell parser: words, lists, groups and wrappers, and that no text can break it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.traces.shell.parser import LONGEST, Command, CompoundCommand, Pipeline, commands, parse


def programs(text: str) -> list[list[str]]:
    return [[word.text for word in command.words] for command in commands(parse(text))]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("grep foo src", ["grep", "foo", "src"]),
        ("grep 'a b' src", ["grep", "a b", "src"]),
        ('grep "a b" src', ["grep", "a b", "src"]),
        (r"grep a\ b src", ["grep", "a b", "src"]),
        (r'grep "say \"hi\"" x', ["grep", 'say "hi"', "x"]),
        (r'grep "a\|b" x', ["grep", r"a\|b", "x"]),
        ("grep 'it'\"'\"'s' x", ["grep", "it's", "x"]),
        (r"printf $'a\tb\n'", ["printf", "a\tb\n"]),
        (r"echo $'it\'s'", ["echo", "it's"]),
        ("grep pre'mid'\"post\" x", ["grep", "premidpost", "x"]),
        ("grep \\\n  foo \\\n  src", ["grep", "foo", "src"]),
        ("grep foo # a comment", ["grep", "foo"]),
        ("grep foo#bar x", ["grep", "foo#bar", "x"]),
        ('grep "$NAME" "$(pwd)/src"', ["grep", "$NAME", "$(pwd)/src"]),
        ('echo "$(grep "a b" f)"', ["echo", '$(grep "a b" f)']),
        ("echo `date`", ["echo", "`date`"]),
        ("grep '' x", ["grep", "", "x"]),
        ("cat < in.txt", ["cat"]),
        ("grep foo src 2>/dev/null", ["grep", "foo", "src"]),
        ("ls > out 2>&1", ["ls"]),
        ("grep foo 2>/dev/null src", ["grep", "foo", "src"]),
        ('ls a"b"$c/*.py', ["ls", "ab$c/*.py"]),
        ('echo "$A $B  $(c) d"', ["echo", "$A $B  $(c) d"]),
        ("echo {\U0008f2c4\u4206 {\U0001f389}", ["echo", "{\U0008f2c4\u4206", "{\U0001f389}"]),
        ("[ ! -f ~/x ]", ["[", "!", "-f", "~/x", "]"]),
        ("LC_ALL=C grep foo x", ["grep", "foo", "x"]),
        ("/usr/bin/grep foo x", ["/usr/bin/grep", "foo", "x"]),
        ("[ -f x ]", ["[", "-f", "x", "]"]),
        ("[[ -f a && -f b ]]", ["[", "-f", "a", "&&", "-f", "b", "]]"]),
    ],
)
def test_words_lose_their_quotes(text: str, words: list[str]) -> None:
    assert programs(text) == [words]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a | b | c", [["a"], ["b"], ["c"]]),
        ("a |\n b", [["a"], ["b"]]),
        ("a && b || c; d & e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("a &&\n\n b", [["a"], ["b"]]),
        ("(a; b) | c", [["a"], ["b"], ["c"]]),
        ("{ a; b; } > log", [["a"], ["b"]]),
        ("! a", [["a"]]),
        ("for f in *.md; do a $f; done", [["a", "$f"]]),
        ("while read -r f; do a; done < list", [["read", "-r", "f"], ["a"]]),
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("case $x in a|b) one;; *) two;; esac", [["one"], ["two"]]),
        ("cat > f <<'EOF'\nit's | not (a command\nEOF\ngrep x f", [["cat"], ["grep", "x", "f"]]),
        ("git commit -m \"$(cat <<'EOF'\ndon't (stop\nEOF\n)\" && ls", None),
        ("echo done; then", [["echo", "done"], ["then"]]),
        ("f() { a; }", [["f"], ["a"]]),
    ],
)
def test_lists_and_groups(text: str, expected: list[list[str]] | None) -> None:
    if expected is None:
        assert programs(text)[-1] == ["ls"]
    else:
        assert programs(text) == expected


@pytest.mark.parametrize(
    ("text", "expected", "wrappers"),
    [
        ("sudo -u me grep x f", ["grep", "x", "f"], ("sudo",)),
        ("env A=b C=d grep x f", ["grep", "x", "f"], ("env",)),
        ("timeout 5 grep x f", ["grep", "x", "f"], ("timeout",)),
        ("timeout -k 1 5s nice -n 10 find .", ["find", "."], ("timeout", "nice")),
        ("xargs -0 -n 1 grep -l x", ["grep", "-l", "x"], ("xargs",)),
        ("time grep x f", ["grep", "x", "f"], ()),
        ("command grep x f", ["grep", "x", "f"], ("command",)),
        ("command -v rg", ["command", "-v", "rg"], ()),
        ("docker exec -it web ls /srv", ["ls", "/srv"], ("docker exec",)),
        ("kubectl exec pod -- ls /srv", ["ls", "/srv"], ("kubectl exec",)),
        ("rtk grep x f", ["grep", "x", "f"], ("rtk",)),
    ],
)
def test_wrappers_are_taken_off(text: str, expected: list[str], wrappers: tuple[str, ...]) -> None:
    (command,) = commands(parse(text))
    assert [word.text for word in command.words] == expected
    assert command.wrappers == wrappers


@pytest.mark.parametrize(
    "text",
    [
        "bash -lc 'grep x f | head'",
        'sh -c "grep x f | head"',
        "zsh -lc \"bash -c 'grep x f | head'\"",
        "ssh host 'grep x f | head'",
    ],
)
def test_scripts_of_inner_shells_are_read(text: str) -> None:
    assert programs(text) == [["grep", "x", "f"], ["head"]]


def test_links_and_negation() -> None:
    steps = parse("a && ! b || c\nd")
    assert [(step.link, step.negated) for step in steps] == [("", False), ("&&", True), ("||", False), (";", False)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cd a && grep x y 2>/dev/null | head || echo", [("", "cd"), ("&&", "grep head"), ("||", "echo")]),
        ("cat <<E | grep x && ls\nhello\nE\npwd", [("", "cat grep"), ("&&", "ls"), (";", "pwd")]),
    ],
)
def test_pipes_bind_closer_than_lists(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(one.link, " ".join(command.program for command in commands((one,)))) for one in parse(text)] == expected


def test_if_keeps_its_sections_apart() -> None:
    ((_, _, (group,)),) = parse("if a; then b; else c; fi")
    assert isinstance(group, CompoundCommand)
    assert [[one.program for one in commands(part)] for part in (group.test, group.body, group.other)] == [
        ["a"],
        ["b"],
        ["c"],
    ]


def test_substitutions_and_variables_are_expansions() -> None:
    ((_, _, (command,)),) = parse('echo "n: $(grep -c "a)b" f) of $TOTAL"')
    assert isinstance(command, Command)
    first, second = command.words[1].expansions
    assert command.words[1].text[first.start : first.end] == '$(grep -c "a)b" f)'
    assert second.name == "TOTAL"


def test_redirections_are_kept() -> None:
    ((_, _, (command,)),) = parse("grep x f 2>/dev/null >> out")
    assert isinstance(command, Command)
    assert [tuple(one) for one in command.redirects] == [("2", ">", "/dev/null"), ("", ">>", "out")]


def depth(steps: tuple[Pipeline, ...]) -> int:
    groups = [stage for step in steps for stage in step.stages if isinstance(stage, CompoundCommand)]
    return max((1 + depth(one.test + one.body + one.other) for one in groups), default=0)


SIGNS = ["(", ")", '"', "'", "`", "$(", "${", "$'", "\\", "{ ", "if ", "for x in ", "case x in ", "<<A ", "|", "&", ">"]


@pytest.mark.parametrize("sign", [*SIGNS, 'bash -c "', "$(cat <<E\n", 'a"$x"', "elif ", "! "])
def test_any_length_of_one_sign_is_read(sign: str) -> None:
    assert depth(parse(sign * (LONGEST // len(sign)))) < 100
    assert len(list(commands(parse(sign * 1_000_000)))) == 1, "a line over the limit is one unknown command"


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    parse(text)


@given(
    st.lists(st.sampled_from([*SIGNS, "grep", " ", "\n", ";", "&&", "||", "do ", "done", "fi", "then ", "EOF", "x"]))
)
def test_any_mix_of_shell_signs_can_be_read(parts: list[str]) -> None:
    list(commands(parse("".join(parts))))


@given(st.text(st.characters(blacklist_characters="'\0", blacklist_categories=["Cs"])))
def test_single_quotes_keep_every_character(text: str) -> None:
    assert programs(f"grep '{text}' f") == [["grep", text, "f"]]
