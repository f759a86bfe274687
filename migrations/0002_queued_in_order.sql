-- A claim looks for the oldest that waits: it walks over what waits, never over what is done.
CREATE INDEX deliveries_in_order ON deliveries (number) WHERE state = 'queued';
CREATE INDEX effects_in_order ON effects (delivery, ordinal) WHERE state = 'waiting';
