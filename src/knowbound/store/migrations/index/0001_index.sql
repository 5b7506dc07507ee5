-- The read model: one local SQLite file (.knowbound/index.db) that ranking, hooks and reports read, whatever the
-- backends. Written only by synchronisation and after every write to a backend of record.

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;  -- schema, stamp per backend

CREATE TABLE item (
    rowid       INTEGER PRIMARY KEY,
    id          TEXT NOT NULL,
    backend     TEXT NOT NULL,
    content     TEXT NOT NULL,     -- redacted and screened
    type        TEXT NOT NULL,
    source      TEXT NOT NULL,
    subject     TEXT NOT NULL,
    user        TEXT NOT NULL,
    timestamp   TEXT NOT NULL,
    confidence  REAL NOT NULL,
    quality     REAL NOT NULL DEFAULT 1.0,  -- the quality factor, 1 until something sets it
    flag        TEXT NOT NULL,     -- '' or a FlagKind
    served      INTEGER NOT NULL,  -- 0: never to be injected (flag, screening, a copy of such)
    stale       INTEGER NOT NULL,
    copy_of     TEXT NOT NULL,
    content_sha TEXT NOT NULL,     -- SHA-256 of the normalised content: exact duplicates, also across backends
    code        BLOB NOT NULL,     -- 256-bit sign code of the embedding (32 bytes)
    vector      BLOB NOT NULL,     -- int8 embedding (256 bytes)
    record      BLOB NOT NULL,     -- the whole Item as msgpack, redacted
    superseded_by TEXT NOT NULL DEFAULT '',
    anchor_file TEXT NOT NULL DEFAULT '',
    screened    TEXT NOT NULL DEFAULT '',  -- why screening keeps it back
    UNIQUE (id, backend)
);
CREATE INDEX item_sha ON item (content_sha);
CREATE INDEX item_copy ON item (copy_of) WHERE copy_of <> '';
CREATE INDEX item_subject ON item (subject);
CREATE INDEX item_flag ON item (flag) WHERE flag <> '';
CREATE INDEX item_successor ON item (superseded_by) WHERE superseded_by <> '';
CREATE INDEX item_anchor ON item (anchor_file) WHERE anchor_file <> '';

CREATE VIRTUAL TABLE item_text USING fts5 (
    content, subject, content='item', content_rowid='rowid', tokenize="porter unicode61 remove_diacritics 2"
);
CREATE TRIGGER item_added AFTER INSERT ON item BEGIN
    INSERT INTO item_text (rowid, content, subject) VALUES (new.rowid, new.content, new.subject);
END;
CREATE TRIGGER item_removed AFTER DELETE ON item BEGIN
    INSERT INTO item_text (item_text, rowid, content, subject) VALUES ('delete', old.rowid, old.content, old.subject);
END;
CREATE TRIGGER item_changed AFTER UPDATE OF content, subject ON item BEGIN
    INSERT INTO item_text (item_text, rowid, content, subject) VALUES ('delete', old.rowid, old.content, old.subject);
    INSERT INTO item_text (rowid, content, subject) VALUES (new.rowid, new.content, new.subject);
END;

-- What was injected, and every corrective call: append only.
CREATE TABLE injected (
    id          INTEGER PRIMARY KEY,
    session     TEXT NOT NULL, turn TEXT NOT NULL, prompt_id TEXT NOT NULL, time TEXT NOT NULL,
    prompt      TEXT NOT NULL,     -- truncated, redacted
    item        TEXT NOT NULL, backend TEXT NOT NULL,
    excerpt     TEXT NOT NULL,     -- the first 500 code points
    content_length INTEGER NOT NULL,
    confidence  REAL NOT NULL, rank INTEGER NOT NULL, score REAL NOT NULL,
    pool        TEXT NOT NULL      -- JSON: the candidates before ranking, so that rankers can be replayed
);
CREATE INDEX injected_session ON injected (session);
CREATE TABLE correction (
    id INTEGER PRIMARY KEY, item TEXT NOT NULL, tool TEXT NOT NULL, time TEXT NOT NULL, by TEXT NOT NULL,
    session TEXT NOT NULL, detail TEXT NOT NULL
);
CREATE INDEX correction_item ON correction (item);

-- What was taken out for good: neither it nor a late copy of it is served, and an import does not bring it back.
CREATE TABLE reaped (item TEXT NOT NULL, content_sha TEXT NOT NULL, time TEXT NOT NULL);
CREATE INDEX reaped_item ON reaped (item);
CREATE INDEX reaped_sha ON reaped (content_sha);

-- Items about to be written to a backend: left behind only by a process that was killed, and read again then.
CREATE TABLE pending (item TEXT PRIMARY KEY) WITHOUT ROWID;
