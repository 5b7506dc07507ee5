"""Where the answer about a failing pipeline, or about the project as a whole, is found (specification 3, part IV).

The row of Diagnose needs FileSearch and FileContent beside CIWorkflow. Where the question names no thing of the code,
they are about the definition of what failed: the workflow that it names, else the folder of workflows. In the same way
"what is this project" is about its readme.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from knowbound.core.evidence import QuestionKind
from knowbound.evidence.producers.ci import asked_workflows, local_workflows
from knowbound.evidence.producers.protocol import Context
from knowbound.evidence.question.terms import ParsedQuestion, Term, TermKind
from knowbound.text.questions.intent import AskedQuestion

_FOLDER = ".github/workflows/"
_NAMES = frozenset({TermKind.IDENTIFIER, TermKind.FILE, TermKind.OPTION})
_OVERVIEW = re.compile(
    r"^\W*(?:so |and |please |can you |could you |tell me |in short )*(?:what (?:is|does)|what's|what are we building|"
    r"explain|describe|summari[sz]e|"
    r"give (?:me|us) an? (?:\w+ )?(?:overview|summary|rundown|introduction|tour) of)"
    r" (?:me )?(?:this|the|our) (?:whole |entire )?(?:project|repo|repository|code ?base|code|package|library|tool|"
    r"thing)"
    r"(?: here)?(?: (?:about|for|do|all about|good for|trying to do|is about|does|in .*))*\W*(?:,? in .*)?$",
    re.I,
)


def with_definition(parsed: ParsedQuestion, asked: AskedQuestion, root: Path) -> ParsedQuestion:
    """The question with the file that it is about without naming it, where it is such a question."""
    if asked.kind is QuestionKind.CI_CAUSE:
        names = tuple(term for term in parsed.terms if term.kind in _NAMES and term.text[:1] not in "'\"")
        return replace(parsed, terms=names or (_file(_workflow(asked.text, root)),))
    if asked.kind is QuestionKind.EXPLAIN and _OVERVIEW.match(asked.corrected):
        readme = _readme(root)
        return replace(parsed, terms=(_file(readme),)) if readme else parsed
    return parsed


def _workflow(question: str, root: Path) -> str:
    """The file of the workflow that the question names, else the folder."""
    workflows = local_workflows(Context(root))
    named = asked_workflows(question, [workflow.name for workflow in workflows], workflows) or []
    paths = [workflow.path for workflow in workflows if workflow.name in named]
    return paths[0] if len(paths) == 1 else _FOLDER


def _readme(root: Path) -> str:
    names = sorted(path.name for path in root.glob("[Rr][Ee][Aa][Dd][Mm][Ee]*") if path.is_file())
    return names[0] if names else ""


def _file(path: str) -> Term:
    return Term(path, TermKind.FILE, tuple(re.findall(r"\w+", path.lower())), (path,))
