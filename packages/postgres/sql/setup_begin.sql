-- Setting up is one statement, so that one transaction and one lock hold all of it, also through a pooler.
-- The lock comes first: "create schema if not exists" races with itself. Waiting for it has an end, for this statement alone.
do $stratigraph$
declare
  v_lock_timeout text := current_setting('lock_timeout');
begin
  perform set_config('lock_timeout', '30s', true);
  perform pg_advisory_xact_lock(hashtextextended('stratigraph setup', 0));
