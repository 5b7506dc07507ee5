-- Calls of models by all processes of the user, by day and hour (UTC).
CREATE TABLE call (
    day         TEXT NOT NULL,
    hour        INTEGER NOT NULL,
    background  INTEGER NOT NULL,      -- 1: while agents work, 0: by a command
    calls       INTEGER NOT NULL,
    usd         REAL NOT NULL,         -- as far as known
    PRIMARY KEY (day, hour, background)
) WITHOUT ROWID;

-- One row at most: the provider refused by a limit of the user's plan.
CREATE TABLE pause (
    until   TEXT NOT NULL,             -- UTC
    reason  TEXT NOT NULL
);
