"""Small trees written for the tests of `investigate`."""

from __future__ import annotations

from pathlib import Path

# The shape of the project in specification 3: every word of the six failing queries is in it, no phrase of them is.
AGENT: dict[str, str] = {
    "CMakeLists.txt": "project(agent)\nadd_executable(agent src/main.cpp src/startup.cpp)\n",
    "src/main.cpp": '#include "startup.h"\nint main() {\n  Startup startup;\n  return startup.run();\n}\n',
    "src/startup.h": "#pragma once\nclass Startup {\n public:\n  int run();\n};\n",
    "src/startup.cpp": (
        '#include "startup.h"\n// Loads settings, picks a model.\nint Startup::run() {\n  return load_model();\n}\n'
    ),
    "src/evidence_store.h": (
        "#pragma once\n#include <vector>\n// Keeps the evidence that tools collected.\nclass EvidenceStore {\n"
        " public:\n  void add(int evidence);\n  bool complete() const;\n};\n"
    ),
    "src/execution_engine.h": (
        "#pragma once\n// Runs a plan, step by step.\nclass ExecutionEngine {\n public:\n  void execute();\n};\n"
    ),
    "src/provider_auth.h": (
        "#pragma once\n// A provider signs its requests.\nclass ProviderAuth {\n public:\n  bool sign();\n};\n"
    ),
    "src/session.h": "#pragma once\nclass Session {\n  int selection = 0;  // of the menu\n};\n",
    "src/gate.h": "#pragma once\n// The gate opens when a plan is complete.\nclass Gate {};\n",
    "src/search.cpp": "// search for files of the project\nint search() { return 2024; }\n",
    "docs/credentials.md": "# Credentials\n\nKeep them out of the repository. The model is configured elsewhere.\n",
    "tests/test_startup.cpp": '#include "startup.h"\nint test_startup() { return Startup().run(); }\n',
}

SHOP: dict[str, str] = {
    "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n',
    "shop/__init__.py": "",
    "shop/retry.py": (
        '"""Trying again."""\n\nRETRY_LIMIT = 3\n\n\nclass RetryMiddleware:\n    """Sends a request again."""\n\n'
        "    def push(self) -> None:\n        pass\n"
    ),
    "shop/client.py": (
        "from shop.retry import RetryMiddleware, RETRY_LIMIT\n\n\ndef make_client():\n"
        "    return RetryMiddleware()\n\n\ndef send(attempt):\n    if attempt > RETRY_LIMIT:\n"
        '        raise ValueError("Too many attempts, giving up")\n'
    ),
    "shop/proxy.py": (
        'class FileProxy:\n    """Wraps a file and redirects writes to a console."""\n\n'
        "    def write(self, text):\n        pass\n"
    ),
    "shop/blueprints.py": "class Blueprint:\n    def register(self):\n        order = []\n        return order\n",
    "tests/test_retry.py": "from shop.retry import RetryMiddleware\n\n\ndef test_it():\n    assert RetryMiddleware()\n",
}

HANDBOOK: dict[str, str] = {
    "README.md": "# Handbook\n\nHow we work.\n",
    "security/keys.md": "# Rotating signing keys\n\nEvery quarter the on-call engineer rotates the signing keys.\n",
    "people/onboarding.md": "# Onboarding\n\n## First week\n\nMeet the team. Set up the laptop.\n",
}


def plant(root: Path, files: dict[str, str]) -> Path:
    """Write the files below the root."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root
