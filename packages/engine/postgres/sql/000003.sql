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

-- Takes checkpoints away if the thread is still at p_revision. p_changes: {"checkpoints": […], "drop_blobs": [hash], "replace_blobs": […],
-- "heads": […]}, as in an append; a head without id goes.
create function :schema.remove_1(p_key bytea, p_revision bigint, p_changes jsonb, p_data bytea)
returns boolean language plpgsql set lock_timeout = '4s' as $$
declare
  v_thread bigint;
begin
  select t.thread into v_thread from :schema.threads t where t.key = p_key and t.revision = p_revision for update;
  if not found then return false; end if;
  delete from :schema.writes w using jsonb_to_recordset(p_changes -> 'checkpoints') as x (id bytea, ns bytea)
   where w.thread = v_thread and w.id = x.id and w.ns = x.ns;
  delete from :schema.checkpoints c using jsonb_to_recordset(p_changes -> 'checkpoints') as x (id bytea, ns bytea)
   where c.thread = v_thread and c.id = x.id and c.ns = x.ns;
  delete from :schema.blobs b
   where b.thread = v_thread and b.hash = any (array(select x::bytea from jsonb_array_elements_text(p_changes -> 'drop_blobs') as x));
  insert into :schema.blobs as b (thread, hash, base, bytes)
  select v_thread, x.hash, x.base, substring(p_data from x.bytes_start for x.bytes_length)
    from jsonb_populate_recordset(null::  :schema.append_blob_1, p_changes -> 'replace_blobs') as x
  on conflict (thread, hash) do update set base = excluded.base, bytes = excluded.bytes;
  delete from :schema.heads h using jsonb_to_recordset(p_changes -> 'heads') as x (ns bytea, id bytea)
   where h.thread = v_thread and h.ns = x.ns and x.id is null;
  update :schema.heads h set id = x.id from jsonb_to_recordset(p_changes -> 'heads') as x (ns bytea, id bytea)
   where h.thread = v_thread and h.ns = x.ns and x.id is not null;
  update :schema.threads t
     set revision = p_revision + 1, removed_at = p_revision + 1,
         live = exists (select from :schema.heads h where h.thread = v_thread)
   where t.thread = v_thread;
  return true;
end
$$;

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

-- An append is refused as stale where the storage was set back since its writer read the thread: a failover to a server that lagged, a
-- restored backup. That shows by a revision that isn't there yet, or by a blob that the append relies on and that isn't there: others
-- may have written as much again. Only the blobs that an append names are looked up; what they are patches on was stored with them.

-- Many requests in one transaction, each all or nothing. The requests of a round are done by sets, which costs a request among sixteen a
-- fifth of what it costs alone. A call for several threads doesn't wait for locks of threads that exist: "busy" tells the client to send
-- those requests alone. New rows are inserted in the order of their keys. So calls never wait for each other in a circle, and one thread
-- doesn't hold up others.
-- The answer has a row per head move, or one for a request without any, in the order of requests: head is where the head stands if it
-- wasn't moved, and moved is null where the conflict is.
create function :schema.append_1(p_append jsonb, p_data bytea)
returns table (status text, revision bigint, head bytea, moved boolean)
language plpgsql set plan_cache_mode = force_generic_plan set lock_timeout = '4s' as $$
declare
  v_requests :schema.append_request_1[] := array(
    select q from jsonb_populate_recordset(null::  :schema.append_request_1, p_append -> 'requests') as q
  );
  v_heads :schema.append_head_1[] := array(
    select m from jsonb_populate_recordset(null::  :schema.append_head_1, p_append -> 'heads') as m
  );
  v_keys bytea[];
  v_busy bytea[] := '{}';
  -- The requests of the round.
  v_first integer;
  v_last integer := 0;
  -- Per request of the rounds so far.
  v_thread bigint[] := '{}';
  v_revision bigint[] := '{}';
  v_status text[] := '{}';
  -- Per head move of the rounds so far: where the head stood, and whether it moves; null is a conflict.
  v_head bytea[] := '{}';
  v_moved boolean[] := '{}';
  v_overtaken boolean[];
  v_lacking integer[];
  v_wakes boolean;
  v_refuses boolean;
  v_stays boolean;
