"""Checks of what hooks and the scoring worker did lately, and what it cost."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from knowbound.agent.background import FAILED, SCORING
from knowbound.agent.doctor import NOTE, OK, PROBLEM, HealthCheck
from knowbound.agent.doctor.data_folder import all_rows, first_row
from knowbound.agent.hook import log as hook_log
from knowbound.agent.hook.interruptions import DAYS, MOST_WRONG, QUIET, wrong_shares
from knowbound.agent.hook.log import json_lines
from knowbound.agent.hook_entry import AFTER_TOOLS
from knowbound.config import Settings
from knowbound.errors import KnowboundError
from knowbound.injection.log import InjectionRecord, read_log
from knowbound.kms.pieces import claude_project
from knowbound.quality.ended import STOP
from knowbound.quality.queue import Queue
from knowbound.stats.printing import percent
from knowbound.store.data_dir import ENDED, FINDINGS, ITEMS, RESCUES, day_files

_NEWEST_RUNS = 200  # of the hook log: older runs say little about today
_RUNS_TO_RECOVER = 20  # good runs after which a failure is history
_SLOW_MS = 150.0  # the target for p95 of `hook user-prompt-submit`
_DELETED_AFTER_DAYS = 30  # Claude Code's own, where no settings say another
_PROJECT_SETTINGS = ("settings.json", "settings.local.json")  # the last one counts
_LATE_MINUTES = 10  # that a turn may wait: the worker starts when the turn ends, and takes seconds


def check_injections(home: Path) -> Iterator[HealthCheck]:
    """Count the injections that hooks recorded, and the entries that agents pulled."""
    try:
        log = read_log(home)
    except (KnowboundError, OSError) as error:
        yield HealthCheck("injections", PROBLEM, f"cannot be read: {error}")
        return
    if log.records or log.pulls or log.torn:
        delivered = sum(record.delivered is True and bool(record.items) for record in log.records)
        lost = f", {log.torn} lines could not be read: the disk was full" if log.torn else ""
        pulled = f"; {len(log.pulls)} pulled by agents" if log.pulls else ""
        finding = f"{len(log.records)} recorded, {delivered} with items that were delivered{pulled}{lost}"
        yield HealthCheck("injections", NOTE if log.torn else OK, finding)


def check_unmanaged(home: Path) -> Iterator[HealthCheck]:
    """Count the items that other systems injected, as `observe` saw them in the traces."""
    row = first_row(home / FINDINGS, "SELECT count(DISTINCT item), count(*) FROM unmanaged_injection")
    items, times = row or (0, 0)
    if items:
        yield HealthCheck("injected by others", OK, f"{items} items of unmanaged sources, injected {times} times")


class HookRuns(msgspec.Struct, frozen=True):
    """The last runs of the hooks, counted."""

    runs: int
    injected: int  # runs that injected items
    indexed: int  # runs that injected the index of the store
    failed: int  # including gave_up
    gave_up: int  # at the time limit
    declined: int  # by a server with too many events at once
    p95_ms: float | None  # of runs that waited for no model
    reasons: dict[str, int]
    last_failure: str | None  # its time
    good_since: int  # runs since the last failure


def hook_runs(home: Path) -> HookRuns:
    """Count the last runs in the hook log."""
    runs = hook_log.runs(str(home))[-_NEWEST_RUNS:]
    failures = [run for run in runs if run.get("outcome") in ("failed", "gave_up")]
    outcomes = Counter(run.get("outcome") for run in runs)
    # In an earlier version a run could wait for a model; a rescue searches, and has its own limit.
    timed_runs = [run for run in runs if not run.get("model") and run.get("event") not in AFTER_TOOLS]
    spent = sorted(float(run["ms"]) for run in timed_runs if isinstance(run.get("ms"), (int, float)))
    return HookRuns(
        runs=len(runs),
        injected=outcomes["injected"],
        indexed=outcomes["indexed"],
        failed=len(failures),
        gave_up=outcomes["gave_up"],
        declined=outcomes["declined"],
        p95_ms=spent[min(len(spent) - 1, int(len(spent) * 0.95))] if spent else None,
        reasons=dict(Counter(str(run.get("reason", "unknown")) for run in failures).most_common(5)),
        last_failure=str(failures[-1].get("time")) if failures else None,
        good_since=len(runs) - 1 - runs.index(failures[-1]) if failures else len(runs),  # runs since the last failure
    )


def check_hook_runs(home: Path) -> Iterator[HealthCheck]:
    """Check how many hooks ran, how long they took, and what failed."""
    recent = hook_runs(home)
    if not recent.runs:
        return
    spent = f"p95 {recent.p95_ms:.0f} ms" if recent.p95_ms is not None else "duration unknown"
    summary = f"last {recent.runs}: {recent.injected} injected items, {recent.indexed} gave the index, "
    summary += f"{recent.failed} failed ({recent.gave_up} at the time limit), {recent.declined} declined, {spent}"
    yield HealthCheck("hook runs", NOTE if (recent.p95_ms or 0.0) > _SLOW_MS else OK, summary)
    state, do = NOTE if recent.good_since >= _RUNS_TO_RECOVER else PROBLEM, "knowbound explain hook-failed"
    for reason, count in recent.reasons.items():
        yield HealthCheck("hook failures", state, f"{count} × {reason} (last failure {recent.last_failure})", do)


def check_transcripts(settings: Settings, environ: Mapping[str, str]) -> Iterator[HealthCheck]:
    """Say when Claude Code deletes the oldest transcript of this project, and how many ended transcripts are unread."""
    config = Path(environ.get("CLAUDE_CONFIG_DIR") or Path(environ.get("HOME") or Path.home()) / ".claude")
    transcripts = {
        str(path): path.stat() for path in (config / "projects" / claude_project(settings.root)).glob("*.jsonl")
    }
    if not transcripts:
        return
    days = _DELETED_AFTER_DAYS  # Claude Code's default; the last of its settings files counts
    for folder, name in ((config, "settings.json"), *((settings.root / ".claude", file) for file in _PROJECT_SETTINGS)):
        with suppress(OSError, ValueError, AttributeError):  # a missing or broken file sets nothing
            configured_days = json.loads((folder / name).read_bytes()).get("cleanupPeriodDays")
            days = configured_days if isinstance(configured_days, int) else days
    oldest = datetime.fromtimestamp(min(file.st_mtime for file in transcripts.values()), UTC)
    with suppress(OverflowError):  # so many days mean never
        deletion = f"; it deletes the oldest after {oldest + timedelta(days=days):%Y-%m-%d} (cleanupPeriodDays {days})"
        ended_before = (datetime.now(UTC) - timedelta(minutes=_LATE_MINUTES)).timestamp()
        read_files = set(all_rows(settings.home / FINDINGS, "SELECT path, size, mtime_ns FROM file"))
        unread = sum(
            (path, file.st_size, file.st_mtime_ns) not in read_files
            for path, file in transcripts.items()
            if file.st_mtime < ended_before
        )
        reading = f"{unread} not read yet" if unread else "all that ended are read"
        summary = f"{len(transcripts)} of Claude Code, {reading}{deletion}"
        yield HealthCheck("transcripts", NOTE if unread else OK, summary, "knowbound observe" if unread else "")


def check_interruptions(home: Path) -> Iterator[HealthCheck]:
    """Count the interruptions of the last days that a person called wrong; more than one of a kind is too many."""
    shares = wrong_shares(home)
    if shares:
        shares_text = ", ".join(f"{share.wrong} of {share.all} {share.kind}s" for share in shares)
        yield HealthCheck("interruptions", OK, f"called wrong in the last {DAYS} days: {shares_text}")
    for share in shares:
        if share.wrong > MOST_WRONG:
            do = f"go quiet: {QUIET[share.kind]}"
            yield HealthCheck("interruptions", NOTE, f"{share.wrong} of {share.all} {share.kind}s were wrong", do)


def check_scoring(settings: Settings) -> Iterator[HealthCheck]:
    """Check the queue of ended turns, the worker's last run, and turns without verdicts."""
    command = "knowbound quality score"
    waiting, last = Queue(settings.home).pending() or [], SCORING.last_note(str(settings.home))
    if not waiting and last is None:
        return
    last_run = f"the last run, {last['time']}, {_outcome_of(last)}" if last else "the worker has not run yet"
    finding = f"{len(waiting)} in the queue; {last_run}"
    has_failed = last is not None and last["event"] == FAILED
    latest = (datetime.now(UTC) - timedelta(minutes=_LATE_MINUTES)).strftime("%Y-%m-%dT%H:%M:%SZ")
    is_stuck = any(record.time < latest for record in waiting) and not SCORING.is_running(str(settings.home))
    if has_failed or is_stuck:
        state = PROBLEM if waiting else NOTE  # `quality score` emptied the queue, and does not write the worker's log
        yield HealthCheck("scoring", state, finding, f"{command} --queue")
    else:
        yield HealthCheck("scoring", OK, finding)
    # A shared log is not asked.
    query = "SELECT problem, count(*) OVER () FROM kms_quality_log WHERE problem <> '' ORDER BY scored_at DESC LIMIT 1"
    if row := first_row(settings.home / ITEMS, query):
        finding = f"{row[1]} in the log without verdicts; the last: {row[0]}"
        yield HealthCheck("unscored turns", PROBLEM, finding, f"{command} --again")


