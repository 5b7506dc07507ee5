-- What lessons are made from, session by session: commands that failed, broken rules, short prompts; redacted and cut.
CREATE TABLE material (
    key       TEXT PRIMARY KEY,   -- as in `session`
    state     TEXT NOT NULL,      -- over the files it was read from
    material  BLOB NOT NULL       -- msgpack
) WITHOUT ROWID;
-- Lessons, with what a person decided and what became of them.
CREATE TABLE lesson (
    project   TEXT NOT NULL,
    id        TEXT NOT NULL,
    status    TEXT NOT NULL,
    lesson    BLOB NOT NULL,      -- msgpack
    PRIMARY KEY (project, id)
) WITHOUT ROWID;
