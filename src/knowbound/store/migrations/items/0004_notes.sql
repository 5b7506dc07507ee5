-- What the whole team has to know about measuring beside turns and days (specification 2, section 6): where the rollout is,
-- and what the last replay found. MongoDB has the same as a collection of the same name.

CREATE TABLE kms_quality_note (
    name     TEXT PRIMARY KEY,
    document TEXT NOT NULL  -- JSON
) WITHOUT ROWID;
