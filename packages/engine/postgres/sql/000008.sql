-- How threads stand: whether a question waits for a person, a task failed, a step is due, or nothing is. Kept with the thread, by the
-- statement that changes it, and indexed: so a page of those that wait costs the same however many threads there are.
--
-- It follows from rows: from the terms of the newest root checkpoint, which say whether a step is due, and from what the batches of its
-- pending writes say of their tasks. What versions before this one wrote says neither. Such a thread has no status until its next write
-- or maintenance: whoever asks for threads by their status gets it too, and reads it.

alter table :schema.threads add column status "char";
alter table :schema.writes add column outcome "char";
alter type :schema.append_writes_1 add attribute outcome "char";

create index threads_by_status on :schema.threads (status, written_at, thread) where live;

-- The status of a thread, by its newest root checkpoint: w waiting, f failed, d a step is due, i idle; null: not known. Of a task's batches
-- the last one counts, and an answer whose task isn't named counts for all that asked before: who still asks then does so again.
-- 32-bit terms as src/contract/threadStatus.ts of core has them.
create function :schema.status_1(p_thread bigint) returns "char" language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_id bytea;
  v_terms integer[];
  v_unknown boolean;
  v_waits boolean;
  v_failed boolean;
begin
  select h.id into v_id from :schema.heads h where h.thread = p_thread and h.ns = '';
  if not found then return 'i'; end if;
  select c.terms into v_terms from :schema.checkpoints c where c.thread = p_thread and c.id = v_id and c.ns = '';
  if not found then return null; end if;
  select bool_or(l.outcome is null), bool_or(l.outcome = 'w' and not l.answered), bool_or(l.outcome = 'f')
    into v_unknown, v_waits, v_failed
    from (
      select distinct on (w.task) w.outcome,
             exists (
               select from :schema.writes a
                where a.thread = p_thread and a.id = v_id and a.ns = '' and a.outcome = 'A' and (a.seq, a.part) > (w.seq, w.part)
             ) as answered
        from :schema.writes w
       where w.thread = p_thread and w.id = v_id and w.ns = '' and w.outcome is distinct from 'n'
       order by w.task, w.seq desc, w.part desc
    ) as l;
  return case
    when v_unknown then null
    when v_waits then 'w'
    when v_failed then 'f'
    when 1376439968 = any (v_terms) then 'i'
    when 806444692 = any (v_terms) then 'd'
  end;
end
$$;

-- Takes checkpoints away if the thread is still at p_revision. p_changes: {"checkpoints": […], "drop_blobs": [hash], "replace_blobs": […],
-- "heads": […]}, as in an append; a head without id goes.
create or replace function :schema.remove_1(p_key bytea, p_revision bigint, p_changes jsonb, p_data bytea)
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
  update :schema.threads t set status = :schema.status_1(v_thread) where t.thread = v_thread;
  return true;
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
create or replace function :schema.append_1(p_append jsonb, p_data bytea)
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
      insert into :schema.writes (thread, id, ns, seq, part, task, blobs, outcome, body)
      select v_thread[w.request], w.id, w.ns, v_revision[w.request], w.ordinality, w.task, w.blobs, w.outcome,
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

    update :schema.threads t set status = s.status
      from (
        select x.thread, :schema.status_1(x.thread) as status
          from (
            select distinct v_thread[m.request] as thread from unnest(v_heads) as m
             where m.request between v_first and v_last and v_status[m.request] = 'ok'
               and (m.ns = '' or v_wakes
                    or exists (select from :schema.threads t where t.thread = v_thread[m.request] and t.status is null))
            union
            select v_thread[w.request]
              from jsonb_populate_recordset(null::  :schema.append_writes_1, p_append -> 'writes') as w
             where w.ns = '' and w.request between v_first and v_last and v_status[w.request] = 'ok'
          ) as x
        offset 0
      ) as s
     where t.thread = s.thread and t.status is distinct from s.status;
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
create or replace function :schema.append_thread_1(p_append jsonb, p_data bytea)
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
  v_was "char";
  v_status "char";
  v_plain boolean := p_append #> '{heads,1}' is null and p_append #> '{records,1}' is null and not p_append ? 'long_ids';
