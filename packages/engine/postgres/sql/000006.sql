-- Items of stores: long-term memory that threads share. They belong to no thread.

-- A namespace is its labels, each in UTF-8 and ended by a NUL, so that those that begin with certain labels are a range of the index.
create table :schema.item_namespaces (
  ns bigint generated always as identity primary key,
  path bytea not null,
  constraint item_namespaces_path unique (path)
);

create table :schema.items (
  ns bigint not null,
  key bytea not null,
  long_key bytea,
  -- Counted up by every change of any item.
  version bigint generated always as identity,
  -- The scalars among the top-level fields of the value, which a search is narrowed by.
  fields jsonb not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  expires_at timestamptz,
  value bytea not null,
  primary key (ns, key)
);

create unique index items_by_version on :schema.items (version);
create index items_fields on :schema.items using gin (fields jsonb_path_ops);
create index items_expiring on :schema.items (expires_at) where expires_at is not null;
alter table :schema.items alter column value set storage external;

-- Changes items, all or none. changes: [{"path", "key", "long", "start", "length", "fields", "ttl"}], of which start and length point into
-- contents; no length: deletes. ttl in milliseconds. Versions follow the order of place.
--
-- Two calls that change the same items take turns. Rows can't be locked for that, because some don't exist yet. So each call first takes
-- locks by hashes of its items, in one order. There are few of them, as a transaction can't hold many.
create function :schema.change_items_1(changes jsonb, contents bytea) returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock(1769237861, s.lock)
     from (select distinct hashtext(encode(c.path || c.key, 'hex')) & 255 as lock
             from jsonb_to_recordset(changes) as c (path bytea, key bytea)
            order by 1
           offset 0) as s;

  delete from :schema.items i
   using jsonb_to_recordset(changes) as c (path bytea, key bytea, length integer), :schema.item_namespaces n
   where c.length is null and n.path = c.path and i.ns = n.ns and i.key = c.key;

  insert into :schema.item_namespaces (path)
  select distinct c.path
    from jsonb_to_recordset(changes) as c (path bytea, length integer)
   where c.length is not null and not exists (select from :schema.item_namespaces n where n.path = c.path)
   order by c.path
      on conflict do nothing;

  insert into :schema.items as i (ns, key, long_key, fields, created_at, updated_at, expires_at, value)
  select n.ns, c.key, c.long, c.fields, now(), now(),
         now() + make_interval(secs => c.ttl / 1000), substring(contents from c.start for c.length)
    from jsonb_to_recordset(changes)
           as c (place integer, path bytea, key bytea, long bytea, start integer, length integer, fields jsonb, ttl double precision)
    join :schema.item_namespaces n using (path)
   where c.length is not null
   order by c.place
      on conflict (ns, key) do update
     set version = default, fields = excluded.fields, updated_at = excluded.updated_at, expires_at = excluded.expires_at,
         value = excluded.value,
         created_at = case when i.expires_at <= now() then excluded.created_at else i.created_at end;
end
$$;

-- Removes items whose time to live has passed, at most so many. Their namespaces stay: a change that begins meanwhile may need them.
create function :schema.sweep_items_1(most integer) returns bigint language plpgsql as $$
declare
  swept bigint;
begin
  with expired as (
    select i.ns, i.key from :schema.items i where i.expires_at <= now() order by i.expires_at limit most for update skip locked
  )
  delete from :schema.items i using expired e where i.ns = e.ns and i.key = e.key;
  get diagnostics swept = row_count;
  return swept;
end
$$;

comment on function :schema.change_items_1 is 'Puts and deletes items of stores.';
comment on function :schema.sweep_items_1 is 'Removes items whose time to live has passed.';
comment on table :schema.items is 'Items of stores. They belong to no thread.';
comment on table :schema.item_namespaces is 'Namespaces of items; some may have no items any more.';
comment on column :schema.item_namespaces.path is 'Each label in UTF-8, and a NUL after it.';
comment on column :schema.items.key is 'As the ids of threads: id_text() shows it.';
comment on column :schema.items.long_key is 'The key in UTF-8, where it has over 512 bytes.';
comment on column :schema.items.version is 'Larger than that of every earlier change.';
comment on column :schema.items.fields is 'The scalars among the value''s top-level fields; [] stands for anything else.';
comment on column :schema.items.value is 'The encoded value; docs/format.md.';
