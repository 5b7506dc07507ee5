"""The things that a statement names: paths, commands, links, symbols, variables, options, versions."""

from __future__ import annotations

import pytest

from knowbound.core.statement import Statement
from knowbound.knowledge.named import Named, named_in


def shown(statement: Statement) -> list[str]:
    """What a statement names, each as a line: its kind and words, and what is not usual about it."""
    return [_shown(named) for named in named_in(statement)]


def _shown(named: Named) -> str:
    where = f" in {named.folder}" if named.folder else ""
    signs = (
        "" if named.is_sure else ", unsure",
        ", by history" * named.needs_history,
        ", if deleted" * named.if_deleted,
    )
    return f"{named.kind} {named.value}{where}{''.join(signs)}"


def test_a_code_span_names_what_it_is_written_like() -> None:
    cases: list[tuple[str, list[str]]] = [
        ("`src/cart.ts`", ["path src/cart.ts"]),
        ("`cart.ts`", ["path cart.ts"]),
        ("`cart`", []),
        ("`cart.unknown`", ["symbol cart.unknown"]),
        ("`src/cart`", ["path src/cart"]),
        ("`a/b`", []),
        ("`a/b/c`", ["path a/b/c"]),
        ("`docs/`", ["path docs/"]),
        ("`/docs/`", ["path /docs/"]),
        ("`./run.sh`", ["path ./run.sh"]),
        ("`@shop/web`", ["other @shop/web"]),
        ("`@shop`", []),
        ("`-x`", []),
        ("`...`", []),
        ("`./`", []),
        ("`.env`", ["path .env"]),
        ("`.env.local`", []),
        ("`.x`", []),
        ("`CART_TOTAL`", ["variable CART_TOTAL"]),
        ("`CARTTOTAL`", []),
        ("`sumCart`", ["symbol sumCart"]),
        ("`sumcart`", []),
        ("`sumcart()`", ["symbol sumcart"]),
        ("`sum_cart`", ["symbol sum_cart"]),
        ("`_sum`", []),
        ("`Cart.sum`", ["path Cart.sum"]),
        ("`HTTPServer`", ["symbol HTTPServer"]),
        ("`HTTP`", []),
        ("`cart.ts:12`", ["path cart.ts"]),
        ("`cart.ts#L3-L9`", ["path cart.ts"]),
        ("`src/cart.ts::sum`", ["path src/cart.ts"]),
        ("`/abs/cart.ts:12`", []),
        ("`https://x.dev/a.ts`", []),
        ("`path/to/x.ts`", []),
        ("`<name>.ts`", []),
        ("`SHOP_ENV=1`", ["variable SHOP_ENV"]),
        ("`shop=1`", []),
        ("`/review`", ["skill /review"]),
        ("`/review all`", ["skill /review"]),
        ("`/Review`", []),
        ("`text/html`", []),
        ("`src/index.ts:sum()`", ["path src/index.ts"]),
        ("``x``", []),
        ("`a.b/c`", []),
        ("`src/*.ts`", []),
        ("`1.5`", []),
        ("`e.g`", ["symbol e.g, unsure"]),
        ("`README.md`", ["path README.md"]),
        ("`Makefile`", []),
        ("`a.tsx`", ["path a.tsx"]),
        ("`!x.ts`", []),
        ("`mailto:x@y.z`", []),
        ("`#anchor`", []),
    ]
    for text, names in cases:
        assert shown(Statement("CLAUDE.md", 1, 1, text)) == names, text


def test_prose_names_links_and_bare_paths() -> None:
    cases: list[tuple[str, list[str]]] = [
        ("See [guide](docs/guide.md).", ["link docs/guide.md"]),
        ("See [guide](docs/my%20guide.md#part).", ["link docs/my guide.md"]),
        ("See [guide](https://x.dev/a.md) and `cart.ts`.", ["path cart.ts"]),
        ("See [`cart.ts`](https://x.dev).", []),
        ("See [`cart.ts`](src/cart.ts).", ["link src/cart.ts", "path cart.ts"]),
        ("See [guide](#part).", []),
        ("See [guide](docs/<name>.md).", []),
        ("See [`cart.ts`](#cart).", ["path cart.ts"]),
        ("![image](docs/a.png) is shown.", ["path docs/a.png"]),
        ("Look in src/cart/ for it.", ["path src/cart/, by history, if deleted"]),
        ("Look in and/or for it.", []),
        ("It is in src/cart.ts now.", ["path src/cart.ts, if deleted"]),
        ("It is in src/unknown.cart now.", ["path src/unknown.cart, by history, if deleted"]),
        ("It is in one/two/three now.", ["path one/two/three, by history, if deleted"]),
        ("The cart.ts file.", ["path cart.ts, by history"]),
        ("The cart.unknown file.", []),
        ("See a@b.com/x.ts here.", ["path a@b.com/x.ts"]),
        ("See path/to/x.ts here.", []),
        ("Put it under src/cart.ts", ["path src/cart.ts, if deleted"]),
        ("In the src/old/ folder", ["path src/old/, by history"]),
        ("Under `src/cart.ts` it is.", ["path src/cart.ts"]),
        ("Save to cart.ts.", ["path cart.ts, unsure, by history"]),
        ("An x.ts and foo.ts.", ["path x.ts, by history"]),
    ]
    for text, names in cases:
        assert shown(Statement("CLAUDE.md", 1, 1, text)) == names, text


