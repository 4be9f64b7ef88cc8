-- Writes take one jsonb with named fields, and beside it one bytea with all long bytes.

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
  branches boolean
);
create type :schema.append_record_1 as (
  request integer,
  -- The head move of its namespace, by its place in "heads", counted from 1; null: none.
  move integer,
  id bytea, ns bytea, parent bytea, lost_to bytea, run bytea, tags integer[], blobs bytea, body_start integer, body_length integer
);
create type :schema.append_blob_1 as (request integer, hash bytea, base bytea, bytes_start integer, bytes_length integer);
create type :schema.append_writes_1 as (
  request integer, id bytea, ns bytea, task bytea, blobs bytea, body_start integer, body_length integer
);
-- Moves the head of ns to the checkpoint id if it stands at one of "expected", or wherever it stands if that is null.
create type :schema.append_head_1 as (request integer, ns bytea, id bytea, expected bytea[]);
create type :schema.append_long_id_1 as (request integer, key bytea, id bytea);

-- Many requests in one transaction, each all or nothing. The requests of a round are done by sets, which costs a request among sixteen a
-- fifth of what it costs alone. A call for several threads doesn't wait for locks of threads that exist: "busy" tells the client to send
-- those requests alone. New rows are inserted in the order of their keys. So calls never wait for each other in a circle, and one thread
-- doesn't hold up others.
-- The answer has a row per head move, or one for a request without any, in the order of requests: head is where the head stands if it
-- wasn't moved, and moved is null where the conflict is.
create function :schema.append_3(p_append jsonb, p_data bytea)
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

    -- A new row is live from the start if it will have a head: nothing can refuse its first request.
    with request as (
      select q.*, q.ordinality = any (array(select m.request from unnest(v_heads) as m)) as has_head
        from unnest(v_requests) with ordinality as q
       where q.round = (v_requests[v_first]).round
    ), opened as (
      insert into :schema.threads as t (key, long_id, revision, live, written_at)
      select q.key, q.long_id, 1, q.has_head, date_trunc('minute', now())
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
               when q.relies and coalesce(q.seen, 0) < o.removed_at then 'stale'
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

    select v_head || coalesce(array_agg(m.head), '{}'), v_moved || coalesce(array_agg(m.may), '{}'), coalesce(bool_or(not m.may), false)
      into v_head, v_moved, v_stays
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
      insert into :schema.checkpoints as c (thread, id, ns, parent, lost_to, run, tags, blobs, body)
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
             r.run, r.tags, r.blobs, substring(p_data from r.body_start for r.body_length)
        from jsonb_populate_recordset(null::  :schema.append_record_1, p_append -> 'records') as r
       where r.request between v_first and v_last and v_status[r.request] = 'ok'
      on conflict (thread, id, ns) do update
        set parent = excluded.parent, lost_to = excluded.lost_to, run = excluded.run, tags = excluded.tags, blobs = excluded.blobs,
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

-- append_3 for requests of one thread alone, as a run's pending writes and the checkpoint made of them are. Its fewer statements take
-- half the time. What is out of the ordinary is left to append_3: another head, a thread that was deleted, pruned or evicted, long ids,
-- several heads or records.
create function :schema.append_thread_1(p_append jsonb, p_data bytea)
returns table (status text, revision bigint, head bytea, moved boolean)
language plpgsql set plan_cache_mode = force_generic_plan set lock_timeout = '4s' as $$
declare
  n integer := jsonb_array_length(p_append -> 'requests');
  v_first :schema.append_request_1 := jsonb_populate_record(null::  :schema.append_request_1, p_append #> '{requests,0}');
  v_move :schema.append_head_1 := jsonb_populate_record(null::  :schema.append_head_1, p_append #> '{heads,0}');
  v_thread bigint;
  v_revision bigint;
  v_head bytea;
  v_plain boolean := p_append #> '{heads,1}' is null and p_append #> '{records,1}' is null and not p_append ? 'long_ids';
begin
  if v_plain then
    select t.thread, t.revision,
           not t.evicted and (t.live or t.deleted_at = 0) and (
             t.deleted_at = 0 and t.removed_at = 0
             or not exists (
               select from jsonb_populate_recordset(null::  :schema.append_request_1, p_append -> 'requests') as q
                where q.seen < t.deleted_at or coalesce(q.seen, 0) < t.removed_at
             )
           )
      into v_thread, v_revision, v_plain
      from :schema.threads t where t.key = v_first.key for no key update;
    if not found then
      insert into :schema.threads as t (key, long_id, revision, live, written_at)
      values (v_first.key, v_first.long_id, n, v_move.id is not null, date_trunc('minute', now()))
      on conflict do nothing returning t.thread, 0 into v_thread, v_revision;
      v_plain := found;
    elsif v_plain then
      -- In a statement of its own: one that waited for the lock would see the head from before.
      select h.id into v_head from :schema.heads h where h.thread = v_thread and h.ns = v_move.ns;
      v_plain := v_head is null or v_head = v_move.id or v_move.expected is null or v_head = any (v_move.expected);
      if v_plain then
        update :schema.threads t
           set revision = t.revision + n, live = t.live or v_move.id is not null, written_at = date_trunc('minute', now())
         where t.thread = v_thread;
      end if;
    end if;
  end if;
  if v_plain is not true then
    -- Nothing was written yet.
    return query select * from :schema.append_3(p_append, p_data);
    return;
  end if;

  if p_append ? 'blobs' then
    insert into :schema.blobs (thread, hash, base, bytes)
    select v_thread, b.hash, b.base, substring(p_data from b.bytes_start for b.bytes_length)
      from jsonb_populate_recordset(null::  :schema.append_blob_1, p_append -> 'blobs') as b
    on conflict do nothing;
  end if;
  if p_append ? 'records' then
    insert into :schema.checkpoints as c (thread, id, ns, parent, lost_to, run, tags, blobs, body)
    select v_thread, r.id, r.ns, r.parent, r.lost_to, r.run, r.tags, r.blobs, substring(p_data from r.body_start for r.body_length)
      from jsonb_populate_recordset(null::  :schema.append_record_1, p_append -> 'records') as r
    on conflict (thread, id, ns) do update
      set parent = excluded.parent, lost_to = excluded.lost_to, run = excluded.run, tags = excluded.tags, blobs = excluded.blobs,
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

-- A checkpoint that becomes a head of the fork: what goes along with it, as a ForkTip says.
create type :schema.fork_tip_1 as (ns bytea, id bytea, ancestors integer, until integer[], writes integer[]);

-- Tips of a thread (a list of fork_tip_1), with their ancestors, pending writes and all blobs that these need, and the thread's tags, as a
-- new thread; and one append to it, as append_3 takes it, whose heads are those of the tips too.
-- Nothing is done where the target has a head ('exists'), or where a tip or a blob isn't here or was removed after p_seen ('missing').
create function :schema.fork_3(
  p_source bytea, p_seen bigint, p_key bytea, p_long_id bytea, p_tips jsonb, p_append jsonb, p_data bytea
)
returns table (status text, head bytea, checkpoints bigint, bytes bigint) language plpgsql
-- Planning costs as much as copying, so it is done once per connection, and for any thread. Compiling took 1.1 s a call. It begins
-- where the planner guesses many rows, so hashes and tips go through arrays, which it takes for ten rows, and guesses don't multiply.
set plan_cache_mode = force_generic_plan set jit = off set lock_timeout = '4s'
as $$
declare
  v_tips :schema.fork_tip_1[] := array(select t from jsonb_populate_recordset(null::  :schema.fork_tip_1, p_tips) as t);
  v_source bigint;
  v_target :schema.threads;
  v_head bytea;
  v_found bigint;
  v_complete boolean;
  v_checkpoints bigint;
  v_bytes bigint;
begin
  select t.thread into v_source from :schema.threads t where t.key = p_source;
  if not found then
    return query select 'missing', null::bytea, null::bigint, null::bigint;
    return;
  end if;
  insert into :schema.threads as t (key, long_id, revision, written_at)
  values (p_key, p_long_id, 1, date_trunc('minute', now()))
  on conflict (key) do update set revision = t.revision + 1, written_at = excluded.written_at
  returning * into v_target;
  select h.id into v_head from :schema.heads h where h.thread = v_target.thread order by h.ns limit 1;
  if found then
    update :schema.threads t set revision = t.revision - 1 where t.thread = v_target.thread;
    return query select 'exists', v_head, null::bigint, null::bigint;
    return;
  end if;

  -- One statement, so one snapshot: what is pruned meanwhile is still there, or was not there from the start.
  with recursive line as (
    select c.*, t.ancestors as depth, t.until as open, t.writes as places
      from unnest(v_tips) as t,
           lateral (
             select c.id, c.ns, c.parent, c.run, c.tags, c.blobs, c.body from :schema.checkpoints c
              where c.thread = v_source and c.id = t.id and c.ns = t.ns offset 0
           ) as c
    union all
    select c.*, line.depth - 1, case when line.open is not null then array(select unnest(line.open) except select unnest(c.tags)) end, null
      from line,
           lateral (
             select c.id, c.ns, c.parent, c.run, c.tags, c.blobs, c.body from :schema.checkpoints c
              where c.thread = v_source and c.id = line.parent and c.ns = line.ns offset 0
           ) as c
     where line.depth > 0 and (line.open is null or cardinality(line.open) > 0)
  ), pending as materialized (
    select * from (
      select w.*, line.places, row_number() over (partition by w.ns, w.id order by w.seq, w.part) - 1 as place
        from line,
             lateral (
               select w.id, w.ns, w.seq, w.part, w.task, w.blobs, w.body from :schema.writes w
                where w.thread = v_source and w.id = line.id and w.ns = line.ns offset 0
             ) as w
    ) as placed
     where places is null or place = any (places)
  ), copied as (
    insert into :schema.checkpoints (thread, id, ns, parent, lost_to, run, tags, blobs, body)
    select v_target.thread, id, ns, parent, null, run, tags, blobs, body from line
    returning checkpoints.blobs, length(checkpoints.body) as size
  ), wrote as (
    insert into :schema.writes (thread, id, ns, seq, part, task, blobs, body)
    select v_target.thread, id, ns, v_target.revision, row_number() over (order by seq, part), task, blobs, body from pending
    returning length(writes.body) as size
  ), named as materialized (
    select unnest(array(
             select substring(packed from o for 20)
               from (select copied.blobs as packed from copied union all select pending.blobs from pending) as lists,
                    generate_series(1, length(packed), 20) as o
           )) as hash
  ), chain as (
    select b.* from named, lateral (select b.hash, b.base from :schema.blobs b where b.thread = v_source and b.hash = named.hash offset 0) as b
    union
    select b.* from chain, lateral (select b.hash, b.base from :schema.blobs b where b.thread = v_source and b.hash = chain.base offset 0) as b
  ), stored as (
    insert into :schema.blobs (thread, hash, base, bytes)
    select v_target.thread, b.*
      from chain, lateral (select b.hash, b.base, b.bytes from :schema.blobs b where b.thread = v_source and b.hash = chain.hash offset 0) as b
    returning length(blobs.bytes) as size
  )
  select (select count(*) from line where places is not null),
         (select t.removed_at <= p_seen from :schema.threads t where t.thread = v_source) and not exists (
           select hash from named union select base from chain where base is not null
           except select hash from chain
         ),
         (select count(*) from copied),
         (select coalesce(sum(size), 0) from (select size from copied union all select size from wrote union all select size from stored) as sizes)
    into v_found, v_complete, v_checkpoints, v_bytes;
  if v_found < cardinality(v_tips) or v_complete is not true then raise sqlstate 'SG001'; end if;

  insert into :schema.long_ids (thread, key, id)
  select v_target.thread, l.key, l.id from :schema.long_ids l where l.thread = v_source on conflict do nothing;
  if exists (select from :schema.append_3(p_append, p_data) as a where a.status <> 'ok') then raise sqlstate 'SG001'; end if;
  perform :schema.inherit_tags_1(p_source, p_key);
  return query select 'ok', null::bytea, v_checkpoints, v_bytes;
exception when sqlstate 'SG001' then
  return query select 'missing', null::bytea, null::bigint, null::bigint;
end
$$;

-- Takes checkpoints away if the thread is still at p_revision. p_changes: {"checkpoints": […], "drop_blobs": [hash], "replace_blobs": […],
-- "heads": […]}, as in an append; a head without id goes.
create function :schema.remove_2(p_key bytea, p_revision bigint, p_changes jsonb, p_data bytea)
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

comment on type :schema.append_request_1 is 'One call of append() or appendWrites().';
comment on type :schema.append_record_1 is 'A checkpoint of an append.';
comment on type :schema.append_blob_1 is 'A blob of an append.';
comment on type :schema.append_writes_1 is 'A batch of pending writes of an append.';
comment on type :schema.append_head_1 is 'A head move of an append.';
comment on type :schema.append_long_id_1 is 'An id of over 512 bytes that an append uses.';
comment on type :schema.fork_tip_1 is 'A checkpoint that becomes a head of a fork.';
comment on function :schema.append_3 is 'Records, blobs, pending writes and head moves of many requests: put, putWrites.';
comment on function :schema.append_thread_1 is 'Records, blobs, pending writes and a head move of one thread: put, putWrites.';
comment on function :schema.fork_3 is 'A part of a thread as a new thread, with its tags: fork.';
comment on function :schema.remove_2 is 'Takes checkpoints and blobs away: prune.';
comment on function :schema.pieces_1 is 'For processes of versions before 000007: the pieces of a packed argument.';
comment on function :schema.append_1 is 'For processes of versions before 000007: append_3.';
comment on function :schema.append_2 is 'For processes of versions before 000007: append_thread_1.';
comment on function :schema.fork_1 is 'For processes of versions before 000005: fork_3.';
comment on function :schema.fork_2 is 'For processes of versions before 000007: fork_3.';
comment on function :schema.remove_1 is 'For processes of versions before 000007: remove_2.';
