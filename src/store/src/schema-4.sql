CREATE TABLE requests (
  task BLOB NOT NULL CHECK (length(task) = 16),
  number INTEGER NOT NULL CHECK (number >= 0),
  attempt BLOB NOT NULL CHECK (length(attempt) = 16),
  kind INTEGER NOT NULL CHECK (kind >= 0),
  digest BLOB NOT NULL CHECK (length(digest) = 16),
  state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 3),
  asked_at INTEGER NOT NULL,
  expires_at INTEGER,
  closed_at INTEGER,
  content TEXT NOT NULL CHECK (json_valid(content)),
  answer TEXT CHECK (json_valid(answer)),
  PRIMARY KEY (task, number),
  CHECK ((state = 0) = (closed_at IS NULL)),
  CHECK ((state = 1) = (answer IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX requests_open ON requests (asked_at) WHERE state = 0;

CREATE TABLE rules (
  id INTEGER PRIMARY KEY CHECK (id > 0),
  scope INTEGER NOT NULL CHECK (scope BETWEEN 0 AND 2),
  folder TEXT,
  tool TEXT NOT NULL,
  pattern TEXT NOT NULL CHECK (json_valid(pattern)),
  effect INTEGER NOT NULL CHECK (effect IN (0, 1)),
  created_at INTEGER NOT NULL,
  from_task BLOB NOT NULL CHECK (length(from_task) = 16),
  from_number INTEGER NOT NULL CHECK (from_number >= 0),
  CHECK ((scope = 1) = (folder IS NOT NULL))
) STRICT;
ALTER TABLE tasks ADD COLUMN inherited INTEGER NOT NULL DEFAULT 0 CHECK (inherited >= 0);
ALTER TABLE tasks ADD COLUMN workspace TEXT CHECK (workspace <> '');
CREATE INDEX tasks_workspace ON tasks (workspace) WHERE live = 1 AND workspace IS NOT NULL;
ALTER TABLE attempts ADD COLUMN workspace TEXT CHECK (workspace <> '');
ALTER TABLE attempts ADD COLUMN delivered INTEGER NOT NULL DEFAULT 0 CHECK (delivered IN (0, 1));

CREATE TABLE messages (
  task BLOB NOT NULL CHECK (length(task) = 16),
  number INTEGER NOT NULL CHECK (number > 0),
  at INTEGER NOT NULL,
  key BLOB CHECK (length(key) = 16),
  request BLOB CHECK (length(request) = 16),
  place INTEGER CHECK (place > 0),
  text TEXT NOT NULL,
  PRIMARY KEY (task, number),
  CHECK ((key IS NULL) = (request IS NULL))
) STRICT, WITHOUT ROWID;
