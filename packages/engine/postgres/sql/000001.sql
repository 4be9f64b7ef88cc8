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
  terms integer[] not null,
  -- Hashes of 20 bytes, one after another.
  blobs bytea not null,
  body bytea not null,
  primary key (thread, id, ns)
);

-- No pending list (fastupdate): every put inserts into the index at once and costs the same.
create index checkpoints_terms on :schema.checkpoints using gin (terms) with (fastupdate = off);
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

create index threads_early on :schema.threads (written_at) where not live and deleted_at = 0;

-- A table of its own, so that pruning and eviction keep the tags. Key and value are UTF-8 of at most 1,024 bytes each, so that an index
-- row holds both. Tags are compared as they are, never by a hash, because deletions rely on them.
create table :schema.thread_tags (
  thread bigint not null,
  key bytea not null,
  value bytea not null,
  primary key (thread, key, value)
);

create index thread_tags_by_tag on :schema.thread_tags (key, value, thread);

-- Who works on a thread, and until when. A lock that was given back stays until it is swept, so that its next holder's token is larger,
-- also if the clock goes back or another server takes over.
create table :schema.locks (
  name bytea primary key,
  holder bytea not null,
  token bigint not null,
  since timestamptz not null,
  until timestamptz not null
) with (fillfactor = 70);

-- Which shard this database is, so that it is never taken for another one. No row where it holds all threads.
create table :schema.shard (
  -- There is one row at most.
  is_here boolean primary key default true check (is_here),
  number integer not null,
  shards integer not null,
  family uuid not null,
  complete boolean not null default false
);

-- Threads by age that are still here: where most threads are archived, a walk through the others would have to pass over all of them.
create index threads_here on :schema.threads (written_at, thread) where live and not evicted;

comment on table :schema.migrations is 'Which files of sql/ were applied.';
comment on column :schema.migrations.breaking is 'Versions of the library that don''t know this migration must not work here any more.';
comment on table :schema.threads is 'One row per thread: its id, and the revision that every change counts up. Its row lock puts the writers of a thread in line.';
comment on column :schema.threads.thread is 'Number of the thread in all tables.';
comment on column :schema.threads.key is 'Its id: first byte 1 and 16 bytes of a UUID, 2 and UTF-8, or 3 and the SHA-256 of a long one. id_text() and id_key() convert.';
comment on column :schema.threads.long_id is 'The id in UTF-8, where it has over 512 bytes.';
comment on column :schema.threads.revision is 'Counted up by every change.';
comment on column :schema.threads.deleted_at is 'Revision of the last deletion; 0: never deleted.';
comment on column :schema.threads.removed_at is 'Revision of the last removal of blobs; 0: none.';
comment on column :schema.threads.live is 'It has a head. Tombstones, and threads with early pending writes alone, have none.';
comment on column :schema.threads.evicted is 'Its bytes were moved to another tier.';
comment on column :schema.threads.written_at is 'Last change, to the minute.';
comment on table :schema.heads is 'The newest checkpoint of each namespace of a thread: where the next run goes on.';
comment on column :schema.heads.ns is 'Key of the namespace; the root namespace is empty.';
comment on column :schema.heads.id is 'Key of the checkpoint.';
comment on table :schema.checkpoints is 'Records: checkpoints without the bytes of their values. docs/format.md describes body.';
comment on column :schema.checkpoints.ns is 'Key of the namespace; the root namespace is empty.';
comment on column :schema.checkpoints.lost_to is 'The checkpoint that won the head: this one is on a side branch.';
comment on column :schema.checkpoints.terms is 'Hashes of the leaves of its metadata, and of channels with a snapshot.';
comment on column :schema.checkpoints.blobs is 'Hashes of its values, 20 bytes each.';
comment on column :schema.checkpoints.body is 'Metadata and manifest: compressed, perhaps encrypted.';
comment on table :schema.blobs is 'Values by the hash of their content, within one thread: whole, or a patch on a base.';
comment on column :schema.blobs.base is 'Hash of the value that this patch stands on; null: the value is whole.';
comment on column :schema.blobs.bytes is 'Compressed, perhaps encrypted.';
comment on table :schema.writes is 'Batches of pending writes, one per putWrites. Their checkpoint may not be there yet.';
comment on column :schema.writes.seq is 'Revision of the thread when it arrived.';
comment on column :schema.writes.part is 'Its place in the request.';
comment on table :schema.long_ids is 'Ids of over 512 bytes, by their keys.';
comment on table :schema.leases is 'Who does a piece of maintenance now, and until when.';
comment on table :schema.thread_tags is 'Tags of threads: who and what each belongs to. Under encryption the values are keyed hashes.';
comment on column :schema.thread_tags.thread is 'Number of the thread in all tables.';
comment on column :schema.thread_tags.key is 'Name of the tag in UTF-8: convert_from(key, ''UTF8'').';
comment on column :schema.thread_tags.value is 'Its value in UTF-8: convert_from(value, ''UTF8'').';
comment on table :schema.locks is 'Who works on a thread now, and until when: withThread.';
comment on column :schema.locks.name is 'What is locked. Of a thread: "run/" and the SHA-256 of its id.';
comment on column :schema.locks.holder is 'Who has it, in UTF-8: convert_from(holder, ''UTF8'').';
comment on column :schema.locks.token is 'Grows from holder to holder.';
comment on column :schema.locks.since is 'When the holder got it.';
comment on column :schema.locks.until is 'When it ends unless it is prolonged.';
comment on table :schema.shard is 'Which of several databases this one is, where threads are spread over several.';
comment on column :schema.shard.is_here is 'Always true: there is one row at most.';
comment on column :schema.shard.number is 'Its place among the databases, from 0. It has the threads that are hashed to this number.';
comment on column :schema.shard.shards is 'How many databases there are.';
comment on column :schema.shard.family is 'A random id that all of them share.';
comment on column :schema.shard.complete is 'In the first of them: whether all of them have their row. Then none may be empty.';
