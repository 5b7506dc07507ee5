-- A write that was begun: what it changes in the backends and logs here, as JSON. It goes with the write's last step, so
-- only a killed writer leaves one, and the next one completes it. (Earlier versions noted only the ids, in `pending`.)
CREATE TABLE intent (id INTEGER PRIMARY KEY, intent TEXT NOT NULL);