def test_doubt_in_the_words_makes_a_name_unsure() -> None:
    cases: list[tuple[str, list[str]]] = [
        ("It uses `src/cart.ts`.", ["path src/cart.ts"]),
        ("It used `src/cart.ts`, e.g. now.", ["path src/cart.ts, unsure"]),
        ("Create `src/cart.ts`.", ["path src/cart.ts, unsure"]),
        ("Create it. It uses `src/cart.ts`.", ["path src/cart.ts"]),
        ("The user's `src/cart.ts`.", ["path src/cart.ts, unsure"]),
        ("The optional `src/cart.ts`.", ["path src/cart.ts, unsure, if deleted"]),
        ("The optional, removed `src/cart.ts`.", ["path src/cart.ts, unsure"]),
        ("Removed: `src/cart.ts`.", ["path src/cart.ts, unsure"]),
        ("Write in `src/cart.ts`.", ["path src/cart.ts, unsure, if deleted"]),
        ("Create optional `src/cart.ts`.", ["path src/cart.ts, unsure"]),
        ("See e.g. [x](docs/a.md).", ["link docs/a.md, unsure"]),
        ("Generated docs/a.md here.", ["path docs/a.md, unsure"]),
        ("Never use docs/a.md here.", ["path docs/a.md, unsure"]),
        ("Add to docs/a.md here.", ["path docs/a.md, unsure, if deleted"]),
        ("New cart.ts here.", ["path cart.ts, unsure, by history"]),
        ("Deprecated: Python 3.9.", ["version Python 3.9, unsure"]),
        ("| `sumCart()` | uses `sumTax()` |", ["symbol sumCart", "symbol sumTax, unsure"]),
        ("Name it `sumCart()` | `sumTax()`.", ["symbol sumCart", "symbol sumTax"]),
        ("`sumCart()` and `src/cart.ts` in `docs/`.", ["symbol sumCart", "path src/cart.ts", "path docs/, if deleted"]),
    ]
    for text, names in cases:
        assert shown(Statement("CLAUDE.md", 1, 1, text)) == names, text


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Uses Python 3.11.", ["version Python 3.11"]),
        ("Uses Python 3.11, e.g. here.", ["version Python 3.11, unsure"]),
        ("Node 20 and Node 22", []),
    ],
)
def test_versions_are_named_with_their_words(text: str, names: list[str]) -> None:
    assert shown(Statement("CLAUDE.md", 1, 1, text)) == names


def test_a_command_line_names_scripts_and_files() -> None:
    cases: list[tuple[str, list[str]]] = [
        ("npm run build", ["command npm build"]),
        ("npm run-script build", ["command npm build"]),
        ("npm run", []),
        ("npm run a b", ["command npm a"]),
        ("npm run cart.ts", []),
        ("npm test", ["command npm test"]),
        ("npm start", ["command npm start"]),
        ("npm install", []),
        ("npm run -- x", []),
        ("pnpm build", ["command pnpm build"]),
        ("pnpm add x", []),
        ("pnpm X", []),
        ("pnpm -C web build", ["command pnpm build in web"]),
        ("pnpm --filter web build", ["command pnpm build"]),
        ("pnpm --filter=web build", ["command pnpm build"]),
        ("yarn workspace", []),
        ("yarn b", []),
        ("bun run x", ["command bun x"]),
        ("bun x", []),
        ("make", []),
        ("make all", ["command make all"]),
        ("make 'a b'", []),
        ("make X=1 all", ["command make all"]),
        ("just deploy", ["command just deploy"]),
        ("just <name>", []),
        ("mise run build", ["command mise build"]),
        ("mise r build", ["command mise build"]),
        ("mise build", []),
        ("mise run", []),
        ("deno task dev", ["command deno dev"]),
        ("deno task", []),
        ("deno run dev", []),
        ("composer run x", ["command composer x"]),
        ("npm --prefix web run build", ["command npm build in web"]),
        ("npm run build --prefix web", ["command npm build in web"]),
        ("npm run build --prefix", ["command npm build"]),
        ("cd web && npm run build", ["path web/", "command npm build in web"]),
        ("cd web/app && make", ["path web/app/"]),
        ("cd <dir> && make", []),
        ("cd a b && make", []),
        ("cd ../x && make", ["path ../x/"]),
        ("$ make all", ["command make all"]),
        ("> make all", ["command make all"]),
        ("% make all", ["command make all"]),
        ("# make", []),
        ("make all # all", ["command make all"]),
        ("make all // all", ["command make all"]),
        ("make all   (all)", ["command make all"]),
        ("make all | tee x", ["command make all"]),
        ("make a; make b", ["command make a", "command make b"]),
        ("make a || make b", ["command make a", "command make b"]),
        ("sudo make all", ["command make all"]),
        ("SHOP_ENV=1 make all", ["variable SHOP_ENV", "command make all"]),
        ("ENV=1 make all", ["command make all"]),
        ("SHOP_ENV=1", ["variable SHOP_ENV"]),
        ("env SHOP_ENV=1 make all", ["command make all"]),
        ("npx make all", ["command make all"]),
        ("uvx exec make all", ["command make all"]),
        ("echo 'unclosed", []),
        ("", []),
    ]
    for text, names in cases:
        assert shown(Statement("CLAUDE.md", 1, 1, text, is_code=True)) == names, text


