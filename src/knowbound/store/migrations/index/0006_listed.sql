-- What a session's index of the store is made of: the sure items of each subject by age. A subject's items are counted, and
-- its newest found, without reading the table.
CREATE INDEX item_listed ON item (subject, timestamp, id) WHERE served = 1 AND flag = '' AND stale = 0;