begin
  if v_plain then
    if n > 1 then
      select max(q.seen), array_agg(distinct h) filter (where h is not null) into v_seen, v_needs
        from jsonb_populate_recordset(null::  :schema.append_request_1, p_append -> 'requests') as q left join unnest(q.needs) as h on true;
    end if;
    select t.thread, t.revision, t.status,
           not t.evicted and coalesce(v_seen, 0) <= t.revision and (t.live or t.deleted_at = 0) and (
             t.deleted_at = 0 and t.removed_at = 0
             or not exists (
               select from jsonb_populate_recordset(null::  :schema.append_request_1, p_append -> 'requests') as q
                where q.seen < t.deleted_at or coalesce(q.seen, 0) < t.removed_at
             )
           )
      into v_thread, v_revision, v_was, v_plain
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
    insert into :schema.writes (thread, id, ns, seq, part, task, blobs, outcome, body)
    select v_thread, w.id, w.ns, v_revision + w.request, w.ordinality, w.task, w.blobs, w.outcome,
           substring(p_data from w.body_start for w.body_length)
      from jsonb_populate_recordset(null::  :schema.append_writes_1, p_append -> 'writes') with ordinality as w;
  end if;
  if v_head is null and v_move.id is not null then
    insert into :schema.heads (thread, ns, id) values (v_thread, v_move.ns, v_move.id);
  elsif v_head <> v_move.id then
    update :schema.heads h set id = v_move.id where h.thread = v_thread and h.ns = v_move.ns;
  end if;

  -- The output of a task changes nothing unless the task asked or failed before.
  if v_move.ns = '' or v_move.id is not null and v_was is null
     or p_append ? 'writes' and exists (
       select from jsonb_populate_recordset(null::  :schema.append_writes_1, p_append -> 'writes') as w
        where w.ns = '' and (w.outcome is null or w.outcome not in ('e', 'n') or v_was in ('w', 'f'))
     ) then
    v_status := :schema.status_1(v_thread);
    if v_status is distinct from v_was then
      update :schema.threads t set status = v_status where t.thread = v_thread;
    end if;
  end if;

  return query select 'ok', v_revision + g, null::bytea, case when g = v_move.request then true end from generate_series(1, n) as g;
end
$$;

-- Copies a whole thread to another key. Repeating it changes nothing.
create or replace function :schema.copy_rows_1(p_source bytea, p_target bytea, p_long_id bytea) returns boolean language plpgsql set lock_timeout = '4s' as $$
declare
  v_source bigint;
  v_revision bigint;
  v_target :schema.threads;
begin
  select t.thread, t.revision into v_source, v_revision from :schema.threads t where t.key = p_source and t.live for share;
  if not found then return false; end if;
  insert into :schema.threads as t (key, long_id, revision, written_at)
  values (p_target, p_long_id, 1, date_trunc('minute', now()))
  on conflict (key) do update set revision = t.revision + 1, written_at = excluded.written_at
  returning * into v_target;
  insert into :schema.checkpoints select v_target.thread, c.id, c.ns, c.parent, c.lost_to, c.run, c.terms, c.blobs, c.body
    from :schema.checkpoints c where c.thread = v_source on conflict do nothing;
  insert into :schema.blobs select v_target.thread, b.hash, b.base, b.bytes from :schema.blobs b where b.thread = v_source on conflict do nothing;
  insert into :schema.writes select v_target.thread, w.id, w.ns, w.seq, w.part, w.task, w.blobs, w.body, w.outcome
    from :schema.writes w where w.thread = v_source on conflict do nothing;
  insert into :schema.heads select v_target.thread, h.ns, h.id from :schema.heads h where h.thread = v_source on conflict do nothing;
  insert into :schema.long_ids select v_target.thread, l.key, l.id from :schema.long_ids l where l.thread = v_source on conflict do nothing;
  update :schema.threads t set revision = greatest(t.revision, v_revision) + 1, live = true, evicted = false, status = :schema.status_1(t.thread)
   where t.thread = v_target.thread;
  return true;
end
$$;

