-- When each repository is looked at for what its forge never delivered, and what was seen there last: the newest change
-- by the forge's clock, and where branches stood.
CREATE TABLE looks (
    forge TEXT NOT NULL,
    repo_id BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    lease_until BIGINT,
    failures BIGINT NOT NULL,
    seen_until BIGINT NOT NULL,
    tips TEXT NOT NULL,
    looked_at BIGINT,
    PRIMARY KEY (forge, repo_id)
);
CREATE INDEX looks_due ON looks (forge, due_at);
