CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tasks (
  number INTEGER PRIMARY KEY CHECK (number > 0),
  id BLOB NOT NULL CHECK (length(id) = 16),
  live INTEGER NOT NULL CHECK (live = (state < 2)),
  state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 4),
  kind INTEGER NOT NULL CHECK (kind >= 0),
  priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 3),
  attempt BLOB CHECK (length(attempt) = 16),
  outcome TEXT CHECK (json_valid(outcome)),
  settled_at INTEGER,
  hold INTEGER CHECK (hold >= 0),
  not_before INTEGER,
  comes_after BLOB CHECK (length(comes_after) > 0 AND length(comes_after) % 16 = 0),
  rerun INTEGER NOT NULL CHECK (rerun IN (0, 1)),
  retries INTEGER NOT NULL CHECK (retries >= 0),
  timeout INTEGER CHECK (timeout >= 0),
  isolation INTEGER NOT NULL CHECK (isolation IN (0, 1)),
  attempts INTEGER NOT NULL CHECK (attempts >= 0),
  retried INTEGER NOT NULL CHECK (retried >= 0),
  crashes INTEGER NOT NULL CHECK (crashes >= 0),
  cancel_at INTEGER,
  cancel_grace INTEGER CHECK (cancel_grace >= 0),
  retry_of BLOB CHECK (length(retry_of) = 16),
  submitted_at INTEGER NOT NULL,
  CHECK ((state = 1) = (attempt IS NOT NULL)),
  CHECK ((state >= 2) = (settled_at IS NOT NULL)),
  CHECK ((settled_at IS NULL) = (outcome IS NULL)),
  CHECK ((cancel_at IS NULL) = (cancel_grace IS NULL))
) STRICT;

CREATE UNIQUE INDEX tasks_id ON tasks (live, id);

CREATE TABLE task_specs (
  number INTEGER PRIMARY KEY,
  spec BLOB NOT NULL
) STRICT;

CREATE TABLE contents (
  hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  bytes BLOB
) STRICT;

CREATE TABLE attempts (
  task BLOB NOT NULL CHECK (length(task) = 16),
  ordinal INTEGER NOT NULL CHECK (ordinal > 0),
  id BLOB NOT NULL CHECK (length(id) = 16),
  generation INTEGER NOT NULL CHECK (generation >= 0),
  worker INTEGER NOT NULL CHECK (worker >= 0),
  started_at INTEGER NOT NULL,
  isolation INTEGER NOT NULL CHECK (isolation IN (0, 1)),
  released INTEGER NOT NULL CHECK (released IN (0, 1)),
  sequence INTEGER NOT NULL CHECK (sequence >= 0),
  report TEXT CHECK (json_valid(report)),
  ended_at INTEGER,
  PRIMARY KEY (task, ordinal)
) STRICT, WITHOUT ROWID;

CREATE INDEX attempts_open ON attempts (task) WHERE ended_at IS NULL;

CREATE TABLE processes (
  id BLOB PRIMARY KEY CHECK (length(id) = 16),
  boot_id BLOB NOT NULL CHECK (length(boot_id) = 16),
  namespace INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  start_ticks INTEGER NOT NULL,
  pidfd_inode INTEGER,
  role INTEGER NOT NULL CHECK (role >= 0),
  generation INTEGER NOT NULL CHECK (generation >= 0),
  worker INTEGER NOT NULL CHECK (worker >= 0),
  attempt BLOB CHECK (length(attempt) = 16),
  command TEXT NOT NULL,
  recorded_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE keys (
  number INTEGER PRIMARY KEY,
  key BLOB NOT NULL CHECK (length(key) = 16),
  request BLOB NOT NULL CHECK (length(request) = 16),
  task BLOB NOT NULL CHECK (length(task) = 16),
  at INTEGER NOT NULL
) STRICT;

CREATE TABLE events (
  seq INTEGER PRIMARY KEY CHECK (seq > 0),
  at INTEGER NOT NULL,
  number INTEGER,
  task BLOB CHECK (length(task) = 16),
  body TEXT NOT NULL CHECK (json_valid(body)),
  CHECK ((number IS NULL) = (task IS NULL))
) STRICT;

CREATE INDEX events_task ON events (number) WHERE number IS NOT NULL;

CREATE TABLE quarantine (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  source TEXT NOT NULL,
  reason TEXT NOT NULL,
  row TEXT NOT NULL CHECK (json_valid(row))
) STRICT;
