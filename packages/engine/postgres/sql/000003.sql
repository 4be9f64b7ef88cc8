-- Writes: appends, removals, tags, leases and locks.
--
-- A statement waits four seconds for a lock; then the client repeats it for as long as it was told to. The client's own timeout is
-- longer. So a statement whose client has given up doesn't wait in the server for long, and repetitions don't pile up there.

-- Deletes all bytes of a thread and keeps its heads, if the thread is still at p_revision.
create function :schema.evict_1(p_key bytea, p_revision bigint) returns boolean language plpgsql set lock_timeout = '4s' as $$
declare
  v_thread bigint;
begin
  update :schema.threads t set revision = p_revision + 1, removed_at = p_revision + 1, evicted = true
   where t.key = p_key and t.revision = p_revision returning t.thread into v_thread;
  if not found then return false; end if;
  delete from :schema.checkpoints where thread = v_thread;
  delete from :schema.writes where thread = v_thread;
  delete from :schema.blobs where thread = v_thread;
  return true;
end
$$;

-- Deletes a thread and leaves a tombstone; also deletes a few tombstones older than a week.
create function :schema.delete_thread_1(p_key bytea) returns void language plpgsql set lock_timeout = '4s' as $$
declare
  v_thread bigint;
begin
  update :schema.threads t
     set revision = t.revision + 1, deleted_at = t.revision + 1, removed_at = t.revision + 1, live = false, evicted = false,
         written_at = date_trunc('minute', now())
   where t.key = p_key returning t.thread into v_thread;
  if found then
    delete from :schema.checkpoints where thread = v_thread;
    delete from :schema.writes where thread = v_thread;
    delete from :schema.blobs where thread = v_thread;
    delete from :schema.heads where thread = v_thread;
    delete from :schema.long_ids where thread = v_thread;
  end if;
  with old as (
    select t.thread from :schema.threads t
     where not t.live and t.deleted_at > 0 and t.written_at < now() - interval '7 days'
     order by t.written_at limit 10 for update skip locked
  ), swept as (
    delete from :schema.writes w using old where w.thread = old.thread
  ), cleared as (
    delete from :schema.blobs b using old where b.thread = old.thread
  )
  delete from :schema.threads t using old where t.thread = old.thread;
end
$$;

-- Takes or prolongs a lease, or gives it back (p_ms 0). The database's clock decides, so that workers' clocks don't matter.
create function :schema.lease_1(p_name bytea, p_holder bytea, p_ms double precision) returns boolean language plpgsql set lock_timeout = '4s' as $$
begin
  if p_ms <= 0 then
    delete from :schema.leases l where l.name = p_name and l.holder = p_holder;
    return found;
  end if;
  insert into :schema.leases as l (name, holder, until) values (p_name, p_holder, clock_timestamp() + p_ms * interval '1 millisecond')
  on conflict (name) do update set holder = excluded.holder, until = excluded.until
   where l.holder = excluded.holder or l.until < clock_timestamp();
  return found;
end
$$;

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

-- Deletes tags with their thread, even if a process of an older version deletes it or sweeps its tombstone. A foreign key would cost
-- every update of threads.
create function :schema.drop_tags_1() returns trigger language plpgsql as $$
begin
  delete from :schema.thread_tags g where g.thread = old.thread;
  return null;
end
$$;

create trigger threads_tags after delete or update of deleted_at on :schema.threads
  for each row execute function :schema.drop_tags_1();

-- Adds tags to a thread and returns its revision, 0 if nothing was written yet. The update locks the row, so that a deletion either
-- comes before the tags or deletes them too. It also renews the age of a row without a checkpoint, so that no sweep deletes the tags
-- before the first checkpoint is written.
create function :schema.tag_thread_1(p_key bytea, p_long_id bytea, p_keys bytea[], p_values bytea[]) returns bigint
language plpgsql set lock_timeout = '4s' as $$
declare
  v_thread bigint;
  v_revision bigint;
begin
  insert into :schema.threads as t (key, long_id, revision, written_at)
  values (p_key, p_long_id, 0, date_trunc('minute', now()))
  on conflict (key) do update set written_at = case when t.live then t.written_at else excluded.written_at end
  returning t.thread, t.revision into v_thread, v_revision;
  insert into :schema.thread_tags (thread, key, value)
  select v_thread, u.k, u.v from unnest(p_keys, p_values) as u (k, v) on conflict do nothing;
  return v_revision;
