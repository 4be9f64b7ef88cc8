-- Lock timeouts, a sweep of what dead writers left, and functions and views for people with psql.

-- A statement waits this long for a lock; then the client repeats it for as long as it was told to. The client's own timeout is longer.
-- So a statement whose client has given up doesn't wait in the server for long, and repetitions don't pile up there.
alter function :schema.append_1 set lock_timeout = '4s';
alter function :schema.remove_1 set lock_timeout = '4s';
alter function :schema.evict_1 set lock_timeout = '4s';
alter function :schema.delete_thread_1 set lock_timeout = '4s';
alter function :schema.copy_thread_1 set lock_timeout = '4s';
alter function :schema.fork_1 set lock_timeout = '4s';
alter function :schema.lease_1 set lock_timeout = '4s';

create index threads_early on :schema.threads (written_at) where not live and deleted_at = 0;

-- Deletes threads that nothing needs, oldest first, p_limit of each kind: those that never had a checkpoint and have not been written
-- for p_older_ms, and those that were deleted, or lost all their checkpoints, more than a week ago. A thread that is being written to
-- is locked and left alone; a later writer creates a new row. If blobs were deleted, the empty row stays for a week, so that a writer
-- that relies on these blobs is refused.
create function :schema.sweep_1(p_older_ms double precision, p_limit integer) returns integer
language plpgsql set lock_timeout = '4s' as $$
declare
  v_older interval := make_interval(secs => least(p_older_ms, 3e12) / 1000);
  -- Times are kept to the minute.
  v_early timestamptz := case when p_older_ms > 0 then date_trunc('minute', now() - v_older) else 'infinity' end;
  v_week timestamptz := date_trunc('minute', now() - greatest(v_older, interval '7 days'));
  v_threads bigint[];
  v_emptied bigint[];
begin
  v_threads := array(
    select t.thread from :schema.threads t
     where not t.live and t.deleted_at = 0 and t.written_at < case when t.removed_at = 0 then v_early else v_week end
       and not exists (select from :schema.heads h where h.thread = t.thread)
       and not exists (select from :schema.checkpoints c where c.thread = t.thread)
     order by t.written_at limit p_limit for update skip locked
  );
  -- Looked at again now that the rows are locked: a checkpoint may have come before that.
  v_threads := array(
    select u.thread from unnest(v_threads) as u (thread)
     where not exists (select from :schema.heads h where h.thread = u.thread)
       and not exists (select from :schema.checkpoints c where c.thread = u.thread)
  );
  v_emptied := array(
    select t.thread from :schema.threads t
     where t.thread = any (v_threads) and t.written_at >= v_week
       and exists (select from :schema.blobs b where b.thread = t.thread)
  );
  v_threads := v_threads || array(
    select t.thread from :schema.threads t
     where not t.live and t.deleted_at > 0 and t.written_at < v_week
     order by t.written_at limit p_limit for update skip locked
  );
  delete from :schema.writes w where w.thread = any (v_threads);
  delete from :schema.blobs b where b.thread = any (v_threads);
  delete from :schema.long_ids l where l.thread = any (v_threads);
  update :schema.threads t
     set revision = t.revision + 1, removed_at = t.revision + 1, written_at = date_trunc('minute', now())
   where t.thread = any (v_emptied);
  delete from :schema.threads t where t.thread = any (v_threads) and t.thread <> all (v_emptied);
  return cardinality(v_threads);
end
$$;

-- An id key as text, for people. An id with a NUL character, which text can't hold, and any id beyond ASCII in a database that
-- isn't UTF-8, is shown with escapes. An id of over 512 bytes is shown as its hash.
create or replace function :schema.id_text(key bytea) returns text language sql immutable parallel safe as $$
  select case
    when length(key) = 0 then ''
    when get_byte(key, 0) = 1 then encode(substring(key from 2), 'hex')::uuid::text
    when get_byte(key, 0) = 2 and position('\x00'::bytea in key) = 0 and getdatabaseencoding() = 'UTF8'
      then convert_from(substring(key from 2), 'UTF8')
    when get_byte(key, 0) = 2 then encode(substring(key from 2), 'escape')
    else encode(key, 'hex')
  end
