-- Every call of the saver is one call of one of these functions: one statement and one round trip. PL/pgSQL caches plans per server
-- connection without named statements, which poolers in transaction mode can't keep.
-- A function's name ends in its version. A change of signature or meaning gets a new name, so that old and new processes work side by
-- side.
--
-- Since 000007 pieces_1, append_1 and remove_1 are there for processes of older versions alone. Their bytes come packed: one bytea and
-- the length of each piece (-1 for null), which drivers send as binary.

-- The pieces of a packed argument. Not a function in SQL: PostgreSQL would plan it at every call.
create function :schema.pieces_1(lengths integer[], data bytea) returns bytea[] language plpgsql immutable parallel safe as $$
begin
  return array(
    select case when l < 0 then null else substring(data from o + 1 for l) end
      from (select l, n, (sum(greatest(l, 0)) over (order by n rows unbounded preceding) - greatest(l, 0))::integer as o
              from unnest(lengths) with ordinality as u (l, n)) as placed
     order by n
  );
end
$$;

-- Rows of reads: s state (n revision, a head) · c checkpoint (a parent, b lost_to, c run, d blobs, tags, body)
-- · w pending writes (a task, d blobs, n order, body) · b blob (a hash, b base, body) · h head (a id)
-- · t thread (a key, b long id)
create type :schema.read_row_1 as (
  kind text, thread bigint, id bytea, ns bytea, a bytea, b bytea, c bytea, d bytea, n bigint, tags text, body bytea
);

-- Reads look rows up one by one by primary key: "lateral (… offset 0)" leaves the planner no other plan. Forks share ids and hashes
-- with their source, so statistics mislead the planner: with a hundred forks it scanned whole tables for a page of a list. Cost
-- estimates that high would also make PostgreSQL compile each call, hence "jit = off".

-- One checkpoint or the head, with its pending writes; if p_blobs, also with all blobs that it and they need.
create function :schema.read_1(p_key bytea, p_ns bytea, p_id bytea, p_blobs boolean)
returns setof :schema.read_row_1 language plpgsql stable set jit = off as $$
declare
  v_thread bigint;
  v_revision bigint;
  v_head bytea;
  v_id bytea;
begin
  select t.thread, t.revision into v_thread, v_revision from :schema.threads t where t.key = p_key;
  if not found then return; end if;
  select h.id into v_head from :schema.heads h where h.thread = v_thread and h.ns = p_ns;
  v_id := coalesce(p_id, v_head);
  return next ('s', v_thread, v_id, p_ns, v_head, null, null, null, v_revision, null, null)::  :schema.read_row_1;
  if v_id is null then return; end if;
  return query
    select 'w', w.thread, w.id, w.ns, w.task, null::bytea, null::bytea, w.blobs, w.seq, null::text, w.body
      from :schema.writes w where w.thread = v_thread and w.id = v_id and w.ns = p_ns
     order by w.seq, w.part;
  return query
    select 'c', c.thread, c.id, c.ns, c.parent, c.lost_to, c.run, c.blobs, null::bigint, array_to_string(c.tags, ','), c.body
      from :schema.checkpoints c where c.thread = v_thread and c.id = v_id and c.ns = p_ns;
  if not p_blobs then return; end if;
  return query
    with recursive named as (
      select c.blobs as packed from :schema.checkpoints c where c.thread = v_thread and c.id = v_id and c.ns = p_ns
      union all
      select w.blobs from :schema.writes w where w.thread = v_thread and w.id = v_id and w.ns = p_ns and w.blobs <> ''
    ), chain as (
      select b.hash, b.base, b.bytes
        from named, generate_series(1, length(packed), 20) as o,
             lateral (select * from :schema.blobs x where x.thread = v_thread and x.hash = substring(packed from o for 20) offset 0) b
      union all
      select b.hash, b.base, b.bytes
        from chain, lateral (select * from :schema.blobs x where x.thread = v_thread and x.hash = chain.base offset 0) b
    )
    select 'b', v_thread, null::bytea, null::bytea, hash, base, null::bytea, null::bytea, null::bigint, null::text, bytes from chain;
end
$$;

-- A page of checkpoints, newest first, after a cursor. Each call is planned for its own conditions.
create function :schema.list_1(
  p_key bytea, p_ns bytea, p_id bytea, p_before bytea, p_tags integer[], p_runs bytea[], p_lost boolean, p_blobs boolean,
  p_after_thread bigint, p_after_id bytea, p_after_ns bytea, p_limit integer
)
returns setof :schema.read_row_1 language plpgsql stable set plan_cache_mode = force_custom_plan set jit = off as $$
declare
  v_thread bigint;
