-- For SQLite and PostgreSQL alike: TEXT, BIGINT (times in milliseconds since 1970), BOOLEAN, JSON as TEXT.

-- The next row number. Taking one locks the row, so numbers become visible in their order.
CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO counters (name, value) VALUES ('rows', 0);

-- The inbox. `sender` is a forge's host, or `(own)` for events of our own.
CREATE TABLE deliveries (
    number BIGINT PRIMARY KEY,
    sender TEXT NOT NULL,
    delivery TEXT NOT NULL,
    content_key TEXT,
    lane TEXT NOT NULL,
    event TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'done', 'dead')),
    attempts BIGINT NOT NULL,
    run_at BIGINT NOT NULL,
    worker TEXT,
    lease_until BIGINT,
    error TEXT,
    filed_at BIGINT NOT NULL,
    ended_at BIGINT,
    UNIQUE (sender, delivery),
    UNIQUE (content_key)
);
CREATE INDEX deliveries_queued ON deliveries (lane, number) WHERE state = 'queued';
CREATE INDEX deliveries_dead ON deliveries (number) WHERE state = 'dead';

-- The outbox: what a delivery decided, in its order.
CREATE TABLE effects (
    delivery BIGINT NOT NULL REFERENCES deliveries (number),
    ordinal BIGINT NOT NULL,
    lane TEXT NOT NULL,
    effect TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'done', 'given-up')),
    attempts BIGINT NOT NULL,
    run_at BIGINT NOT NULL,
    worker TEXT,
    lease_until BIGINT,
    error TEXT,
    ended_at BIGINT,
    PRIMARY KEY (delivery, ordinal)
);
CREATE INDEX effects_waiting ON effects (lane, delivery, ordinal) WHERE state = 'waiting';
CREATE INDEX effects_given_up ON effects (delivery) WHERE state = 'given-up';

CREATE TABLE jobs (
    part TEXT NOT NULL,
    attempt BIGINT NOT NULL,
    number BIGINT NOT NULL,
    forge TEXT NOT NULL,
    repo_id BIGINT NOT NULL,
    lane TEXT NOT NULL,
    spec TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'ended', 'lost', 'cancelled')),
    starts BIGINT NOT NULL,
    run_at BIGINT NOT NULL,
    lease_until BIGINT,
    beaten BOOLEAN NOT NULL,
    cancel_asked BOOLEAN NOT NULL,
    doing TEXT NOT NULL,
    added_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    PRIMARY KEY (part, attempt)
);
CREATE INDEX jobs_alive ON jobs (number) WHERE state IN ('queued', 'running');

CREATE TABLE repos (
    forge TEXT NOT NULL,
    repo_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (forge, repo_id)
);

-- The commit of a branch that was last handled.
CREATE TABLE tips (
    forge TEXT NOT NULL,
    repo_id BIGINT NOT NULL,
    branch TEXT NOT NULL,
    tip TEXT NOT NULL,
    PRIMARY KEY (forge, repo_id, branch)
);

CREATE TABLE pulls (
    forge TEXT NOT NULL,
    repo_id BIGINT NOT NULL,
    pull BIGINT NOT NULL,
    memory TEXT NOT NULL,
    PRIMARY KEY (forge, repo_id, pull)
);

-- What notes asked people to approve, and since when they could read it.
CREATE TABLE shown_asks (
    forge TEXT NOT NULL,
    repo_id BIGINT NOT NULL,
    pull BIGINT NOT NULL,
    number BIGINT NOT NULL,
    gate TEXT NOT NULL,
    digest TEXT NOT NULL,
    shown_at BIGINT NOT NULL,
    PRIMARY KEY (forge, repo_id, pull, number)
);

-- `branch` is empty for a rollout of an open pull request.
CREATE TABLE rollouts (
    id TEXT PRIMARY KEY,
    number BIGINT NOT NULL,
    version BIGINT NOT NULL,
    forge TEXT NOT NULL,
    repo_id BIGINT NOT NULL,
    branch TEXT NOT NULL,
    is_open BOOLEAN NOT NULL,
    rollout TEXT NOT NULL
);
CREATE INDEX rollouts_open ON rollouts (forge, repo_id, branch, number) WHERE is_open;
CREATE INDEX rollouts_newest ON rollouts (number);

CREATE TABLE rollout_pulls (
    rollout TEXT NOT NULL REFERENCES rollouts (id),
    forge TEXT NOT NULL,
    repo_id BIGINT NOT NULL,
    pull BIGINT NOT NULL,
    PRIMARY KEY (forge, repo_id, pull, rollout)
);
