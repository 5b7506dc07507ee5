-- The audited turns of each session: claims, findings, one diagnosis a turn. They are made again when `state` changes.
CREATE TABLE audited (
    key       TEXT PRIMARY KEY,    -- as in `session`: reader, session id, hash over the paths
    state     TEXT NOT NULL,       -- hash over files and rules
    sessions  BLOB NOT NULL        -- list of AuditedSession (msgpack)
) WITHOUT ROWID;