begin
  if p_key is not null then
    select t.thread into v_thread from :schema.threads t where t.key = p_key;
    if not found then return; end if;
  end if;
  return query
    with recursive page as materialized (
      select c.* from :schema.checkpoints c
       where (v_thread is null or c.thread = v_thread)
         and (p_ns is null or c.ns = p_ns)
         and (p_id is null or c.id = p_id)
         and (p_before is null or c.id < p_before)
         and (p_tags is null or c.tags @> p_tags)
         and (p_runs is null or c.run = any (p_runs))
         and (not p_lost or c.lost_to is not null)
         and (p_after_thread is null or (c.thread, c.id, c.ns) < (p_after_thread, p_after_id, p_after_ns))
       order by c.thread desc, c.id desc, c.ns desc
       limit p_limit
    ), pending as materialized (
      select w.* from page p, lateral (select * from :schema.writes x where x.thread = p.thread and x.id = p.id and x.ns = p.ns offset 0) w
    ), named as (
      select thread, blobs from page where p_blobs
      union all
      select thread, blobs from pending where p_blobs and blobs <> ''
    ), chain as (
      select b.thread, b.hash, b.base
        from named, generate_series(1, length(named.blobs), 20) as o,
             lateral (select * from :schema.blobs x where x.thread = named.thread and x.hash = substring(named.blobs from o for 20) offset 0) b
      union
      select b.thread, b.hash, b.base
        from chain, lateral (select * from :schema.blobs x where x.thread = chain.thread and x.hash = chain.base offset 0) b
    )
    (select 'c', c.thread, c.id, c.ns, c.parent, c.lost_to, c.run, c.blobs, null::bigint, array_to_string(c.tags, ','), c.body
       from page c order by c.thread desc, c.id desc, c.ns desc)
    union all
    (select 'w', w.thread, w.id, w.ns, w.task, null, null, w.blobs, w.seq, null, w.body from pending w order by w.seq, w.part)
    union all
    select 'b', b.thread, null, null, b.hash, b.base, null, null, null, null, b.bytes
      from chain, lateral (select * from :schema.blobs x where x.thread = chain.thread and x.hash = chain.hash offset 0) b
    union all
    select 'h', h.thread, null, h.ns, h.id, null, null, null, null, null, null
      from (select distinct thread, ns from page) p join :schema.heads h on h.thread = p.thread and h.ns = p.ns
    union all
    select 't', t.thread, null, null, t.key, t.long_id, null, null, null, null, null
      from :schema.threads t where t.thread in (select thread from page);
end
$$;

-- The ancestors of a checkpoint, nearest first, until every seed tag was met; with the blobs of pending writes and of records
-- that carry a seed tag.
create function :schema.ancestry_1(p_key bytea, p_ns bytea, p_id bytea, p_tags integer[], p_limit integer)
returns setof :schema.read_row_1 language plpgsql stable set jit = off as $$
declare
  v_thread bigint;
begin
  select t.thread into v_thread from :schema.threads t where t.key = p_key;
  if not found then return; end if;
  return query
    with recursive walk as (
      select c.id, c.parent, p_tags as open, 0 as depth
        from :schema.checkpoints c where c.thread = v_thread and c.id = p_id and c.ns = p_ns
      union all
      select c.id, c.parent, array(select unnest(walk.open) except select unnest(c.tags)), walk.depth + 1
        from walk, lateral (select * from :schema.checkpoints x where x.thread = v_thread and x.id = walk.parent and x.ns = p_ns offset 0) c
       where walk.depth < p_limit and cardinality(walk.open) > 0
    ), page as materialized (
      select c.*, walk.depth from walk, lateral (select * from :schema.checkpoints x where x.thread = v_thread and x.id = walk.id and x.ns = p_ns offset 0) c
       where walk.depth > 0
    ), pending as materialized (
      select w.* from page p, lateral (select * from :schema.writes x where x.thread = v_thread and x.id = p.id and x.ns = p_ns offset 0) w
    ), named as (
      select blobs from page where page.tags && p_tags
      union all
      select blobs from pending where blobs <> ''
    ), chain as (
      select b.hash, b.base
        from named, generate_series(1, length(named.blobs), 20) as o,
             lateral (select * from :schema.blobs x where x.thread = v_thread and x.hash = substring(named.blobs from o for 20) offset 0) b
      union
      select b.hash, b.base
        from chain, lateral (select * from :schema.blobs x where x.thread = v_thread and x.hash = chain.base offset 0) b
    )
    (select 'c', c.thread, c.id, c.ns, c.parent, c.lost_to, c.run, c.blobs, null::bigint, array_to_string(c.tags, ','), c.body
       from page c order by c.depth)
    union all
    (select 'w', w.thread, w.id, w.ns, w.task, null, null, w.blobs, w.seq, null, w.body from pending w order by w.seq, w.part)
    union all
    select 'b', v_thread, null, null, b.hash, b.base, null, null, null, null, b.bytes
      from chain, lateral (select * from :schema.blobs x where x.thread = v_thread and x.hash = chain.hash offset 0) b;
