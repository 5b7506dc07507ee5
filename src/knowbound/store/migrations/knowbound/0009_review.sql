-- The newest results of `lint` and `review`, shown again while nothing changed. `forget` removes all of them.
CREATE TABLE screen (
    name    TEXT PRIMARY KEY,      -- lint or review
    key     TEXT NOT NULL,         -- hash over everything that the result depends on
    screen  BLOB NOT NULL          -- msgpack
) WITHOUT ROWID;

-- Actions that a person decided about, each with the files as they were and as they became.
CREATE TABLE fix (
    id     TEXT PRIMARY KEY,       -- of the action
    time   TEXT NOT NULL,          -- ISO, UTC
    state  TEXT NOT NULL,          -- pending (being written), applied, undone, rejected
    fix    BLOB NOT NULL           -- msgpack
) WITHOUT ROWID;
