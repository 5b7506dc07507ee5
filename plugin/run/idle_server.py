"""An MCP server without tools whose hooks say nothing: it stands in until knowbound is set up. Any Python 3 runs it."""

import json
import sys


def answer(request):
    """Return the result of a request."""
    if request.get("method") == "initialize":
        asked = (request.get("params") or {}).get("protocolVersion") or "2025-06-18"
        about = {"name": "knowbound", "version": "0"}
        return {"protocolVersion": asked, "capabilities": {"tools": {}}, "serverInfo": about}
    if request.get("method") == "tools/list":
        return {"tools": []}
    if request.get("method") == "tools/call":
        return {"content": [{"type": "text", "text": "{}"}]}
    return {}


def main():
    """Answer until the client hangs up."""
    for line in sys.stdin:
        try:
            request = json.loads(line)
        except ValueError:
            continue
        if isinstance(request, dict) and request.get("id") is not None and "method" in request:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": answer(request)}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
