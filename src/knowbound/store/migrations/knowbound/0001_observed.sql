-- What `observe` keeps, so that unchanged files are not opened again.

-- One row per file: what its head told, valid while size and time stay the same.
CREATE TABLE file (
    path      TEXT PRIMARY KEY,
    size      INTEGER NOT NULL,
    mtime_ns  INTEGER NOT NULL,
    reader    TEXT NOT NULL,      -- '' when no reader recognises it
    session   TEXT NOT NULL,
    agent_id  TEXT NOT NULL,      -- the sub-agent whose side-chain this is
    time      TEXT NOT NULL,
    problem   TEXT NOT NULL       -- why it could not be read
) WITHOUT ROWID;

-- One row per session: the lens's findings (msgpack), valid for exactly these files and settings.
CREATE TABLE session (
    key       TEXT PRIMARY KEY,   -- reader and session id, and the files it was read from
    name      TEXT NOT NULL,      -- reader and session id
    state     TEXT NOT NULL,      -- hash over the files' sizes and times, the settings and the lens version
    findings  BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX session_name ON session (name);

-- One row per run: its report (msgpack), found again when nothing has changed.
CREATE TABLE run (
    id      INTEGER PRIMARY KEY,
    kind    TEXT NOT NULL,        -- observe
    made    TEXT NOT NULL,        -- UTC
    corpus  TEXT NOT NULL,        -- hash over every file, the settings and the filters
    keys    BLOB NOT NULL,        -- the sessions in it
    report  BLOB NOT NULL
);
CREATE INDEX run_corpus ON run (kind, corpus);

-- Verdicts by judge version and SHA-256 of the sentence (specification 1, source 3).
CREATE TABLE verdict (
    judge    TEXT NOT NULL,
    sha256   TEXT NOT NULL,
    verdict  BLOB NOT NULL,
    PRIMARY KEY (judge, sha256)
) WITHOUT ROWID;