def _outcome_of(run: dict[str, Any]) -> str:
    """Return what the scoring worker did last; a leg is a step of the rollout of measured ranking."""
    if run["event"] == FAILED:
        return f"failed: {run.get('reason')}"
    if run["event"] == "reverted":
        return f"scored turns and reverted the rollout to leg {run.get('leg')}"
    return f"scored {run.get('turns')} turns"


# The share of a turn's time and of a session's input that hooks take. A turn runs from its prompt to its end, and its
# hooks took what the records of the prompt, of rescues and of the end say; the tool events in between are counted by
# the MCP server. Processes that end after a look at a tool's output leave no record. Injected tokens are compared with
# the input that a session read for the first time: what its cache gave again counts on neither side.

_MOST_SHARE = 0.01  # of a turn's wall time, and of a session's input
_MOST_PER_100_CALLS = 1.0  # seconds
_NEWEST_SESSIONS = 20  # the newest, whose transcripts are read
_LARGEST_TRANSCRIPT = 64 * 1024 * 1024  # bytes of a transcript that is read


@dataclass
class HookTime:
    """The time of finished turns, and what hooks took of it."""

    turns: int = 0
    wall_seconds: float = 0.0
    hook_seconds: float = 0.0
    tool_calls: int = 0
    tool_seconds: float = 0.0