begin
  v_keys := array(select q.key from unnest(v_requests) as q where q.round = 1);
  if cardinality(v_keys) > 1 then
    with locked as materialized (
      select t.thread from :schema.threads t where t.key = any (v_keys) order by t.key for update skip locked
    )
    select coalesce(array_agg(t.key), '{}') into v_busy
      from :schema.threads t
     where t.key = any (v_keys) and t.thread not in (select thread from locked);
  end if;

  while v_last < cardinality(v_requests) loop
    v_first := v_last + 1;

    -- A new row is live from the start if it will have a head, and nothing can refuse its first request.
    with request as (
      select q.*, q.ordinality = any (array(select m.request from unnest(v_heads) as m)) as has_head
        from unnest(v_requests) with ordinality as q
       where q.round = (v_requests[v_first]).round
    ), opened as (
      insert into :schema.threads as t (key, long_id, revision, live, written_at)
      select q.key, q.long_id, 1, q.has_head and coalesce(q.seen, 0) = 0 and q.needs is null, date_trunc('minute', now())
        from request q
       where q.key <> all (v_busy)
       order by q.key
      on conflict (key) do update set revision = t.revision + 1, written_at = excluded.written_at
      returning t.*
    ), judged as (
      select o.thread, o.revision, not o.live or o.evicted as sleeps,
             case
               when o.thread is null then 'busy'
               when q.seen < o.deleted_at then 'deleted'
               when o.deleted_at > 0 and not o.live and q.goes_on then 'deleted'
               when q.seen >= o.revision or q.relies and coalesce(q.seen, 0) < o.removed_at then 'stale'
               else 'ok'
             end as status
        from request q left join opened o on o.key = q.key
       order by q.ordinality
    )
    select v_thread || array_agg(j.thread), v_revision || array_agg(j.revision), v_status || array_agg(j.status),
           bool_or(j.sleeps), bool_or(j.status <> 'ok')
      into v_thread, v_revision, v_status, v_wakes, v_refuses
      from judged j;
    v_last := cardinality(v_status);

    select v_head || coalesce(array_agg(m.head), '{}'), v_moved || coalesce(array_agg(m.may), '{}'), coalesce(bool_or(not m.may), false),
           array(
             select q.ordinality
               from unnest(v_requests) with ordinality as q
              where q.needs is not null and q.ordinality between v_first and v_last and v_status[q.ordinality] = 'ok'
                and cardinality(q.needs) > (
                  select count(*)
                     from unnest(q.needs) as h,
                          lateral (select from :schema.blobs x where x.thread = v_thread[q.ordinality] and x.hash = h offset 0) b
                )
           )
      into v_head, v_moved, v_stays, v_lacking
      from (
        select m.head, m.head is null or m.head = m.id or m.expected is null or m.head = any (m.expected) as may
          from (
            select m.id, m.expected,
                   (select h.id from :schema.heads h where h.thread = v_thread[m.request] and h.ns = m.ns) as head
              from unnest(v_heads) with ordinality as m
             where m.request between v_first and v_last
             order by m.ordinality
            offset 0
          ) as m
      ) as m;
    if cardinality(v_lacking) > 0 then
      v_status := array(
        select case when g = any (v_lacking) then 'stale' else v_status[g] end from generate_subscripts(v_status, 1) as g order by g
      );
      v_refuses := true;
    end if;
    if v_stays then
      -- Overtaken: the head was made from this checkpoint (LangGraph's "exit" durability puts two at once). It is stored; the head stays.
      v_overtaken := array(
        select exists (
                 select from :schema.checkpoints c
                  where c.thread = v_thread[m.request] and c.id = v_head[m.ordinality] and c.ns = m.ns and c.parent = m.id
               )
          from unnest(v_heads) with ordinality as m
         where m.request <= v_last
         order by m.ordinality
      );
      v_moved := array(
        select case
                 when v_moved[m.ordinality] or v_overtaken[m.ordinality] or (v_requests[m.request]).branches
                   or v_status[m.request] <> 'ok' or m.request < v_first
                   or exists (select from :schema.checkpoints c where c.thread = v_thread[m.request] and c.id = m.id and c.ns = m.ns)
                   then v_moved[m.ordinality]
               end
          from unnest(v_heads) with ordinality as m
         where m.request <= v_last
         order by m.ordinality
      );
      v_status := array(
        select case
                 when exists (
                   select from unnest(v_heads) with ordinality as m where m.request = g and v_moved[m.ordinality] is null
                 ) then 'conflict'
                 else v_status[g]
               end
          from generate_subscripts(v_status, 1) as g
         order by g
      );
    end if;
    if v_stays or v_refuses then
      -- A refused request changes nothing. The row is locked, so nobody saw the other revision.
      update :schema.threads t set revision = t.revision - 1
       where t.thread = any (array(select v_thread[g] from generate_series(v_first, v_last) as g where v_status[g] <> 'ok'));
    end if;
    if v_wakes then
      update :schema.threads t set live = true, evicted = false
       where (not t.live or t.evicted)
         and t.thread = any (array(
           select v_thread[m.request] from unnest(v_heads) as m where m.request between v_first and v_last and v_status[m.request] = 'ok'
         ));
    end if;

    if p_append ? 'blobs' then
      insert into :schema.blobs (thread, hash, base, bytes)
      select v_thread[b.request], b.hash, b.base, substring(p_data from b.bytes_start for b.bytes_length)
        from jsonb_populate_recordset(null::  :schema.append_blob_1, p_append -> 'blobs') as b
       where b.request between v_first and v_last and v_status[b.request] = 'ok'
      on conflict do nothing;
    end if;

    if p_append ? 'records' then
      -- The loser of a race names the checkpoint that has the head, unless the loser is stored already.
      insert into :schema.checkpoints as c (thread, id, ns, parent, lost_to, run, terms, blobs, body)
      select v_thread[r.request], r.id, r.ns, r.parent,
             case
               when r.move is null or v_moved[r.move] then r.lost_to
               else (
                 select c.lost_to from :schema.checkpoints c where c.thread = v_thread[r.request] and c.id = r.id and c.ns = r.ns
                 union all
                 select case when v_overtaken[r.move] then r.lost_to else v_head[r.move] end
                 limit 1
               )
             end,
             r.run, r.terms, r.blobs, substring(p_data from r.body_start for r.body_length)
        from jsonb_populate_recordset(null::  :schema.append_record_1, p_append -> 'records') as r
       where r.request between v_first and v_last and v_status[r.request] = 'ok'
      on conflict (thread, id, ns) do update
        set parent = excluded.parent, lost_to = excluded.lost_to, run = excluded.run, terms = excluded.terms, blobs = excluded.blobs,
            body = excluded.body;
    end if;

    if p_append ? 'writes' then
      insert into :schema.writes (thread, id, ns, seq, part, task, blobs, body)
      select v_thread[w.request], w.id, w.ns, v_revision[w.request], w.ordinality, w.task, w.blobs,
             substring(p_data from w.body_start for w.body_length)
        from jsonb_populate_recordset(null::  :schema.append_writes_1, p_append -> 'writes') with ordinality as w
       where w.request between v_first and v_last and v_status[w.request] = 'ok';
    end if;

    if p_append ? 'long_ids' then
      insert into :schema.long_ids (thread, key, id)
      select v_thread[l.request], l.key, l.id
        from jsonb_populate_recordset(null::  :schema.append_long_id_1, p_append -> 'long_ids') as l
       where l.request between v_first and v_last and v_status[l.request] = 'ok'
      on conflict do nothing;
    end if;

    if cardinality(v_heads) > 0 then
      insert into :schema.heads as h (thread, ns, id)
      select distinct on (v_thread[m.request], m.ns) v_thread[m.request], m.ns, m.id
        from unnest(v_heads) with ordinality as m
       where m.request between v_first and v_last and v_moved[m.ordinality] and v_status[m.request] = 'ok'
       order by v_thread[m.request], m.ns, m.ordinality desc
      on conflict (thread, ns) do update set id = excluded.id where h.id <> excluded.id;
    end if;
  end loop;

  return query
    select v_status[g], v_revision[g], case when v_moved[m.ordinality] then null else v_head[m.ordinality] end, v_moved[m.ordinality]
      from generate_subscripts(v_status, 1) as g left join unnest(v_heads) with ordinality as m on m.request = g
     order by g, m.ordinality;
end
$$;

-- append_1 for requests of one thread alone, as a run's pending writes and the checkpoint made of them are. Its fewer statements take
-- half the time. What is out of the ordinary is left to append_1: another head, a thread that was deleted, pruned or evicted, or that
-- lacks what its writer read, long ids, several heads or records.
create function :schema.append_thread_1(p_append jsonb, p_data bytea)
returns table (status text, revision bigint, head bytea, moved boolean)
language plpgsql set plan_cache_mode = force_generic_plan set lock_timeout = '4s' as $$
declare
  n integer := jsonb_array_length(p_append -> 'requests');
  v_first :schema.append_request_1 := jsonb_populate_record(null::  :schema.append_request_1, p_append #> '{requests,0}');
  v_move :schema.append_head_1 := jsonb_populate_record(null::  :schema.append_head_1, p_append #> '{heads,0}');
  v_seen bigint := v_first.seen;
  v_needs bytea[] := v_first.needs;
  v_thread bigint;
  v_revision bigint;
  v_head bytea;
  v_plain boolean := p_append #> '{heads,1}' is null and p_append #> '{records,1}' is null and not p_append ? 'long_ids';
begin
  if v_plain then
    if n > 1 then
      select max(q.seen), array_agg(distinct h) filter (where h is not null) into v_seen, v_needs
        from jsonb_populate_recordset(null::  :schema.append_request_1, p_append -> 'requests') as q left join unnest(q.needs) as h on true;
    end if;
    select t.thread, t.revision,
           not t.evicted and coalesce(v_seen, 0) <= t.revision and (t.live or t.deleted_at = 0) and (
             t.deleted_at = 0 and t.removed_at = 0
             or not exists (
               select from jsonb_populate_recordset(null::  :schema.append_request_1, p_append -> 'requests') as q
                where q.seen < t.deleted_at or coalesce(q.seen, 0) < t.removed_at
             )
           )
      into v_thread, v_revision, v_plain
      from :schema.threads t where t.key = v_first.key for no key update;
    if not found and (v_seen > 0 or v_needs is not null) then
      v_plain := false;
    elsif not found then
      insert into :schema.threads as t (key, long_id, revision, live, written_at)
      values (v_first.key, v_first.long_id, n, v_move.id is not null, date_trunc('minute', now()))
      on conflict do nothing returning t.thread, 0 into v_thread, v_revision;
      v_plain := found;
    elsif v_plain then
      -- In a statement of its own: one that waited for the lock would see the head and the blobs from before.
      select (select h.id from :schema.heads h where h.thread = v_thread and h.ns = v_move.ns),
             v_needs is null
             or cardinality(v_needs) = (
               select count(*)
                 from unnest(v_needs) as h, lateral (select from :schema.blobs x where x.thread = v_thread and x.hash = h offset 0) b
             )
        into v_head, v_plain;
      v_plain := v_plain and (v_head is null or v_head = v_move.id or v_move.expected is null or v_head = any (v_move.expected));
      if v_plain then
        update :schema.threads t
           set revision = t.revision + n, live = t.live or v_move.id is not null, written_at = date_trunc('minute', now())
         where t.thread = v_thread;
      end if;
    end if;
  end if;
  if v_plain is not true then
    -- Nothing was written yet.
    return query select * from :schema.append_1(p_append, p_data);
    return;
  end if;

  if p_append ? 'blobs' then
    insert into :schema.blobs (thread, hash, base, bytes)
    select v_thread, b.hash, b.base, substring(p_data from b.bytes_start for b.bytes_length)
      from jsonb_populate_recordset(null::  :schema.append_blob_1, p_append -> 'blobs') as b
    on conflict do nothing;
  end if;
  if p_append ? 'records' then
    insert into :schema.checkpoints as c (thread, id, ns, parent, lost_to, run, terms, blobs, body)
    select v_thread, r.id, r.ns, r.parent, r.lost_to, r.run, r.terms, r.blobs, substring(p_data from r.body_start for r.body_length)
      from jsonb_populate_recordset(null::  :schema.append_record_1, p_append -> 'records') as r
    on conflict (thread, id, ns) do update
      set parent = excluded.parent, lost_to = excluded.lost_to, run = excluded.run, terms = excluded.terms, blobs = excluded.blobs,
          body = excluded.body;
  end if;
  if p_append ? 'writes' then
    insert into :schema.writes (thread, id, ns, seq, part, task, blobs, body)
    select v_thread, w.id, w.ns, v_revision + w.request, w.ordinality, w.task, w.blobs,
           substring(p_data from w.body_start for w.body_length)
      from jsonb_populate_recordset(null::  :schema.append_writes_1, p_append -> 'writes') with ordinality as w;
  end if;
  if v_head is null and v_move.id is not null then
    insert into :schema.heads (thread, ns, id) values (v_thread, v_move.ns, v_move.id);
  elsif v_head <> v_move.id then
    update :schema.heads h set id = v_move.id where h.thread = v_thread and h.ns = v_move.ns;
  end if;

  return query select 'ok', v_revision + g, null::bytea, case when g = v_move.request then true end from generate_series(1, n) as g;
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
comment on function :schema.append_1 is 'Records, blobs, pending writes and head moves of many requests: put, putWrites.';
comment on function :schema.append_thread_1 is 'Records, blobs, pending writes and a head move of one thread: put, putWrites.';
comment on function :schema.remove_1 is 'Takes checkpoints and blobs away: prune.';
comment on function :schema.lock_1 is 'Takes or prolongs a lock, or tells who has it.';
