#!/bin/sh
# The MCP server of a client: server.sh CLIENT. Before the set-up, and where the client's own settings have our server,
# it offers nothing, so that no hook fails and nothing is there twice.
root=${0%/run/server.sh}
. "$root/run/find.sh"
if [ -n "$found" ] && ! is_installed_classically "$1" user-prompt-submit; then
    KNOWBOUND_PLUGIN=$1 exec "$found/knowbound" mcp
fi
for python in "$found/python" python3 python; do
    command -v "$python" >/dev/null 2>&1 && exec "$python" "$root/run/idle_server.py"
done
exit 1
