-- Rows for pages, one turn and `forget`, made of `session` and `audited`: nobody walks over all findings to show fifty.
-- store/listing.py makes them, when somebody asks; until then the changed keys wait in `unlisted`.

CREATE TABLE listed_session (
    id       INTEGER PRIMARY KEY,
    key      TEXT NOT NULL,        -- as in `session` and `audited`; a file with several sessions has one key for all
    session  TEXT NOT NULL,
    agent    TEXT NOT NULL,
    project  TEXT NOT NULL,        -- its name
    folder   TEXT NOT NULL,
    started  TEXT NOT NULL,
    ended    TEXT NOT NULL,
    turns    INTEGER NOT NULL,
    calls    INTEGER NOT NULL,
    signals  INTEGER NOT NULL,
    open     INTEGER NOT NULL,     -- of the signals
    audited  INTEGER NOT NULL      -- turns
);
CREATE INDEX listed_session_key ON listed_session (key);
CREATE INDEX listed_session_session ON listed_session (session, id);
CREATE INDEX listed_session_ended ON listed_session (ended, id);
CREATE INDEX listed_session_project ON listed_session (project, ended, id);
CREATE INDEX listed_session_agent ON listed_session (agent, ended, id);

-- The names that signals of a session are about: the sessions of a topic.
CREATE TABLE listed_name (
    name     TEXT NOT NULL,
    id       INTEGER NOT NULL,
    PRIMARY KEY (name, id)
) WITHOUT ROWID;
CREATE INDEX listed_name_id ON listed_name (id);

-- Audited turns.
CREATE TABLE listed_turn (
    id         INTEGER NOT NULL,
    turn       INTEGER NOT NULL,
    time       TEXT NOT NULL,
    project    TEXT NOT NULL,
    diagnosis  TEXT NOT NULL,
    PRIMARY KEY (id, turn)
) WITHOUT ROWID;
CREATE INDEX listed_turn_time ON listed_turn (time, id, turn);
CREATE INDEX listed_turn_project ON listed_turn (project, time, id, turn);
CREATE INDEX listed_turn_diagnosis ON listed_turn (diagnosis, time, id, turn);
CREATE INDEX listed_turn_both ON listed_turn (project, diagnosis, time, id, turn);

CREATE TABLE unlisted (key TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO unlisted SELECT key FROM session UNION SELECT key FROM audited;
CREATE TRIGGER session_added AFTER INSERT ON session BEGIN INSERT OR IGNORE INTO unlisted VALUES (new.key); END;
CREATE TRIGGER session_changed AFTER UPDATE ON session BEGIN INSERT OR IGNORE INTO unlisted VALUES (new.key); END;
CREATE TRIGGER session_removed AFTER DELETE ON session BEGIN INSERT OR IGNORE INTO unlisted VALUES (old.key); END;
CREATE TRIGGER audited_added AFTER INSERT ON audited BEGIN INSERT OR IGNORE INTO unlisted VALUES (new.key); END;
CREATE TRIGGER audited_changed AFTER UPDATE ON audited BEGIN INSERT OR IGNORE INTO unlisted VALUES (new.key); END;
CREATE TRIGGER audited_removed AFTER DELETE ON audited BEGIN INSERT OR IGNORE INTO unlisted VALUES (old.key); END;