def test_programs_name_their_files_hooks_and_manifests() -> None:
    cases: list[tuple[str, list[str]]] = [
        ("python x.py", ["path x.py"]),
        ("python src/x.py --count 3", ["path src/x.py", "option src/x.py --count"]),
        ("python -m pytest tests/a.py", []),
        ("python -c x", []),
        ("python -u src/x.py y.py", ["path src/x.py"]),
        ("bash run.sh", ["path run.sh"]),
        ("bash run", []),
        ("node src/index.js src/other.js", ["path src/index.js"]),
        ("source .env", []),
        ("sh <name>.sh", []),
        ("sh a/<b>.sh", []),
        ("ruby https://x.dev/a.rb", []),
        ("pytest tests/a.py tests/b.py::test_x", ["path tests/a.py, unsure", "path tests/b.py, unsure"]),
        ("pytest a.py", []),
        ("pytest tests/ -k x", ["path tests/, unsure"]),
        ("cat docs/a.md", ["path docs/a.md, unsure"]),
        ("rg -n x src/", ["path src/, unsure"]),
        ("uv run pytest tests/a.py", ["command uv pytest", "path tests/a.py, unsure"]),
        ("uv run ruff check", ["command uv ruff"]),
        ("uv run --frozen ruff", ["command uv ruff"]),
        ("uv run", []),
        ("uv run python x.py", ["path x.py"]),
        ("uv sync", []),
        ("poetry run x.py", []),
        ("hatch run lint", ["command hatch lint"]),
        ("rye run lint", ["command rye lint"]),
        ("pdm run lint", ["command pdm lint"]),
        ("hatch build", []),
        ("pre-commit run", []),
        ("pre-commit run ruff", ["command pre-commit ruff"]),
        ("pre-commit run --all-files", ["option pre-commit --all-files"]),
        ("pre-commit run --all-files ruff", ["option pre-commit --all-files"]),
        ("pre-commit install", []),
        ("pre-commit run Ruff", []),
        ("cargo build", ["command cargo "]),
        ("cargo build --manifest-path x/Cargo.toml", ["option cargo --manifest-path"]),
        ("go test ./...", ["command go "]),
        ("go install x", []),
        ("docker compose up", ["command docker "]),
        ("docker build .", []),
        ("docker-compose up", ["command docker "]),
        ("docker compose -f x.yml up", []),
        ("swift build", ["command swift "]),
        ("mvn test", ["command mvn "]),
        ("bundle exec x", ["command bundle "]),
        ("mix test", ["command mix "]),
        ("gradle -C x test", []),
        ("./run.sh", ["path ./run.sh"]),
        ("./run.sh --fast", ["path ./run.sh", "option ./run.sh --fast"]),
        ("./<run>.sh", []),
        (
            "./tools/seed.py --dry-run -x --only=3 -- --not",
            ["path ./tools/seed.py", "option ./tools/seed.py --dry-run", "option ./tools/seed.py --only"],
        ),
        ("seed --all", ["option seed --all"]),
        ("npm run x --all", ["command npm x"]),
        ("uv run tools/seed.py --all", ["option tools/seed.py --all"]),
        ("poetry run seed --all", ["command poetry seed", "option seed --all"]),
        ("pdm run python seed.py --all --x2-y", ["path seed.py", "option seed.py --all", "option seed.py --x2-y"]),
        ("python --all", []),
        ("--all", []),
        ("grep --all x", ["option grep --all"]),
    ]
    for text, names in cases:
        assert shown(Statement("CLAUDE.md", 1, 1, text, is_code=True)) == names, text


def test_a_row_of_a_tree_names_its_path() -> None:
    cases: list[tuple[str, str, list[str]]] = [
        ("src/", "a drawn row", ["layout src/"]),
        ("src/cart.ts", "cart.ts # sums", ["layout src/cart.ts"]),
        ("…", "…", []),
        ("..", "..", []),
        (".env", "x", []),
        (".", "x", []),
        ("src/<name>", "x", []),
        ("src/old.ts", "old.ts # optional", ["layout src/old.ts, unsure, if deleted"]),
        ("src/x.ts", "x.ts # removed", ["layout src/x.ts, unsure"]),
    ]
    for path, text, names in cases:
        assert shown(Statement("CLAUDE.md", 1, 1, text, path=path)) == names, path