-- A page of threads by how they stand, as threads_1 has them: those with p_status, and those whose status isn't known; p_status null: these alone.
-- Where a question or an error is asked for, those of unknown status whose newest root checkpoint has no pending writes are left out. The
-- page is cut from the index before anything is joined to it.
create function :schema.threads_by_status_1(
  p_before timestamptz, p_newest boolean, p_evicted boolean, p_after timestamptz, p_after_key bytea, p_after_thread bigint,
  p_limit integer, p_status "char"
)
returns table (
  key bytea, long_id bytea, revision bigint, head bytea, thread bigint, written_ms bigint, evicted boolean, status "char"
)
language plpgsql stable set plan_cache_mode = force_custom_plan set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  v_after bigint := p_after_thread;
begin
  if p_after is not null and v_after is null then
    v_after := coalesce((select t.thread from :schema.threads t where t.key = p_after_key), 0);
  end if;
  return query
    with page as materialized (
      (select t.* from :schema.threads t
        where p_newest and t.live and t.status = p_status and (p_before is null or t.written_at < p_before) and (p_evicted or not t.evicted)
          and (p_after is null or (t.written_at, t.thread) < (p_after, v_after))
        order by t.written_at desc, t.thread desc limit p_limit)
      union all
      (select t.* from :schema.threads t
        where not p_newest and t.live and t.status = p_status and (p_before is null or t.written_at < p_before) and (p_evicted or not t.evicted)
          and (p_after is null or (t.written_at, t.thread) > (p_after, v_after))
        order by t.written_at, t.thread limit p_limit)
      union all
      (select t.* from :schema.threads t
        where p_newest and t.live and t.status is null and (p_before is null or t.written_at < p_before) and (p_evicted or not t.evicted)
          and (p_after is null or (t.written_at, t.thread) < (p_after, v_after))
          and (coalesce(p_status, 'd') not in ('w', 'f') or t.evicted or :schema.has_writes_1(t.thread))
        order by t.written_at desc, t.thread desc limit p_limit)
      union all
      (select t.* from :schema.threads t
        where not p_newest and t.live and t.status is null and (p_before is null or t.written_at < p_before) and (p_evicted or not t.evicted)
          and (p_after is null or (t.written_at, t.thread) > (p_after, v_after))
          and (coalesce(p_status, 'd') not in ('w', 'f') or t.evicted or :schema.has_writes_1(t.thread))
        order by t.written_at, t.thread limit p_limit)
    )
    select p.key, p.long_id, p.revision, h.id, p.thread, (extract(epoch from p.written_at) * 1000)::bigint, p.evicted, p.status
      from page p left join lateral (select * from :schema.heads x where x.thread = p.thread and x.ns = '' offset 0) h on true
     order by case when p_newest then p.written_at end desc, case when p_newest then p.thread end desc, p.written_at, p.thread
     limit p_limit;
end
$$;

-- Whether the newest root checkpoint of a thread has pending writes.
create function :schema.has_writes_1(p_thread bigint) returns boolean language plpgsql stable as $$
begin
  return exists (
    select from :schema.heads h, lateral (
      select from :schema.writes w where w.thread = p_thread and w.id = h.id and w.ns = '' limit 1
    ) as w
     where h.thread = p_thread and h.ns = ''
  );
end
$$;

comment on column :schema.threads.status is 'How it stands: w a question waits, f a task failed, d a step is due, i idle; null: not known yet.';
comment on column :schema.writes.outcome is 'What it says of its task: w it asks, f failed, a answered, A all answered, e ended, n not pending; null: not known.';
comment on function :schema.status_1 is 'How a thread stands, by its rows.';
comment on function :schema.has_writes_1 is 'Whether the head of a thread has pending writes.';
comment on function :schema.threads_by_status_1 is 'Threads by how they stand: listThreads.';
comment on function :schema.remove_1 is 'Takes checkpoints and blobs away: prune.';
comment on function :schema.append_1 is 'Records, blobs, pending writes and head moves of many requests: put, putWrites.';
comment on function :schema.append_thread_1 is 'Records, blobs, pending writes and a head move of one thread: put, putWrites.';
comment on function :schema.copy_rows_1 is 'All of a thread under another id: copyThread.';