$$;

-- The key of an id: the other way round.
create function :schema.id_key(id text) returns bytea language sql immutable parallel safe as $$
  select case
    when id = '' then ''::bytea
    when id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then '\x01'::bytea || decode(replace(id, '-', ''), 'hex')
    when length(convert_to(id, 'UTF8')) > 512 then '\x03'::bytea || sha256(convert_to(id, 'UTF8'))
    else '\x02'::bytea || convert_to(id, 'UTF8')
  end
$$;

-- When an id was made, where it tells: a UUID of version 6, as LangGraph's checkpoint ids are, or 7.
create function :schema.id_time(key bytea) returns timestamptz language sql immutable parallel safe as $$
  select case
    when length(key) <> 17 or get_byte(key, 0) <> 1 then null
    when get_byte(key, 7) / 16 = 6
      then to_timestamp(((('x0' || substring(digits for 12) || substring(digits from 14 for 3))::bit(64)::bigint) - 122192928000000000) / 1e7)
    when get_byte(key, 7) / 16 = 7 then to_timestamp(('x0000' || substring(digits for 12))::bit(64)::bigint / 1e3)
  end
  from encode(substring(key from 2), 'hex') as digits
$$;

-- LangGraph's metadata.source, recognised by its tag: tags are the hashes that list() filters by. Other metadata can't be shown this
-- way, as its values aren't known in advance.
create function :schema.source_of(tags integer[]) returns text language sql immutable parallel safe as $$
  select case
    when tags @> array[-924861548] then 'input'
    when tags @> array[1075280270] then 'loop'
    when tags @> array[-881371663] then 'update'
    when tags @> array[1806578396] then 'fork'
  end
$$;

-- The number of a thread, which indexes find it by, from its id.
create function :schema.thread_of(thread_id text) returns bigint language sql stable parallel safe as $$
  select t.thread from :schema.threads t where t.key = :schema.id_key(thread_id)
$$;

-- The columns of the first version come first and unchanged, so that its users can go on.
create or replace view :schema.history as
  select case when t.long_id is null then :schema.id_text(t.key) else :schema.id_text('\x02'::bytea || t.long_id) end as thread_id,
         :schema.id_text(c.ns) as checkpoint_ns, :schema.id_text(c.id) as checkpoint_id,
         :schema.id_text(c.parent) as parent_checkpoint_id, :schema.id_text(c.run) as run_id,
         :schema.id_text(c.lost_to) as lost_to, h.id is not null as head, length(c.body) as record_bytes, length(c.blobs) / 20 as values,
         :schema.id_time(c.id) as time, :schema.source_of(c.tags) as source,
         (select coalesce(sum(b.size), 0)
            from generate_series(1, length(c.blobs), 20) as o,
                 lateral (
                   select length(b.bytes) as size from :schema.blobs b
                    where b.thread = c.thread and b.hash = substring(c.blobs from o for 20) offset 0
                 ) as b) as value_bytes,
         (select count(*) from :schema.writes w where w.thread = c.thread and w.id = c.id and w.ns = c.ns) as pending_writes,
         c.thread
    from :schema.checkpoints c
    join :schema.threads t using (thread)
    left join :schema.heads h on h.thread = c.thread and h.ns = c.ns and h.id = c.id;

-- The checkpoints of one thread, newest first.
create function :schema.history_of(thread_id text) returns setof :schema.history language sql stable as $$
  select h.* from :schema.history h
   where h.thread = :schema.thread_of(history_of.thread_id)
   order by h.time desc nulls last, h.checkpoint_id desc, h.checkpoint_ns
$$;

-- One row per thread.
create view :schema.overview as
  select case when t.long_id is null then :schema.id_text(t.key) else :schema.id_text('\x02'::bytea || t.long_id) end as thread_id,
         t.written_at,
         (select count(*) from :schema.checkpoints c where c.thread = t.thread) as checkpoints,
         (select count(*) from :schema.writes w where w.thread = t.thread) as pending_writes,
         (select coalesce(sum(length(c.body)), 0) from :schema.checkpoints c where c.thread = t.thread)
           + (select coalesce(sum(length(b.bytes)), 0) from :schema.blobs b where b.thread = t.thread)
           + (select coalesce(sum(length(w.body)), 0) from :schema.writes w where w.thread = t.thread) as bytes,
         t.evicted, not t.live and t.deleted_at > 0 as deleted, t.thread
    from :schema.threads t;

