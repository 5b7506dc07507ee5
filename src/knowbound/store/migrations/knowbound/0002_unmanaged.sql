-- What others told the agents, as far as traces show it: items of an unmanaged source. They can be measured like our own,
-- and nothing is ever injected from here.
CREATE TABLE unmanaged (
    id              TEXT PRIMARY KEY,  -- u and 12 hex digits of the SHA-256 over what is known of it
    source          TEXT NOT NULL,     -- hook:UserPromptSubmit, nested_memory, instructions, …
    path            TEXT NOT NULL,     -- the file it came from, where the trace names one
    excerpt         TEXT NOT NULL,     -- the first 500 code points, redacted
    content_length  INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE unmanaged_injection (
    item     TEXT NOT NULL REFERENCES unmanaged (id),
    session  TEXT NOT NULL,            -- reader and session id
    turn     INTEGER NOT NULL,
    time     TEXT NOT NULL,
    PRIMARY KEY (item, session, turn)
) WITHOUT ROWID;