def check_budget(home: Path) -> Iterator[HealthCheck]:
    """Check that hooks take at most 1% of the time and of the input, and a second for 100 tool calls."""
    records = read_log(home).records
    time = hook_time(home, records)
    if time.turns and time.wall_seconds:
        share = time.hook_seconds / time.wall_seconds
        most = percent(_MOST_SHARE)
        finding = f"{percent(share, 2)} of {time.turns} turns' time ({time.wall_seconds:.0f} s; at most {most})"
        is_over = share > _MOST_SHARE
        if time.tool_calls:
            per_100 = 100 * time.tool_seconds / time.tool_calls
            finding += f", {per_100:.2f} s for 100 tool calls (of {time.tool_calls}; at most {_MOST_PER_100_CALLS:.0f})"
            is_over |= per_100 > _MOST_PER_100_CALLS
        yield HealthCheck("hook time", NOTE if is_over else OK, f"hooks took {finding}")
    injected, read, sessions = injected_tokens(records)
    if read:
        finding = f"{injected} of {read} input tokens in {sessions} sessions, {percent(injected / read, 2)}"
        state = NOTE if injected > _MOST_SHARE * read else OK
        yield HealthCheck("injected tokens", state, f"{finding} (at most {percent(_MOST_SHARE)})")


def hook_time(home: Path, records: list[InjectionRecord]) -> HookTime:
    """Add up the turns that have both a prompt and an end in the logs."""
    prompts = {
        (record.session, record.turn_key): record
        for record in records
        if record.event == "user-prompt-submit" and record.turn_key
    }
    rescues: dict[tuple[str, str], float] = defaultdict(float)
    for rescue in _joined_records(home, RESCUES):
        rescues[_turn_of(rescue)] += float(rescue.get("ms", 0.0))
    total = HookTime()
    for end in _joined_records(home, ENDED):
        key = _turn_of(end)
        prompt = prompts.get(key)
        if end.get("event") != STOP or prompt is None:
            continue
        wall = (datetime.fromisoformat(str(end["time"])) - datetime.fromisoformat(prompt.time)).total_seconds()
        tool_ms = float(end.get("tool_ms", 0.0))
        # The server's sum of tool events has the rescues in it; where processes answered, only rescues are recorded.
        spent_ms = (prompt.ms or 0.0) + float(end.get("ms", 0.0)) + (tool_ms or rescues[key])
        total.turns += 1
        total.wall_seconds += max(0.0, wall)
        total.hook_seconds += spent_ms / 1000
        total.tool_calls += int(end.get("tool_calls", 0))
        total.tool_seconds += tool_ms / 1000
    return total


