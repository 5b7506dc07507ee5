"""Kinds of agents' tools, by the agent's own names, and the names of their inputs."""

from __future__ import annotations

import re
from typing import Any

from knowbound.core.lazy_pattern import lazy
from knowbound.core.tool_kinds import ToolKind

KINDS: dict[str, ToolKind] = {
    **dict.fromkeys(
        ("grep", "search", "code_search", "codebase_search", "grep_search", "search_file_content", "file_search",
         "glob", "find", "find_file", "search_dir", "search_file", "rg", "semantic_search", "toolsearchtool",
         "grep_files", "search_files", "search_codebase", "find_by_name", "searchtext", "ripgrep"),
        ToolKind.SEARCH,
    ),
    **dict.fromkeys(("ls", "list", "list_dir", "list_directory", "listdir", "tree", "list_files"), ToolKind.LIST),
    **dict.fromkeys(
        ("read", "read_file", "view", "view_file", "read_many_files", "open", "notebookread", "readfile", "cat",
         "get_file_contents", "readmcpresourcetool", "read_mcp_resource", "view_image", "open_file",
         "read_files"),
        ToolKind.READ,
    ),
    **dict.fromkeys(
        ("bash", "shell", "exec_command", "run_shell_command", "local_shell", "powershell", "run_command",
         "execute_command", "terminal", "run_terminal_cmd", "container.exec", "execute_bash",
         "shell_command", "run_commands"),
        ToolKind.SHELL,
    ),
    **dict.fromkeys(
        ("edit", "write", "multiedit", "notebookedit", "apply_patch", "create", "str_replace", "insert", "write_file",
         "replace", "edit_file", "create_file", "delete_file", "str_replace_based_edit_tool",
         "write_to_file", "replace_in_file", "editor", "apply_diff", "insert_content", "search_and_replace"),
        ToolKind.EDIT,
    ),
    **dict.fromkeys(
        ("webfetch", "websearch", "web_search", "web__run", "web_fetch", "google_web_search", "fetch_url",
         "fetch_web_content"), ToolKind.WEB
    ),
}  # fmt: skip

MCP_TOOL = lazy(r"^mcp__(?:.*__)?([^_].*)$|^(?:[\w-]+)[./:]([\w-]+)$")
_MCP_SEARCH = lazy(
    r"(?:^|[_-])(?:search|find|lookup|grep|recall|retrieve)(?=[_-]|s?$|[A-Z])|^(?:query|resolve)(?=[_-]|$)|[a-z](?:Search|Lookup)(?=[_-]|$|[A-Z])"
)
_MCP_READ = lazy(r"(?:^|[_-])(?:read|get|fetch|show|view|open)(?:[_-]|$)", re.I)
_MCP_LIST = lazy(r"(?:^|[_-])list(?:[_-]|$)", re.I)
_MCP_WRITE = lazy(r"(?:^|[_-])(?:create|update|write|delete|add|set|insert|save|store|upsert|send)(?:[_-]|$)", re.I)

QUERY_KEYS = ("pattern", "query", "q", "search", "search_term", "searchTerm", "text", "regex", "keyword", "keywords",
              "queries", "name", "libraryName", "symbol", "term", "include_pattern", "filename",
              "file_name")  # fmt: skip
PATH_KEYS = ("file_path", "path", "absolute_path", "filePath", "file", "notebook_path", "dir_path", "directory", "uri",
             "relative_path", "target_file", "dir", "paths", "absolutePath")  # fmt: skip
OLD_KEYS = ("old_string", "old_str", "oldString")
NEW_KEYS = ("new_string", "new_str", "newString")
COMMAND_KEYS = ("command", "cmd", "script", "commandLine", "commands")


def kind_of(name: str) -> ToolKind:
    """Return the canonical kind of a tool, by the agent's own name for it."""
    kind = KINDS.get(name.lower())
    if kind is not None:
        return kind
    match = MCP_TOOL.match(name)
    if match is None:
        return ToolKind.OTHER
    tool = match.group(1) or match.group(2)
    kind = KINDS.get(tool.lower())
    if kind is not None:
        return kind
    if _MCP_WRITE.search(tool):
        return ToolKind.OTHER
    if _MCP_SEARCH.search(tool):
        return ToolKind.SEARCH
    if _MCP_LIST.search(tool):
        return ToolKind.OTHER  # lists of a remote service are its state, not knowledge that is looked up by name
    return ToolKind.READ if _MCP_READ.search(tool) and "file" in tool.lower() else ToolKind.OTHER  # else remote state


def first_text(input_: dict[str, Any], keys: tuple[str, ...]) -> str:
    """Return the first of these inputs that has text; a list of texts is joined."""
    for key in keys:
        if key not in input_:
            continue
        value = input_[key]
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
            return " ".join(value)
    return ""
