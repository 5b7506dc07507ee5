"""What decided about an item, in a few words, from the features that a person can check."""

from __future__ import annotations

from collections.abc import Mapping

from knowbound.core.quality import Metric

_CLEAR = 0.3


def reason(verdict: Mapping[Metric, bool], features: Mapping[str, float]) -> str:
    """One clause per question that was answered with yes, or why none was."""
    clauses = []
    if verdict[Metric.CONTRADICTED]:
        clauses.append(f"contradicted: {_contradicted(features)}")
    if verdict[Metric.USED]:
        clauses.append(f"used: {_used(features)}")
    if verdict[Metric.ON_TOPIC] and not clauses:
        clauses.append(f"on topic: shares {_percent(features['p_cov'])} of its words with the prompt; not used")
    return "; ".join(clauses) or f"off topic: shares {_percent(features['p_cov'])} of its words with the prompt"


def _contradicted(features: Mapping[str, float]) -> str:
    if features["k_correct_id"] or features["k_update_id"]:
        return "a call corrects it"
    values = features["slot"]
    cues = max(features["rejected"], features["rejected_value"], features["mem_denied"])
    if values >= cues:
        return "another value stands beside the same words"
    return "its words stand beside a denial"


def _used(features: Mapping[str, float]) -> str:
    if features["v_response"] >= _CLEAR:
        return "its values are in the response"
    if features["v_input"] >= _CLEAR:
        return "its values are in a tool call"
    if features["i_novel"] > features["r_novel"]:
        return f"{_percent(features['i_cov'])} of its words are in tool calls"
    return f"{_percent(features['r_win'])} of its words are in neighbouring sentences of the response"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"
