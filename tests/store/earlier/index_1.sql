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

-- What was stored.
INSERT INTO meta (key, value) VALUES ('injected:2026-11-16.jsonl', '491');
INSERT INTO meta (key, value) VALUES ('made_by', '1.1.1');
INSERT INTO meta (key, value) VALUES ('stamp sqlite', 'c1cff6b0ea17444e:6');
INSERT INTO item (rowid, id, backend, content, type, source, subject, user, timestamp, confidence, quality, flag, served, stale, copy_of, content_sha, code, vector, record, superseded_by, anchor_file, screened) VALUES (1, 'k3eidft6khni', 'sqlite', 'The orders service listens on port 8080 behind the internal gateway.', 'fact', 'technical', '', '', '2026-11-16T08:38:31Z', 1.0, 1.0, '', 1, 0, '', 'ca7a91a9a3b54d767099fc1f0a66bcac2e6a69e69766d4cade7893d8fc00b4a8', X'396CC0916D1A00BCFFAB89689CBF68604EA83D21C17AD8100B51144BD1F5F95E', X'DCF0110C1CE4F217C60B3EF53C11CEF00D0AF6FAEEF4E6F124E1FE0AE7E2F416EA0C17F61A25F305E6FCF10617FE02FBFFFFC8F1D7F6D9F824E70B10120FE100191009240E050D0209FB2DFA24FB240521D3D0F906F8F10EF10704E802F5EEFE01FFE615061DE7D70FEF262612050925F70515D656FCF8E0F00E01E6C6CDE2E0F805FAE50E0502FE34F101F001EAF8F0ECE402080106FC1AF9FF19EECFE6D6182E04FAE6F7E6E618F6050A041DEA0CEF210DFA0814E7EFF7F8C5EC1BCDEEE7FCE8EEFCEB0EF304020023D211F8D8EA1DD1FACD06F109EACCFF06F8FC0FE007031919CC08F3CEFA400E0B1D12FB20D61A200210222AFBF715D82DF809241604FA', X'84A26964AC6B336569646674366B686E69A7636F6E74656E74D944546865206F72646572732073657276696365206C697374656E73206F6E20706F7274203830383020626568696E642074686520696E7465726E616C20676174657761792EA974696D657374616D70B4323032362D31312D31365430383A33383A33315AAA636F6E666964656E6365CB3FF0000000000000', '', '', '');
INSERT INTO item (rowid, id, backend, content, type, source, subject, user, timestamp, confidence, quality, flag, served, stale, copy_of, content_sha, code, vector, record, superseded_by, anchor_file, screened) VALUES (2, 'k7uj4cbcbhqk', 'sqlite', 'Failed payment webhooks are retried three times.', 'fact', 'technical', '', '', '2026-11-16T08:38:32Z', 1.0, 1.0, 'SUPERSEDED', 0, 0, '', '68da0e2ab5c2e43111e00f6d2b9304ebd23460b590098145365296a51d5c01ba', X'44B53BA0C3FD362D291ED110C6B5A2B0CF51D84094B6B9A1FB384461C1503C83', X'EE26E100FE09EEF715F10415EA0AEB10FEF61D0E10F81A0313E610FAC6E9F7F6041DCDE9DBFE1501030507140E14EC01C2F40705FD0E13EBF9F312F9021ED90DDFD901FF12E9FB3FE500F80214101EC9330AFD1EE9D9E80CF7CEED0CFBEDEAEB3415CBFEF60106F40AEB1505F706FA1802FE36C9F6F3030003F00813E3F9D5001525F7E127162423FA13EF2AECFEE12C1007EE0214FAF0C5DE24F9F4E1D9DACA16F3D608EB02EAF10EF91E11EE110BE31AE0220111D9BD0709E612E1F9FAE611010D0D1708ED1019ECFB072414E3F1FFD709D2F8F104C5F4DF2A16F4F3FFB920081CF4CEF3F4E408E309F432E8F7EAEAECED2F102A0CD2E117FADEF8FDE30701', X'85A26964AC6B37756A346362636268716BA7636F6E74656E74D9304661696C6564207061796D656E7420776562686F6F6B732061726520726574726965642074687265652074696D65732EA974696D657374616D70B4323032362D31312D31365430383A33383A33325AAA636F6E666964656E6365CB3FF0000000000000A4666C616784A46B696E64AA53555045525345444544A464617465B4323032362D31312D31365430383A33383A33365AA26279A4726F6F74AD737570657273656465645F6279AC6B6566796D757A6235336266', 'kefymuzb53bf', '', '');
INSERT INTO item (rowid, id, backend, content, type, source, subject, user, timestamp, confidence, quality, flag, served, stale, copy_of, content_sha, code, vector, record, superseded_by, anchor_file, screened) VALUES (3, 'kp7i7cjy4fdd', 'sqlite', 'Sessions are kept for 30 days.', 'fact', 'technical', '', '', '2026-11-16T08:38:33Z', 1.0, 1.0, 'DELETED', 0, 0, '', 'd546c7ba115107ea0f8a66d24bd85daa5ad1778131d6f08b8f74f90bf6ba4d1b', X'0B8893E7DF57CF1DD36F72ADC8E5E54109781F053932641D7F1A8CD7366C94DD', X'F8F6F10001FE0F0C1CFDDDF30AF6FEFC05F1F81FC6E0080B12101DDDE81215061201E415220A110DF623E80CF62E02132E20EAF715292627E3DBF70F2209DE15081EA707F2F00621E4040EF80D15231DF50A153CEDE202F613D003F40F1CDB1C0B14FACF13E000EE062907F4CC13F114252706FCFE11F801FB1CD4FBFEE5001EE8ECE2D90AF5EF13E70222150DEFFBE4E8FFFB1E2F22030EE5EE00E3FD14F614F1E7040613C9E322E1D60F2CCFEB24D9FB120FE4F60CD7F4F1F2EE131103EE10F10E0E0514171519FAF1001105E903D122E8CACE2121E8FC1E17CF14ED0B3618CEEA3412FA0E01F1F73001FE030CE3002500F612F31300F11621F6181E19EF36', X'85A26964AC6B70376937636A7934666464A7636F6E74656E74BE53657373696F6E7320617265206B65707420666F7220333020646179732EA974696D657374616D70B4323032362D31312D31365430383A33383A33335AAA636F6E666964656E6365CB3FF0000000000000A4666C616783A46B696E64A744454C45544544A464617465B4323032362D31312D31365430383A33383A33375AA26279A4726F6F74', '', '', '');
INSERT INTO item (rowid, id, backend, content, type, source, subject, user, timestamp, confidence, quality, flag, served, stale, copy_of, content_sha, code, vector, record, superseded_by, anchor_file, screened) VALUES (4, 'kefymuzb53bf', 'sqlite', 'Failed payment webhooks are retried five times.', 'fact', 'technical', '', '', '2026-11-16T08:38:35Z', 1.0, 1.0, '', 1, 0, '', '8ab44987ac6d1df8f5dcb7a9b93f6560af3a129cd9a949ee5f6475e6be01d83b', X'44B57AA0C3FD6E0D295ED110C2B76230CF59585091B4B9A173384079C1503883', X'ED26DFFFF712FCF115F20A13EA0EF518FA07131411EF26FF12F50500E2F6F5F00A12CCEAE4FD150D0A0505151519F601C70405FC010210E1F9FDFDFC081ED801E8E607F606F0F937EE04F702200E20C23A1AFD21F2DEF516E1C0ED16FEEEE3E83607C9EFFBFF0FE707EE2418EF160C28F80330C8FDF80CEFFEEC090DE2F0E1001F3000E837172522F301EE2C04FEEF1DFB08E1111BFDEECCEE19EC07F2D6CED51AF6CC11E7EFF50716F9310DE606FEEB05DA160401E1B8060BE009F2FEF7E71DFB0B0914FEF4210FEDFD06202AE0EEF7E516CDF3EDF4D5FFEF2C14080CF6C7280A1FF5DDF6FDDF01D50BED3BE8F9F3EDF0F0242324FED1F00FF3E0F8E7DC0916', X'85A26964AC6B6566796D757A6235336266A7636F6E74656E74D92F4661696C6564207061796D656E7420776562686F6F6B7320617265207265747269656420666976652074696D65732EA974696D657374616D70B4323032362D31312D31365430383A33383A33355AAA636F6E666964656E6365CB3FF0000000000000AD72656C6174696F6E73686970739182A46B696E64AA73757065727365646573A6746172676574AC6B37756A346362636268716B', '', '', '');
INSERT INTO injected (id, session, turn, prompt_id, time, prompt, item, backend, excerpt, content_length, confidence, rank, score, pool) VALUES (1, 's1', '', '', '2026-11-16T08:38:37Z', 'On which port does the orders service listen?', 'k3eidft6khni', 'sqlite', 'The orders service listens on port 8080 behind the internal gateway.', 68, 1.0, 1, 0.90576, '[["k3eidft6khni","sqlite","ca7a91a9a3b54d76",0.9974,0.7683,1.0,1.0,1.0,"",false],["kefymuzb53bf","sqlite","8ab44987ac6d1df8",0.0,0.0906,1.0,1.0,1.0,"",false]]');
INSERT INTO correction (id, item, tool, time, by, session, detail) VALUES (1, 'k7uj4cbcbhqk', 'kms_supersede', '2026-11-16T08:38:36Z', 'root', '', '{"superseded_by":"kefymuzb53bf","note":""}');
INSERT INTO correction (id, item, tool, time, by, session, detail) VALUES (2, 'kp7i7cjy4fdd', 'kms_delete', '2026-11-16T08:38:37Z', 'root', '', '{"flag":"DELETED","note":""}');
PRAGMA user_version = 1;
