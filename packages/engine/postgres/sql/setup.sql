-- The parts of the statement that sets a schema up; src/schema/statements.ts joins them.

-- name: setupBegin
-- Setting up is one statement, so that one transaction and one lock hold all of it, also through a pooler.
-- The lock comes first: "create schema if not exists" races with itself. Waiting for it has an end, for this statement alone.
do $stratigraph$
declare
  v_lock_timeout text := current_setting('lock_timeout');
begin
  perform set_config('lock_timeout', '30s', true);
  perform pg_advisory_xact_lock(hashtextextended('stratigraph setup', 0));

-- name: setupSchema
  -- "create schema if not exists" alone needs the right to create schemas where the schema exists, too.
  if not exists (select from pg_namespace where nspname = :schema_name) then
    create schema if not exists :schema;
  end if;

-- name: setupMigrations
  create table if not exists :schema.migrations (
    id integer primary key,
    -- A version of the library older than this migration must not work on the schema any more.
    breaking boolean not null default false,
    applied_at timestamptz not null default now()
  );

-- name: setupMigration
  if not exists (select from :schema.migrations where id = :id) then
    insert into :schema.migrations (id) values (:id);
    execute $migration$
:text
    $migration$;
  end if;

-- name: setupEnd
  perform set_config('lock_timeout', v_lock_timeout, true);
end
$stratigraph$;
