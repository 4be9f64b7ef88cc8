-- Setting up is one statement, so that one transaction and one lock hold all of it, also through a pooler.
-- The lock comes first: "create schema if not exists" races with itself.
do $stratigraph$
begin
  perform pg_advisory_xact_lock(hashtextextended('stratigraph setup', 0));
