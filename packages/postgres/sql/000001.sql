-- Tables of Stratigraph. ":schema" is replaced by the quoted schema name.
--
-- Ids are stored as bytea keys (src/wire/keys.ts): a UUID takes 17 bytes, other text its UTF-8, and ids over 512 bytes their
-- SHA-256, with the original in long_ids. Keys hold any text (NUL too) and keep every index row small.
-- :schema.id_text(key) shows a key as text.
--
-- threads has one row per thread. Every write of the thread updates that row first: its lock orders the writers of one thread,
-- and its revision tells whether anything changed.

create table :schema.threads (
  thread bigint generated always as identity primary key,
  key bytea not null,
  long_id bytea,
  revision bigint not null,
  -- Revision of the last deletion: a writer that read the thread before it is late.
  deleted_at bigint not null default 0,
  -- Revision of the last removal of blobs: what a writer read before it may be gone.
  removed_at bigint not null default 0,
  -- It has a head. Tombstones and threads with nothing but early pending writes have none.
  live boolean not null default false,
  evicted boolean not null default false,
  -- To the minute, so that most updates change no indexed column and stay in their page.
  written_at timestamptz not null,
  constraint threads_key unique (key)
) with (fillfactor = 70);

create index threads_by_age on :schema.threads (written_at, thread) where live;
create index threads_deleted on :schema.threads (written_at) where not live and deleted_at > 0;

create table :schema.heads (
  thread bigint not null,
  ns bytea not null,
  id bytea not null,
  primary key (thread, ns)
) with (fillfactor = 70);

create table :schema.checkpoints (
  thread bigint not null,
  id bytea not null,
  ns bytea not null,
  parent bytea,
  lost_to bytea,
  run bytea,
  tags integer[] not null,
  -- Hashes of 20 bytes, one after another.
  blobs bytea not null,
  body bytea not null,
  primary key (thread, id, ns)
);

-- No pending list (fastupdate): every put inserts into the index at once and costs the same.
create index checkpoints_tags on :schema.checkpoints using gin (tags) with (fastupdate = off);
create index checkpoints_run on :schema.checkpoints (run) where run is not null;
create index checkpoints_lost on :schema.checkpoints (thread) where lost_to is not null;

create table :schema.blobs (
  thread bigint not null,
  hash bytea not null,
  base bytea,
  bytes bytea not null,
  primary key (thread, hash)
);

create table :schema.writes (
  thread bigint not null,
  id bytea not null,
  ns bytea not null,
  -- The thread's revision when the batch arrived, then its place in the request.
  seq bigint not null,
  part integer not null,
  task bytea not null,
  blobs bytea not null,
  body bytea not null,
  primary key (thread, id, ns, seq, part)
);

create table :schema.long_ids (
  thread bigint not null,
  key bytea not null,
  id bytea not null,
  primary key (thread, key)
);

create index long_ids_by_key on :schema.long_ids (key);

-- Which process does a piece of maintenance, and until when.
create table :schema.leases (
  name bytea primary key,
  holder bytea not null,
  until timestamptz not null
);

-- These columns hold compressed bytes: compressing them again would cost time and gain nothing.
alter table :schema.checkpoints alter column body set storage external;
alter table :schema.blobs alter column bytes set storage external;
alter table :schema.writes alter column body set storage external;

-- An id key as text, for people.
create function :schema.id_text(key bytea) returns text language sql immutable parallel safe as $$
  select case
    when length(key) = 0 then ''
    when get_byte(key, 0) = 1 then encode(substring(key from 2), 'hex')::uuid::text
    when get_byte(key, 0) = 2 then encode(substring(key from 2), 'escape')
    else encode(key, 'hex')
  end
$$;

-- The checkpoints with readable ids, for people.
create view :schema.history as
  select :schema.id_text(t.key) as thread_id, :schema.id_text(c.ns) as checkpoint_ns, :schema.id_text(c.id) as checkpoint_id,
         :schema.id_text(c.parent) as parent_checkpoint_id, :schema.id_text(c.run) as run_id,
         :schema.id_text(c.lost_to) as lost_to, h.id is not null as head, length(c.body) as record_bytes, length(c.blobs) / 20 as values
    from :schema.checkpoints c
    join :schema.threads t using (thread)
    left join :schema.heads h on h.thread = c.thread and h.ns = c.ns and h.id = c.id;
