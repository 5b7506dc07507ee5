-- Questions that the user queued for the agent of a session (`--model agent:CLIENT`). An answer becomes a row of
-- `answer` for each entry, and the question goes with its last open entry.
CREATE TABLE agent_question (
    id TEXT NOT NULL PRIMARY KEY,   -- hash of the prompt's version and the keys of the entries
    client TEXT NOT NULL,           -- claude-code, codex or other
    made TEXT NOT NULL,             -- day, UTC
    question BLOB NOT NULL          -- JSON, without secrets
);
