-- What is measured about injected items (specification 2, section 3), in the database of the items themselves. MongoDB has
-- the same as collections of the same names. Documents are JSON; docs/injection-quality.md describes them.

-- One row per turn; rows older than 90 days are removed by the rollup.
CREATE TABLE kms_quality_log (
    id         TEXT PRIMARY KEY,   -- session_id/turn_id
    date       TEXT NOT NULL,      -- the day of its prompt, UTC
    session_id TEXT NOT NULL,
    scored_at  TEXT NOT NULL,      -- when it was written last
    problem    TEXT NOT NULL,      -- not '': its judge failed, and it can be scored again
    document   TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX kms_quality_log_date ON kms_quality_log (date);
CREATE INDEX kms_quality_log_session ON kms_quality_log (session_id);
CREATE INDEX kms_quality_log_problem ON kms_quality_log (id) WHERE problem <> '';

-- One row per day, kept for ever.
CREATE TABLE kms_quality_rollup (
    date     TEXT PRIMARY KEY,
    document TEXT NOT NULL
) WITHOUT ROWID;

-- Warranted corrections: one row per contradicted item and time of raising.
CREATE TABLE kms_quality_discovery (
    id       TEXT PRIMARY KEY,     -- item@raised
    item     TEXT NOT NULL,
    document TEXT NOT NULL
) WITHOUT ROWID;