end
$$;

-- Records, blobs, pending writes and heads: many requests in one transaction, each all or nothing. Requests of one thread are in
-- rounds, one after another; the rest is done by sets, which costs a request among sixteen a fifth of what it costs alone.
-- A call for several threads waits for no lock of a thread that is there: "busy" says to send its requests alone. New rows are
-- inserted in the order of their keys. So calls never wait for each other in a circle, and one thread holds up no other.
--
-- p_rounds: how many requests each round has. Per request: p_seen, the revision its writer read; p_flags: 1 relies on stored
-- blobs, 2 goes on with a thread, 4 branches where a head may not move. p_records, p_blobs, p_writes, p_long_ids, p_heads: the
-- request of each. Per record: p_tags; p_places: the head move of its namespace, 0 for none. Per head: p_head_at, the piece before
-- its first; p_expected, how many expected heads, -1 for any.
-- pieces: request (key, long id)* record (id, ns, parent, lost_to, run, blobs, body)* blob (hash, base, bytes)*
--         write (id, ns, task, blobs, body)* long id (key, id)* head (ns, to, expected*)*
-- Answers one row per head move, or one of a request without any: head where it stands if it wasn't moved; moved is null where
-- the conflict is.
create function :schema.append_1(
  p_rounds integer[], p_seen bigint[], p_flags integer[],
  p_records integer[], p_tags text[], p_places integer[], p_blobs integer[], p_writes integer[], p_long_ids integer[],
  p_heads integer[], p_head_at integer[], p_expected integer[], p_starts integer[], p_lengths integer[], p_data bytea
)
returns table (status text, revision bigint, head bytea, moved boolean)
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  x bytea[] := array(select case when l >= 0 then substring(p_data from s for l) end from unnest(p_starts, p_lengths) as u (s, l));
  o_records integer := 2 * cardinality(p_seen);
  o_blobs integer := o_records + 7 * cardinality(p_records);
  o_writes integer := o_blobs + 3 * cardinality(p_blobs);
  o_long_ids integer := o_writes + 5 * cardinality(p_writes);
  v_size integer;
  v_first integer;
  v_last integer := 0;
  v_thread bigint[] := '{}';
  v_revision bigint[] := '{}';
  v_status text[] := '{}';
  v_head bytea[] := '{}';
  v_moved boolean[] := '{}';
  v_keeps boolean[];
  v_lost bytea[];
  v_wakes boolean;
  v_refuses boolean;
  v_stays boolean;
  v_busy bytea[] := '{}';
