  create table if not exists :schema.migrations (
    id integer primary key,
    -- A version of the library older than this migration must not work on the schema any more.
    breaking boolean not null default false,
    applied_at timestamptz not null default now()
  );
