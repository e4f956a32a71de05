ALTER TABLE tasks ADD COLUMN root BLOB CHECK (length(root) = 16);
ALTER TABLE tasks ADD COLUMN park TEXT CHECK (json_valid(park));
ALTER TABLE tasks ADD COLUMN max_cost INTEGER CHECK (max_cost >= 0);

CREATE TABLE usage_attempts (
  id BLOB PRIMARY KEY CHECK (length(id) = 16),
  task BLOB NOT NULL CHECK (length(task) = 16),
  number INTEGER NOT NULL CHECK (number > 0),
  root BLOB NOT NULL CHECK (length(root) = 16),
  attempt BLOB NOT NULL CHECK (length(attempt) = 16),
  call INTEGER NOT NULL CHECK (call > 0),
  ordinal INTEGER NOT NULL CHECK (ordinal > 0),
  route TEXT NOT NULL,
  generation INTEGER NOT NULL CHECK (generation >= 0),
  state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 4),
  bound INTEGER NOT NULL CHECK (bound >= 0),
  basis INTEGER NOT NULL CHECK (basis BETWEEN 0 AND 2),
  total_limit INTEGER CHECK (total_limit >= 0),
  reserved_at INTEGER NOT NULL,
  ended_at INTEGER,
  answer INTEGER CHECK (answer BETWEEN 0 AND 2),
  cost INTEGER CHECK (cost >= 0),
  cost_source INTEGER CHECK (cost_source BETWEEN 0 AND 4),
  input INTEGER CHECK (input >= 0),
  cached INTEGER CHECK (cached >= 0),
  cache_write INTEGER CHECK (cache_write >= 0),
  cache_write_long INTEGER CHECK (cache_write_long >= 0),
  output INTEGER CHECK (output >= 0),
  reasoning INTEGER CHECK (reasoning >= 0),
  model TEXT,
  provider_request TEXT,
  late INTEGER NOT NULL CHECK (late IN (0, 1)),
  CHECK ((state < 2) = (ended_at IS NULL)),
  CHECK ((state = 2) = (answer IS NOT NULL)),
  CHECK ((answer IS NULL) = (model IS NULL)),
  CHECK ((cost IS NULL) = (cost_source IS NULL)),
  CHECK (cost IS NULL OR answer IS NOT NULL),
  CHECK (late = 0 OR state = 2)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_attempts_open ON usage_attempts (state) WHERE state < 2;
CREATE INDEX usage_attempts_root ON usage_attempts (root);
CREATE INDEX usage_attempts_task ON usage_attempts (task);
CREATE INDEX usage_attempts_time ON usage_attempts (reserved_at);
