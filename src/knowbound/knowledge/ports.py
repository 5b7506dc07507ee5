"""Ports that a statement says, and those that scripts and compose files state for the very thing it names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from knowbound.codebase.checkout import Checkout
from knowbound.core.statement import UNKNOWN, Looked, Statement, StatementKind, StatementPlace, Truth
from knowbound.knowledge.named import Named

_OF_SCRIPT = re.compile(r"(?:--port[= ]|\s-p |\bPORT=)(\d{4,5})\b")
_COMPOSE = re.compile(r"(?:^|/)(?:docker-)?compose(?:\.[\w-]+)?\.ya?ml$")
_SERVICE = re.compile(r"^(?P<indent>\s+)(?P<name>[\w-]+):\s*$")
_PUBLISHED = re.compile(r"^\s+-\s+[\"']?(?:\d+\.[\d.]+:)?(?P<host>\d{2,5})(?::(?P<inside>\d{2,5}))?(?:/\w+)?[\"']?\s*$")
_VARIABLE_PORT = re.compile(r"^\s+-\s+.*\$\{?\w")


class Ports:
    """The ports that manifests of a checkout state."""

    def __init__(self, checkout: Checkout) -> None:
        self._tree = checkout

    def look(self, named: Named, beside: Sequence[Named], statement: Statement) -> Looked:
        """Judge the one port of a statement that names one script, or one service of a compose file."""
        ports = [one for one in beside if one.kind is StatementKind.PORT]
        if len(ports) != 1:
            return UNKNOWN
        scripts = [one.value.partition(" ")[2] for one in beside if one.kind is StatementKind.COMMAND]
        known = list(self._of_script(scripts[0])) if len(scripts) == 1 else list(self._of_service(statement.text))
        for port, place in known:
            if port == named.value:
                return Looked(Truth.CONFIRMED, place)
        if not known:
            return UNKNOWN
        others = {port for port, _ in known}
        return Looked(Truth.CONTRADICTED, known[0][1], others.pop() if len(others) == 1 else "")

    def _of_script(self, script: str) -> Iterator[tuple[str, StatementPlace]]:
        """Yield the port of a script that one manifest alone has."""
        found = [(path, one[script]) for path, one in self._tree.scripts.items() if script in one]
        if len(found) == 1 and found[0][0].endswith("package.json"):
            path, line = found[0]
            for port in _OF_SCRIPT.finditer(self._tree.lines(path)[line - 1]):
                yield port[1], StatementPlace(path, line)

    def _of_service(self, text: str) -> list[tuple[str, StatementPlace]]:
        """Return the ports of the one service that a text names."""
        words = set(re.findall(r"[a-z][\w-]+", text.lower()))
        named = [name for name in self._services if name.lower() in words]
        return self._services[named[0]] if len(named) == 1 else []

    @cached_property
    def _services(self) -> dict[str, list[tuple[str, StatementPlace]]]:
        """The published ports of services that one compose file alone has, none of them a variable."""
        found: dict[str, list[list[tuple[str, StatementPlace]]]] = {}
        for path in sorted(self._tree.files):
            if _COMPOSE.search(path):
                for name, ports in self._in_compose(path):
                    found.setdefault(name, []).append(ports)
        return {name: some[0] for name, some in found.items() if len(some) == 1 and some[0]}

    def _in_compose(self, path: str) -> Iterator[tuple[str, list[tuple[str, StatementPlace]]]]:
        """Yield the services of a compose file with their ports, on the host and inside."""
        name, ports, indent, is_services, is_fixed = "", list[tuple[str, StatementPlace]](), "", False, True
        for number, line in enumerate(self._tree.lines(path), 1):
            if line[:1].strip() and not line.startswith("#"):
                is_services = line.startswith("services:")
            elif is_services and (service := _SERVICE.match(line)) and (not indent or service["indent"] == indent):
                if name:
                    yield name, ports if is_fixed else []
                name, ports, indent, is_fixed = service["name"], [], service["indent"], True
            elif is_services and (port := _PUBLISHED.match(line)):
                place = StatementPlace(path, number)
                ports += [(one, place) for one in (port["host"], port["inside"]) if one]
            elif is_services and _VARIABLE_PORT.match(line):
                is_fixed = False
        if name:
            yield name, ports if is_fixed else []