begin
  if p_rounds[1] > 1 then
    with named as materialized (
      select array(select x[g * 2 - 1] from generate_series(1, p_rounds[1]) as g) as keys
    ), locked as materialized (
      select t.thread from :schema.threads t where t.key = any ((select keys from named)::bytea[]) order by t.key for update skip locked
    )
    select coalesce(array_agg(t.key), '{}') into v_busy
      from :schema.threads t
     where t.key = any ((select keys from named)::bytea[]) and t.thread not in (select thread from locked);
  end if;

  foreach v_size in array p_rounds loop
    v_first := v_last + 1;
    v_last := v_last + v_size;

    -- A new row is live from the start if it will have a head: nothing can refuse its first request.
    with opened as (
      insert into :schema.threads as t (key, long_id, revision, live, written_at)
      select x[g * 2 - 1], x[g * 2], 1, g = any (p_heads), date_trunc('minute', now())
        from generate_series(v_first, v_last) as g
       where x[g * 2 - 1] <> all (v_busy)
       order by 1
      on conflict (key) do update set revision = t.revision + 1, written_at = excluded.written_at
      returning t.*
    ), judged as (
      select g, o.thread, o.revision, not o.live or o.evicted as sleeps,
             case
               when o.thread is null then 'busy'
               when p_seen[g] < o.deleted_at then 'deleted'
               when o.deleted_at > 0 and not o.live and (p_flags[g] & 2) > 0 then 'deleted'
               when (p_flags[g] & 1) > 0 and coalesce(p_seen[g], 0) < o.removed_at then 'stale'
               else 'ok'
             end as status
        from generate_series(v_first, v_last) as g left join opened o on o.key = x[g * 2 - 1]
       order by g
    )
    select v_thread || array_agg(j.thread), v_revision || array_agg(j.revision), v_status || array_agg(j.status),
           bool_or(j.sleeps), bool_or(j.status <> 'ok')
      into v_thread, v_revision, v_status, v_wakes, v_refuses
      from judged j;

    select v_head || coalesce(array_agg(m.head), '{}'), v_moved || coalesce(array_agg(m.may), '{}'), coalesce(bool_or(not m.may), false)
      into v_head, v_moved, v_stays
      from (
        select h.head, h.head is null or h.head = x[h.o + 2] or h.n < 0
                 or exists (select from generate_series(h.o + 3, h.o + 2 + h.n) as e where x[e] = h.head) as may
          from (
            select p_head_at[m] as o, p_expected[m] as n,
                   (select h.id from :schema.heads h where h.thread = v_thread[p_heads[m]] and h.ns = x[p_head_at[m] + 1]) as head
              from generate_series(1, cardinality(p_heads)) as m
             where p_heads[m] between v_first and v_last
             order by m
            offset 0
          ) as h
      ) as m;
    if v_stays then
      -- Overtaken: the head was made from it (LangGraph's "exit" durability puts two checkpoints at once). Stored, the head stays.
      v_keeps := array(
        select v_moved[m] or exists (
                 select from :schema.checkpoints c
                  where c.thread = v_thread[p_heads[m]] and c.id = v_head[m] and c.ns = x[p_head_at[m] + 1] and c.parent = x[p_head_at[m] + 2]
               )
          from generate_subscripts(v_moved, 1) as m order by m
      );
      v_moved := array(
        select case
                 when v_keeps[m] or (p_flags[p_heads[m]] & 4) > 0 or v_status[p_heads[m]] <> 'ok'
                   or p_heads[m] < v_first or exists (
                     select from :schema.checkpoints c
                      where c.thread = v_thread[p_heads[m]] and c.id = x[p_head_at[m] + 2] and c.ns = x[p_head_at[m] + 1]
                   )
                   then v_moved[m]
               end
          from generate_subscripts(v_moved, 1) as m order by m
      );
      v_status := array(
        select case when exists (select from unnest(p_heads, v_moved) as m (q, moved) where m.q = g and m.moved is null)
                    then 'conflict' else v_status[g] end
          from generate_subscripts(v_status, 1) as g order by g
      );
      -- What the loser of a race is marked with, unless it is stored already.
      v_lost := array(
        select (select c.lost_to from :schema.checkpoints c
                 where c.thread = v_thread[r.q] and c.id = x[r.o + 1] and c.ns = x[r.o + 2]
                union all
                select case when v_keeps[r.place] then x[r.o + 4] else v_head[r.place] end
                 limit 1)
          from (select i, p_records[i] as q, p_places[i] as place, o_records + (i - 1) * 7 as o
                  from generate_subscripts(p_records, 1) as i) as r
         order by r.i
      );
    end if;
    if v_stays or v_refuses then
      -- A refused request changes nothing. The row is locked, so nobody saw it.
      update :schema.threads t set revision = t.revision - 1
       where t.thread = any (array(select v_thread[g] from generate_series(v_first, v_last) as g where v_status[g] <> 'ok'));
    end if;
    if v_wakes then
      update :schema.threads t set live = true, evicted = false
       where (not t.live or t.evicted)
         and t.thread = any (array(
           select v_thread[g] from generate_series(v_first, v_last) as g where v_status[g] = 'ok' and g = any (p_heads)
         ));
    end if;

    insert into :schema.blobs (thread, hash, base, bytes)
    select v_thread[p_blobs[i]], x[o_blobs + i * 3 - 2], x[o_blobs + i * 3 - 1], x[o_blobs + i * 3]
      from generate_series(1, cardinality(p_blobs)) as i
     where p_blobs[i] between v_first and v_last and v_status[p_blobs[i]] = 'ok'
    on conflict do nothing;

    insert into :schema.checkpoints as c (thread, id, ns, parent, lost_to, run, tags, blobs, body)
    select v_thread[r.q], x[r.o + 1], x[r.o + 2], x[r.o + 3],
           case when r.place = 0 or v_moved[r.place] then x[r.o + 4] else v_lost[r.i] end,
           x[r.o + 5], p_tags[r.i]::integer[], x[r.o + 6], x[r.o + 7]
      from (select i, p_records[i] as q, p_places[i] as place, o_records + (i - 1) * 7 as o
              from generate_series(1, cardinality(p_records)) as i) as r
     where r.q between v_first and v_last and v_status[r.q] = 'ok'
    on conflict (thread, id, ns) do update
      set parent = excluded.parent, lost_to = excluded.lost_to, run = excluded.run, tags = excluded.tags, blobs = excluded.blobs,
          body = excluded.body;

    if cardinality(p_writes) > 0 then
      insert into :schema.writes (thread, id, ns, seq, part, task, blobs, body)
      select v_thread[w.q], x[w.o + 1], x[w.o + 2], v_revision[w.q], w.i, x[w.o + 3], x[w.o + 4], x[w.o + 5]
        from (select i, p_writes[i] as q, o_writes + (i - 1) * 5 as o from generate_series(1, cardinality(p_writes)) as i) as w
       where w.q between v_first and v_last and v_status[w.q] = 'ok';
    end if;

    if cardinality(p_long_ids) > 0 then
      insert into :schema.long_ids (thread, key, id)
      select v_thread[p_long_ids[i]], x[o_long_ids + i * 2 - 1], x[o_long_ids + i * 2]
        from generate_series(1, cardinality(p_long_ids)) as i
       where p_long_ids[i] between v_first and v_last and v_status[p_long_ids[i]] = 'ok'
      on conflict do nothing;
    end if;

    insert into :schema.heads as h (thread, ns, id)
    select distinct on (v_thread[p_heads[m]], x[p_head_at[m] + 1]) v_thread[p_heads[m]], x[p_head_at[m] + 1], x[p_head_at[m] + 2]
      from generate_series(1, cardinality(p_heads)) as m
     where p_heads[m] between v_first and v_last and v_moved[m] and v_status[p_heads[m]] = 'ok'
     order by 1, 2, m desc
    on conflict (thread, ns) do update set id = excluded.id where h.id <> excluded.id;
  end loop;

  return query
    select v_status[g], v_revision[g], case when v_moved[m] then null else v_head[m] end, v_moved[m]
      from generate_series(1, v_last) as g left join generate_subscripts(p_heads, 1) as m on p_heads[m] = g
     order by g, m;
end
$$;

-- Takes checkpoints away if the thread is still at p_revision.
-- p_counts: checkpoints, dropped blobs, replaced blobs, heads.
-- pieces: checkpoint (id, ns)* dropped hash* replaced (hash, base, bytes)* head (ns, to or null)*
create function :schema.remove_1(p_key bytea, p_revision bigint, p_counts integer[], p_lengths integer[], p_data bytea)
returns boolean language plpgsql as $$
declare
  v_thread bigint;
  x bytea[] := :schema.pieces_1(p_lengths, p_data);
  o integer := p_counts[1] * 2;
begin
  select t.thread into v_thread from :schema.threads t where t.key = p_key and t.revision = p_revision for update;
  if not found then return false; end if;
  delete from :schema.writes w using generate_series(1, p_counts[1]) as g
   where w.thread = v_thread and w.id = x[g * 2 - 1] and w.ns = x[g * 2];
  delete from :schema.checkpoints c using generate_series(1, p_counts[1]) as g
   where c.thread = v_thread and c.id = x[g * 2 - 1] and c.ns = x[g * 2];
  delete from :schema.blobs b where b.thread = v_thread and b.hash = any (x[o + 1 : o + p_counts[2]]);
  o := o + p_counts[2];
  insert into :schema.blobs as b (thread, hash, base, bytes)
  select v_thread, x[o + g * 3 - 2], x[o + g * 3 - 1], x[o + g * 3] from generate_series(1, p_counts[3]) as g
  on conflict (thread, hash) do update set base = excluded.base, bytes = excluded.bytes;
  o := o + p_counts[3] * 3;
  delete from :schema.heads h using generate_series(1, p_counts[4]) as g
   where h.thread = v_thread and h.ns = x[o + g * 2 - 1] and x[o + g * 2] is null;
  update :schema.heads h set id = x[o + g * 2] from generate_series(1, p_counts[4]) as g
   where h.thread = v_thread and h.ns = x[o + g * 2 - 1] and x[o + g * 2] is not null;
  update :schema.threads t
     set revision = p_revision + 1, removed_at = p_revision + 1,
         live = exists (select from :schema.heads h where h.thread = v_thread)
   where t.thread = v_thread;
  return true;
end
$$;

-- Deletes all bytes of a thread and keeps its heads, if the thread is still at p_revision.
create function :schema.evict_1(p_key bytea, p_revision bigint) returns boolean language plpgsql as $$
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
create function :schema.delete_thread_1(p_key bytea) returns void language plpgsql as $$
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

-- Copies a whole thread to another key. Repeating it changes nothing.
create function :schema.copy_thread_1(p_source bytea, p_target bytea, p_long_id bytea) returns boolean language plpgsql as $$
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
  insert into :schema.checkpoints select v_target.thread, c.id, c.ns, c.parent, c.lost_to, c.run, c.tags, c.blobs, c.body
    from :schema.checkpoints c where c.thread = v_source on conflict do nothing;
  insert into :schema.blobs select v_target.thread, b.hash, b.base, b.bytes from :schema.blobs b where b.thread = v_source on conflict do nothing;
  insert into :schema.writes select v_target.thread, w.id, w.ns, w.seq, w.part, w.task, w.blobs, w.body
    from :schema.writes w where w.thread = v_source on conflict do nothing;
  insert into :schema.heads select v_target.thread, h.ns, h.id from :schema.heads h where h.thread = v_source on conflict do nothing;
  insert into :schema.long_ids select v_target.thread, l.key, l.id from :schema.long_ids l where l.thread = v_source on conflict do nothing;
  update :schema.threads t set revision = greatest(t.revision, v_revision) + 1, live = true, evicted = false where t.thread = v_target.thread;
  return true;
end
$$;

-- Threads with a head, by age, after a cursor (an instant and a thread key).
create function :schema.threads_1(p_before timestamptz, p_newest boolean, p_evicted boolean, p_after timestamptz, p_after_key bytea, p_limit integer)
returns table (key bytea, long_id bytea, revision bigint, head bytea, thread bigint, written_ms bigint, evicted boolean)
language plpgsql stable set plan_cache_mode = force_custom_plan as $$
declare
  v_after bigint;
begin
  if p_after is not null then select t.thread into v_after from :schema.threads t where t.key = p_after_key; end if;
  if p_newest then
    return query
      select t.key, t.long_id, t.revision, h.id, t.thread, (extract(epoch from t.written_at) * 1000)::bigint, t.evicted
        from :schema.threads t left join :schema.heads h on h.thread = t.thread and h.ns = ''
       where t.live and (p_before is null or t.written_at < p_before) and (p_evicted or not t.evicted)
         and (p_after is null or (t.written_at, t.thread) < (p_after, coalesce(v_after, 0)))
       order by t.written_at desc, t.thread desc limit p_limit;
  else
    return query
      select t.key, t.long_id, t.revision, h.id, t.thread, (extract(epoch from t.written_at) * 1000)::bigint, t.evicted
        from :schema.threads t left join :schema.heads h on h.thread = t.thread and h.ns = ''
       where t.live and (p_before is null or t.written_at < p_before) and (p_evicted or not t.evicted)
         and (p_after is null or (t.written_at, t.thread) > (p_after, coalesce(v_after, 0)))
       order by t.written_at, t.thread limit p_limit;
  end if;
end
$$;

-- The blobs of a thread, without bytes.
create function :schema.blobs_1(p_key bytea) returns table (hash bytea, base bytea, size integer) language sql stable as $$
  select b.hash, b.base, length(b.bytes) from :schema.blobs b join :schema.threads t using (thread) where t.key = p_key
$$;

-- The originals of long ids.
create function :schema.long_ids_1(p_keys bytea[]) returns table (key bytea, id bytea) language sql stable as $$
  select distinct l.key, l.id from :schema.long_ids l where l.key = any (p_keys)
$$;

-- Takes or prolongs a lease, or gives it back (p_ms 0). The database's clock decides, so that workers' clocks don't matter.
create function :schema.lease_1(p_name bytea, p_holder bytea, p_ms double precision) returns boolean language plpgsql as $$
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