end
$$;

-- The jsonb of an append is {"requests": […], "records": […], "blobs": […], "writes": […], "heads": […], "long_ids": […]}, where an empty
-- list may be left out. The elements of each list have the fields of one of these types. Keys and hashes are hex text ('\x…'). Bodies
-- and the bytes of blobs stand in the bytea: fields that end in _start count its bytes from 1.

-- One call of append() or appendWrites(). The elements of the other lists name theirs by its place in this list, counted from 1.
create type :schema.append_request_1 as (
  -- Requests of one thread are done one after another: the first one of each thread in round 1. The list is in the order of rounds.
  round integer,
  -- The thread.
  key bytea,
  long_id bytea,
  -- Revision at which the writer last read the thread; null: it never did.
  seen bigint,
  -- It needs stored blobs that it doesn't bring.
  relies boolean,
  -- It continues a thread rather than beginning one.
  goes_on boolean,
  -- If its head may not move, its records are stored as a side branch.
  branches boolean,
  -- The blobs that it refers to and doesn't bring, each once, if it relies on any. Each is looked up by its key, which takes
  -- 30 microseconds of a put with six. Counting them by one scan takes 20, but with other statistics the planner reads the whole thread for it.
  needs bytea[]
);

create type :schema.append_record_1 as (
  request integer,
  -- The head move of its namespace, by its place in "heads", counted from 1; null: none.
  move integer,
  id bytea, ns bytea, parent bytea, lost_to bytea, run bytea, terms integer[], blobs bytea, body_start integer, body_length integer
);

create type :schema.append_blob_1 as (request integer, hash bytea, base bytea, bytes_start integer, bytes_length integer);

create type :schema.append_writes_1 as (
  request integer, id bytea, ns bytea, task bytea, blobs bytea, body_start integer, body_length integer
);

-- Moves the head of ns to the checkpoint id if it stands at one of "expected", or wherever it stands if that is null.
create type :schema.append_head_1 as (request integer, ns bytea, id bytea, expected bytea[]);

create type :schema.append_long_id_1 as (request integer, key bytea, id bytea);

-- Takes or prolongs a lock, or tells who has it. The database's clock decides, so that workers' clocks don't matter.
create function :schema.lock_1(p_name bytea, p_holder bytea, p_ms double precision)
returns table (held boolean, owner bytea, fence bigint, since_ms double precision)
language plpgsql set lock_timeout = '4s' as $$
begin
  return query
  insert into :schema.locks as l (name, holder, token, since, until)
  values (p_name, p_holder, (extract(epoch from clock_timestamp()) * 1000000)::bigint, clock_timestamp(),
          clock_timestamp() + p_ms * interval '1 millisecond')
  on conflict (name) do update
     set holder = excluded.holder,
         token = case when l.holder = excluded.holder then l.token else greatest(l.token + 1, excluded.token) end,
         since = case when l.holder = excluded.holder then l.since else excluded.since end,
         until = excluded.until
   where l.holder = excluded.holder or l.until <= clock_timestamp()
  returning true, l.holder, l.token, (extract(epoch from l.since) * 1000)::double precision;
  if not found then
    return query
    select false, l.holder, l.token, (extract(epoch from l.since) * 1000)::double precision
      from :schema.locks l where l.name = p_name;
  end if;
end
$$;

comment on function :schema.evict_1 is 'Drops the bytes of a thread and keeps its heads: archiving.';
comment on function :schema.delete_thread_1 is 'Drops a thread and leaves a tombstone: deleteThread.';
comment on function :schema.lease_1 is 'Takes, prolongs or gives back a lease.';
comment on function :schema.sweep_1 is 'Takes away what dead writers and deletions left: maintenance.';
comment on function :schema.drop_tags_1 is 'Takes the tags of a deleted thread away: a trigger.';
comment on function :schema.tag_thread_1 is 'Adds tags to a thread: tagThread.';
comment on type :schema.append_request_1 is 'One call of append() or appendWrites().';
comment on type :schema.append_record_1 is 'A checkpoint of an append.';
comment on type :schema.append_blob_1 is 'A blob of an append.';
comment on type :schema.append_writes_1 is 'A batch of pending writes of an append.';
comment on type :schema.append_head_1 is 'A head move of an append.';
comment on type :schema.append_long_id_1 is 'An id of over 512 bytes that an append uses.';
comment on function :schema.lock_1 is 'Takes or prolongs a lock, or tells who has it.';