def _joined_records(home: Path, folder: str) -> Iterable[dict[str, Any]]:
    """Return the records of a log, each joined from its lines."""
    records: dict[str, dict[str, Any]] = defaultdict(dict)
    for path in day_files(home, folder):
        for line in json_lines(str(path)):
            records[str(line.get("id"))].update(line)
    return records.values()


def _turn_of(record: dict[str, Any]) -> tuple[str, str]:
    return str(record.get("session")), str(record.get("prompt_id") or record.get("turn_id") or "")


def injected_tokens(records: list[InjectionRecord]) -> tuple[int, int, int]:
    """Return the injected tokens, the new input tokens, and the number of the newest sessions that have both."""
    sessions: dict[str, list[InjectionRecord]] = defaultdict(list)
    for record in records:
        sessions[record.session].append(record)
    injected_count = read_tokens = session_count = 0
    for session_records in list(sessions.values())[-_NEWEST_SESSIONS:]:
        transcript = next((record.transcript for record in reversed(session_records) if record.transcript), "")
        new_tokens = _input_tokens(Path(transcript)) if transcript else 0
        if new_tokens:
            delivered = sum(record.tokens for record in session_records if record.delivered)
            injected_count += delivered + sum(record.late_tokens for record in session_records if record.late_delivered)
            read_tokens, session_count = read_tokens + new_tokens, session_count + 1
    return injected_count, read_tokens, session_count


def _input_tokens(transcript: Path) -> int:
    """Return the input tokens of a session that no cache gave; 0 if they are unknown."""
    if not transcript.is_file() or transcript.stat().st_size > _LARGEST_TRANSCRIPT:
        return 0
    by_message: dict[str, int] = {}
    for number, line in enumerate(json_lines(str(transcript))):
        message, payload = line.get("message"), line.get("payload")
        if isinstance(message, dict) and isinstance(usage := message.get("usage"), dict):  # Claude Code
            # A message has several lines, each with its usage.
            tokens = [usage.get(name) for name in ("input_tokens", "cache_creation_input_tokens")]
            by_message[str(message.get("id"))] = sum(token for token in tokens if isinstance(token, int))
        elif isinstance(payload, dict) and payload.get("type") == "token_count":  # Codex
            last = (payload.get("info") or {}).get("last_token_usage") or {}
            by_message[str(number)] = int(last.get("input_tokens", 0)) - int(last.get("cached_input_tokens", 0))
    return sum(by_message.values())