comment on view :schema.history is 'Checkpoints with readable ids. All of one thread, by an index: select * from history_of(''thread id'').';
comment on column :schema.history.thread_id is 'To search for a thread use history_of(), or where thread = thread_of(''id''): no index finds this text.';
comment on column :schema.history.lost_to is 'The checkpoint that won the head: this one is on a side branch.';
comment on column :schema.history.head is 'It is the newest of its namespace, where the next run goes on.';
comment on column :schema.history.record_bytes is 'Bytes of its record: metadata, and values of up to 64 bytes.';
comment on column :schema.history.values is 'Channels whose value is a blob.';
comment on column :schema.history.time is 'When its id was made, by the clock of the process that made it. Null where the id is no UUID of version 6 or 7.';
comment on column :schema.history.source is 'LangGraph''s metadata.source, by the hash of it in tags. Step, next nodes and other metadata stand in the encoded body.';
comment on column :schema.history.value_bytes is 'Bytes of its blobs as stored: a patch counts with its own size, and what it stands on isn''t counted.';
comment on column :schema.history.pending_writes is 'Batches of pending writes, one per putWrites.';
comment on column :schema.history.thread is 'Number of the thread in all tables; thread_of(''id'') tells it.';
comment on view :schema.overview is 'One row per thread. Counts and bytes are read for the rows that are asked for: use where thread = thread_of(''id''), or limit.';
comment on column :schema.overview.written_at is 'Last change, to the minute.';
comment on column :schema.overview.bytes is 'Records, blobs and pending writes as stored.';
comment on column :schema.overview.evicted is 'Its bytes were moved to another tier; heads are here.';
comment on column :schema.overview.deleted is 'A tombstone: refuses late writes, and goes after a week.';

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
comment on column :schema.checkpoints.tags is 'Hashes of the leaves of its metadata, and of channels with a snapshot.';
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
comment on type :schema.read_row_1 is 'Rows of reads; sql/000002.sql says what the columns mean by kind.';
comment on function :schema.id_text is 'An id key as text.';
comment on function :schema.id_key is 'The key of an id.';
comment on function :schema.id_time is 'When an id was made, of UUIDs of version 6 and 7.';
comment on function :schema.source_of is 'LangGraph''s metadata.source, by tags.';
comment on function :schema.thread_of is 'The number of a thread, by its id. Null where there is none.';
comment on function :schema.history_of is 'The checkpoints of one thread, newest first.';
comment on function :schema.pieces_1 is 'The pieces of a packed argument.';
comment on function :schema.read_1 is 'One checkpoint or the head, with or without what it needs: peek, read.';
comment on function :schema.list_1 is 'A page of checkpoints: list.';
comment on function :schema.ancestry_1 is 'The parent chain of a checkpoint: the history of a DeltaChannel.';
comment on function :schema.append_1 is 'Records, blobs, pending writes and head moves of many requests: put, putWrites.';
comment on function :schema.remove_1 is 'Takes checkpoints and blobs away: prune.';
comment on function :schema.evict_1 is 'Drops the bytes of a thread and keeps its heads: archiving.';
comment on function :schema.delete_thread_1 is 'Drops a thread and leaves a tombstone: deleteThread.';
comment on function :schema.copy_thread_1 is 'All of a thread under another id: copyThread.';
comment on function :schema.outline_1 is 'What a fork is planned from.';
comment on function :schema.fork_1 is 'A part of a thread as a new thread: fork.';
comment on function :schema.threads_1 is 'A page of threads by age: listThreads.';
comment on function :schema.blobs_1 is 'The blobs of a thread without bytes: prune.';
comment on function :schema.long_ids_1 is 'The originals of long ids.';
comment on function :schema.lease_1 is 'Takes, prolongs or gives back a lease.';
comment on function :schema.sweep_1 is 'Takes away what dead writers and deletions left: maintenance.';
