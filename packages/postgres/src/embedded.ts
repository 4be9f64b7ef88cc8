// Generated from the .sql and .lua files of this package by `pnpm embed`. Do not edit.

/** By file name, or by the names inside a file. */
export const sql = {
  "000001": `create table :schema.threads (
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
    left join :schema.heads h on h.thread = c.thread and h.ns = c.ns and h.id = c.id;`,
  "000002": `create function :schema.pieces_1(lengths integer[], data bytea) returns bytea[] language plpgsql immutable parallel safe as $$
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
$$;`,
  "000003": `create function :schema.outline_1(p_key bytea, p_id bytea) returns setof :schema.read_row_1 language plpgsql stable as $$
declare
  v_thread bigint;
  v_revision bigint;
  v_head bytea;
  v_id bytea;
begin
  select t.thread, t.revision into v_thread, v_revision from :schema.threads t where t.key = p_key;
  if not found then return; end if;
  select h.id into v_head from :schema.heads h where h.thread = v_thread and h.ns = '';
  v_id := coalesce(p_id, v_head);
  return next ('s', v_thread, v_id, '', v_head,
    case when exists (select from :schema.checkpoints c where c.thread = v_thread and c.ns = '' and c.parent = v_id) then v_id end,
    null, null, v_revision, null, null)::  :schema.read_row_1;
  return query
    with tip as materialized (
      select h.id, h.ns from :schema.heads h where h.thread = v_thread
      union
      select v_id, '' where v_id is not null
    )
    (select 'w', w.thread, w.id, w.ns, w.task, null::bytea, null::bytea, w.blobs, w.seq, null::text, w.body
       from tip,
            lateral (select * from :schema.writes w where w.thread = v_thread and w.id = tip.id and w.ns = tip.ns offset 0) as w
      order by w.seq, w.part)
    union all
    select 'c', c.thread, c.id, c.ns, c.parent, c.lost_to, c.run, c.blobs, null, array_to_string(c.tags, ','), c.body
      from tip,
           lateral (select * from :schema.checkpoints c where c.thread = v_thread and c.id = tip.id and c.ns = tip.ns offset 0) as c
    union all
    select 'h', h.thread, null, h.ns, h.id, null, null, null, null, null, null from :schema.heads h where h.thread = v_thread;
end
$$;

-- Tips of a thread, with ancestors, pending writes and all blobs that these need, as a new thread; and an append to it.
-- Nothing is done where the target has a head ('exists'), or where a tip or a blob isn't here or was
-- removed after p_seen ('missing').
-- p_tips: (ns, id) per tip, packed. p_depths, p_until, p_places_of: per tip, as a ForkTip says. The rest: as append_1's, of one request;
-- its heads are those of the tips too.
create function :schema.fork_1(
  p_source bytea, p_seen bigint, p_key bytea, p_long_id bytea,
  p_tip_lengths integer[], p_tips bytea, p_depths integer[], p_until text[], p_places_of text[],
  p_records integer[], p_tags text[], p_places integer[], p_blobs integer[], p_writes integer[], p_long_ids integer[],
  p_heads integer[], p_head_at integer[], p_expected integer[], p_starts integer[], p_lengths integer[], p_data bytea
)
returns table (status text, head bytea, checkpoints bigint, bytes bigint) language plpgsql
-- Planning costs as much as copying, so it is done once per connection, and for any thread. Compiling took 1.1 s a call. It begins
-- where the planner guesses many rows, so hashes and tips go through arrays, which it takes for ten rows, and guesses don't multiply.
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  x bytea[] := :schema.pieces_1(p_tip_lengths, p_tips);
  v_source bigint;
  v_target :schema.threads;
  v_head bytea;
  v_tips bigint;
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
    select c.*, t.depth, t.until::integer[] as open, t.places::integer[] as places
      from unnest(p_depths, p_until, p_places_of) with ordinality as t (depth, until, places, n),
           lateral (
             select c.id, c.ns, c.parent, c.run, c.tags, c.blobs, c.body from :schema.checkpoints c
              where c.thread = v_source and c.id = x[t.n * 2] and c.ns = x[t.n * 2 - 1] offset 0
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
    into v_tips, v_complete, v_checkpoints, v_bytes;
  if v_tips < cardinality(p_depths) or v_complete is not true then raise sqlstate 'SG001'; end if;

  insert into :schema.long_ids (thread, key, id)
  select v_target.thread, l.key, l.id from :schema.long_ids l where l.thread = v_source on conflict do nothing;
  if exists (
    select from :schema.append_1(
      array[1], array[null]::bigint[], array[0], p_records, p_tags, p_places, p_blobs, p_writes, p_long_ids,
      p_heads, p_head_at, p_expected, p_starts, p_lengths, p_data
    ) as a where a.status <> 'ok'
  ) then raise sqlstate 'SG001'; end if;
  return query select 'ok', null::bytea, v_checkpoints, v_bytes;
exception when sqlstate 'SG001' then
  return query select 'missing', null::bytea, null::bigint, null::bigint;
end
$$;`,
  "000004": `alter function :schema.append_1 set lock_timeout = '4s';
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
    when get_byte(key, 0) = 2 and position('\\x00'::bytea in key) = 0 and getdatabaseencoding() = 'UTF8'
      then convert_from(substring(key from 2), 'UTF8')
    when get_byte(key, 0) = 2 then encode(substring(key from 2), 'escape')
    else encode(key, 'hex')
  end
$$;

-- The key of an id: the other way round.
create function :schema.id_key(id text) returns bytea language sql immutable parallel safe as $$
  select case
    when id = '' then ''::bytea
    when id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then '\\x01'::bytea || decode(replace(id, '-', ''), 'hex')
    when length(convert_to(id, 'UTF8')) > 512 then '\\x03'::bytea || sha256(convert_to(id, 'UTF8'))
    else '\\x02'::bytea || convert_to(id, 'UTF8')
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
  select case when t.long_id is null then :schema.id_text(t.key) else :schema.id_text('\\x02'::bytea || t.long_id) end as thread_id,
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
  select case when t.long_id is null then :schema.id_text(t.key) else :schema.id_text('\\x02'::bytea || t.long_id) end as thread_id,
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
comment on function :schema.sweep_1 is 'Takes away what dead writers and deletions left: maintenance.';`,
  "000005": `create table :schema.thread_tags (
  thread bigint not null,
  key bytea not null,
  value bytea not null,
  primary key (thread, key, value)
);

create index thread_tags_by_tag on :schema.thread_tags (key, value, thread);

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

-- Gives a thread the tags of another one, in the transaction that made it from that one.
create function :schema.inherit_tags_1(p_source bytea, p_target bytea) returns void language sql as $$
  insert into :schema.thread_tags (thread, key, value)
  select t.thread, g.key, g.value
    from :schema.threads t, :schema.threads s join :schema.thread_tags g on g.thread = s.thread
   where s.key = p_source and t.key = p_target
  on conflict do nothing
$$;

-- copy_thread_1, with the tags.
create function :schema.copy_thread_2(p_source bytea, p_target bytea, p_long_id bytea) returns boolean language plpgsql as $$
begin
  if not :schema.copy_thread_1(p_source, p_target, p_long_id) then return false; end if;
  perform :schema.inherit_tags_1(p_source, p_target);
  return true;
end
$$;

-- fork_1, with the source's tags. Since 000007 for processes of older versions alone.
create function :schema.fork_2(
  p_source bytea, p_seen bigint, p_key bytea, p_long_id bytea,
  p_tip_lengths integer[], p_tips bytea, p_depths integer[], p_until text[], p_places_of text[],
  p_records integer[], p_tags text[], p_places integer[], p_blobs integer[], p_writes integer[], p_long_ids integer[],
  p_heads integer[], p_head_at integer[], p_expected integer[], p_starts integer[], p_lengths integer[], p_data bytea
)
returns table (status text, head bytea, checkpoints bigint, bytes bigint) language plpgsql
set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  select f.status, f.head, f.checkpoints, f.bytes into status, head, checkpoints, bytes
    from :schema.fork_1(
      p_source, p_seen, p_key, p_long_id, p_tip_lengths, p_tips, p_depths, p_until, p_places_of, p_records, p_tags,
      p_places, p_blobs, p_writes, p_long_ids, p_heads, p_head_at, p_expected, p_starts, p_lengths, p_data
    ) as f;
  if status = 'ok' then perform :schema.inherit_tags_1(p_source, p_key); end if;
  return next;
end
$$;

-- Threads as threads_1 has them: those that carry all of some tags (p_keys, p_values; null: all threads), and those whose newest root
-- checkpoint is here and carries all of p_head_tags, or isn't here (null: all). With p_head_tags that checkpoint comes along.
-- Few threads carry a tag, so they are looked up first and sorted; without tags the order comes from the index. Rows are looked
-- up one by one, as in 000002.sql.
create function :schema.threads_2(
  p_before timestamptz, p_newest boolean, p_evicted boolean, p_after timestamptz, p_after_key bytea, p_limit integer,
  p_keys bytea[], p_values bytea[], p_head_tags integer[]
)
returns table (
  key bytea, long_id bytea, revision bigint, head bytea, thread bigint, written_ms bigint, evicted boolean,
  parent bytea, lost_to bytea, run bytea, blobs bytea, tags text, body bytea
)
language plpgsql stable set plan_cache_mode = force_custom_plan set jit = off as $$
#variable_conflict use_column
declare
  v_after bigint;
begin
  if p_after is not null then
    select coalesce((select t.thread from :schema.threads t where t.key = p_after_key), 0) into v_after;
  end if;
  if p_keys is not null then
    return query
      with tagged as materialized (
        select g.thread from :schema.thread_tags g where g.key = p_keys[1] and g.value = p_values[1]
           and not exists (
             select from unnest(p_keys, p_values) as u (k, v)
              where not exists (
                select from :schema.thread_tags x where x.thread = g.thread and x.key = u.k and x.value = u.v
              )
           )
      )
      select t.key, t.long_id, t.revision, h.id, t.thread, (extract(epoch from t.written_at) * 1000)::bigint, t.evicted,
             c.parent, c.lost_to, c.run, c.blobs, array_to_string(c.tags, ','), c.body
        from tagged,
             lateral (select * from :schema.threads x where x.thread = tagged.thread offset 0) t
             left join lateral (select * from :schema.heads x where x.thread = t.thread and x.ns = '' offset 0) h on true
             left join lateral (
               select * from :schema.checkpoints x where p_head_tags is not null and x.thread = t.thread and x.id = h.id and x.ns = '' offset 0
             ) c on true
       where t.live and (p_before is null or t.written_at < p_before) and (p_evicted or not t.evicted)
         and (c.id is null or c.tags @> p_head_tags)
         and (p_after is null
              or case when p_newest then (t.written_at, t.thread) < (p_after, v_after) else (t.written_at, t.thread) > (p_after, v_after) end)
       order by case when p_newest then t.written_at end desc, case when p_newest then t.thread end desc, t.written_at, t.thread
       limit p_limit;
  elsif p_newest then
    return query
      select t.key, t.long_id, t.revision, h.id, t.thread, (extract(epoch from t.written_at) * 1000)::bigint, t.evicted,
             c.parent, c.lost_to, c.run, c.blobs, array_to_string(c.tags, ','), c.body
        from :schema.threads t
             left join lateral (select * from :schema.heads x where x.thread = t.thread and x.ns = '' offset 0) h on true
             left join lateral (
               select * from :schema.checkpoints x where p_head_tags is not null and x.thread = t.thread and x.id = h.id and x.ns = '' offset 0
             ) c on true
       where t.live and (p_before is null or t.written_at < p_before) and (p_evicted or not t.evicted)
         and (c.id is null or c.tags @> p_head_tags)
         and (p_after is null or (t.written_at, t.thread) < (p_after, v_after))
       order by t.written_at desc, t.thread desc limit p_limit;
  else
    return query
      select t.key, t.long_id, t.revision, h.id, t.thread, (extract(epoch from t.written_at) * 1000)::bigint, t.evicted,
             c.parent, c.lost_to, c.run, c.blobs, array_to_string(c.tags, ','), c.body
        from :schema.threads t
             left join lateral (select * from :schema.heads x where x.thread = t.thread and x.ns = '' offset 0) h on true
             left join lateral (
               select * from :schema.checkpoints x where p_head_tags is not null and x.thread = t.thread and x.id = h.id and x.ns = '' offset 0
             ) c on true
       where t.live and (p_before is null or t.written_at < p_before) and (p_evicted or not t.evicted)
         and (c.id is null or c.tags @> p_head_tags)
         and (p_after is null or (t.written_at, t.thread) > (p_after, v_after))
       order by t.written_at, t.thread limit p_limit;
  end if;
end
$$;

comment on table :schema.thread_tags is 'Tags of threads: who and what each belongs to. Under encryption the values are keyed hashes.';
comment on column :schema.thread_tags.thread is 'Number of the thread in all tables.';
comment on column :schema.thread_tags.key is 'Name of the tag in UTF-8: convert_from(key, ''UTF8'').';
comment on column :schema.thread_tags.value is 'Its value in UTF-8: convert_from(value, ''UTF8'').';
comment on function :schema.drop_tags_1 is 'Takes the tags of a deleted thread away: a trigger.';
comment on function :schema.tag_thread_1 is 'Adds tags to a thread: tagThread.';
comment on function :schema.inherit_tags_1 is 'Gives a copy the tags of its source.';
comment on function :schema.copy_thread_2 is 'All of a thread under another id, with its tags: copyThread.';
comment on function :schema.fork_2 is 'A part of a thread as a new thread, with its tags: fork.';
comment on function :schema.threads_2 is 'A page of threads by age, tags, and tags of their newest checkpoints: listThreads.';`,
  "000006": `create function :schema.append_2(
  p_rounds integer[], p_seen bigint[], p_flags integer[],
  p_records integer[], p_tags text[], p_places integer[], p_blobs integer[], p_writes integer[], p_long_ids integer[],
  p_heads integer[], p_head_at integer[], p_expected integer[], p_starts integer[], p_lengths integer[], p_data bytea
)
returns table (status text, revision bigint, head bytea, moved boolean)
language plpgsql set plan_cache_mode = force_generic_plan set lock_timeout = '4s' as $$
declare
  x bytea[] := array(select case when l >= 0 then substring(p_data from s for l) end from unnest(p_starts, p_lengths) as u (s, l));
  n integer := cardinality(p_seen);
  r integer := 2 * n;
  b integer := r + 7 * cardinality(p_records);
  w integer := b + 3 * cardinality(p_blobs);
  h integer := p_head_at[1];
  v_thread bigint;
  v_revision bigint;
  v_head bytea;
  v_plain boolean := cardinality(p_rounds) = n and cardinality(p_records) <= 1 and cardinality(p_heads) <= 1 and cardinality(p_long_ids) = 0;
begin
  if v_plain then
    select t.thread, t.revision,
           not t.evicted and (t.live or t.deleted_at = 0) and (t.deleted_at <= all (p_seen)) is not false
             and (t.removed_at = 0 or (t.removed_at <= all (p_seen)) is true)
      into v_thread, v_revision, v_plain
      from :schema.threads t where t.key = x[1] for no key update;
    if not found then
      insert into :schema.threads as t (key, long_id, revision, live, written_at)
      values (x[1], x[2], n, h is not null, date_trunc('minute', now()))
      on conflict do nothing returning t.thread, 0 into v_thread, v_revision;
      v_plain := found;
    elsif v_plain then
      -- A statement of its own: one that waited for the lock would see the head from before.
      select e.id into v_head from :schema.heads e where e.thread = v_thread and e.ns = x[h + 1];
      v_plain := v_head is null or p_expected[1] < 0 or v_head = x[h + 2] or v_head = any (x[h + 3 : h + 2 + p_expected[1]]);
      if v_plain then
        update :schema.threads t
           set revision = t.revision + n, live = t.live or h is not null, written_at = date_trunc('minute', now())
         where t.thread = v_thread;
      end if;
    end if;
  end if;
  if v_plain is not true then
    -- Nothing was written yet.
    return query select * from :schema.append_1(
      p_rounds, p_seen, p_flags, p_records, p_tags, p_places, p_blobs, p_writes, p_long_ids, p_heads, p_head_at, p_expected,
      p_starts, p_lengths, p_data
    );
    return;
  end if;

  for i in 1 .. cardinality(p_blobs) loop
    insert into :schema.blobs (thread, hash, base, bytes) values (v_thread, x[b + 1], x[b + 2], x[b + 3]) on conflict do nothing;
    b := b + 3;
  end loop;
  if cardinality(p_records) = 1 then
    insert into :schema.checkpoints as c (thread, id, ns, parent, lost_to, run, tags, blobs, body)
    values (v_thread, x[r + 1], x[r + 2], x[r + 3], x[r + 4], x[r + 5], p_tags[1]::integer[], x[r + 6], x[r + 7])
    on conflict (thread, id, ns) do update
      set parent = excluded.parent, lost_to = excluded.lost_to, run = excluded.run, tags = excluded.tags, blobs = excluded.blobs,
          body = excluded.body;
  end if;
  for i in 1 .. cardinality(p_writes) loop
    insert into :schema.writes (thread, id, ns, seq, part, task, blobs, body)
    values (v_thread, x[w + 1], x[w + 2], v_revision + p_writes[i], i, x[w + 3], x[w + 4], x[w + 5]);
    w := w + 5;
  end loop;
  if v_head is null and h is not null then
    insert into :schema.heads (thread, ns, id) values (v_thread, x[h + 1], x[h + 2]);
  elsif v_head <> x[h + 2] then
    update :schema.heads e set id = x[h + 2] where e.thread = v_thread and e.ns = x[h + 1];
  end if;

  status := 'ok';
  for g in 1 .. n loop
    revision := v_revision + g;
    moved := case when g = p_heads[1] then true end;
    return next;
  end loop;
end
$$;

comment on function :schema.append_2 is 'Records, blobs, pending writes and a head move of one thread: put, putWrites.';`,
  "000007": `create type :schema.append_request_1 as (
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
comment on function :schema.remove_1 is 'For processes of versions before 000007: remove_2.';`,
  "000008": `create table :schema.locks (
  name bytea primary key,
  holder bytea not null,
  token bigint not null,
  since timestamptz not null,
  until timestamptz not null
) with (fillfactor = 70);

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

comment on table :schema.locks is 'Who works on a thread now, and until when: withThread.';
comment on column :schema.locks.name is 'What is locked. Of a thread: "run/" and the SHA-256 of its id.';
comment on column :schema.locks.holder is 'Who has it, in UTF-8: convert_from(holder, ''UTF8'').';
comment on column :schema.locks.token is 'Grows from holder to holder.';
comment on column :schema.locks.since is 'When the holder got it.';
comment on column :schema.locks.until is 'When it ends unless it is prolonged.';
comment on function :schema.lock_1 is 'Takes or prolongs a lock, or tells who has it.';`,
  "000009": `create table :schema.shard (
  -- There is one row at most.
  is_here boolean primary key default true check (is_here),
  number integer not null,
  shards integer not null,
  family uuid not null,
  complete boolean not null default false
);

comment on table :schema.shard is 'Which of several databases this one is, where threads are spread over several.';
comment on column :schema.shard.is_here is 'Always true: there is one row at most.';
comment on column :schema.shard.number is 'Its place among the databases, from 0. It has the threads that are hashed to this number.';
comment on column :schema.shard.shards is 'How many databases there are.';
comment on column :schema.shard.family is 'A random id that all of them share.';
comment on column :schema.shard.complete is 'In the first of them: whether all of them have their row. Then none may be empty.';

-- Threads by age that are still here: where most threads are archived, a walk through the others would have to pass over all of them.
create index threads_here on :schema.threads (written_at, thread) where live and not evicted;

-- Threads as threads_2 has them. Each call looks at a limited number of threads, whatever it asks for: without a filter at those of
-- the page alone; with tags that at most 20,000 threads carry, at these; otherwise at the next 2,000 by age, and if these are fewer
-- than the page, a last row without a key says where to go on (p_after, p_after_thread). The page is cut from the index before
-- anything is joined to it: the planner took the filter on checkpoints for one that leaves nothing, and read all threads first. It also
-- takes the threads before a cursor for those of earlier minutes, and would sort them; so it may only go along indexes.
create function :schema.threads_3(
  p_before timestamptz, p_newest boolean, p_evicted boolean, p_after timestamptz, p_after_key bytea, p_after_thread bigint,
  p_limit integer, p_keys bytea[], p_values bytea[], p_head_tags integer[]
)
returns table (
  key bytea, long_id bytea, revision bigint, head bytea, thread bigint, written_ms bigint, evicted boolean,
  parent bytea, lost_to bytea, run bytea, blobs bytea, tags text, body bytea
)
language plpgsql stable set plan_cache_mode = force_custom_plan set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  c_few constant integer := 20000;
  v_filters boolean := p_keys is not null or p_head_tags is not null;
  v_look integer := case when v_filters and p_after_thread is not null then greatest(p_limit, 2000) else p_limit end;
  v_after bigint := p_after_thread;
begin
  if p_after is not null and v_after is null then
    v_after := coalesce((select t.thread from :schema.threads t where t.key = p_after_key), 0);
  end if;
  if p_keys is not null
     and (select count(*) from (
            select from :schema.thread_tags g where g.key = p_keys[1] and g.value = p_values[1] limit c_few + 1
          ) as carrying) <= c_few then
    return query
      select t.* from :schema.threads_2(
        p_before, p_newest, p_evicted, p_after, coalesce(p_after_key, (select t.key from :schema.threads t where t.thread = p_after_thread)),
        p_limit, p_keys, p_values, p_head_tags
      ) as t;
    return;
  end if;
  return query
    with page as materialized (
      (select t.* from :schema.threads t
        where p_newest and t.live and (p_before is null or t.written_at < p_before) and (p_evicted or not t.evicted)
          and (p_after is null or (t.written_at, t.thread) < (p_after, v_after))
        order by t.written_at desc, t.thread desc limit v_look)
      union all
      (select t.* from :schema.threads t
        where not p_newest and t.live and (p_before is null or t.written_at < p_before) and (p_evicted or not t.evicted)
          and (p_after is null or (t.written_at, t.thread) > (p_after, v_after))
        order by t.written_at, t.thread limit v_look)
    ), numbered as materialized (
      select p.*, row_number() over () as place from page p
    ), found as materialized (
      select n.*, h.id as head, c.parent, c.lost_to, c.run, c.blobs, c.tags, c.body
        from numbered n
             left join lateral (select * from :schema.heads x where x.thread = n.thread and x.ns = '' offset 0) h on true
             left join lateral (
               select * from :schema.checkpoints x where p_head_tags is not null and x.thread = n.thread and x.id = h.id and x.ns = '' offset 0
             ) c on true
       where (p_head_tags is null or c.id is null or c.tags @> p_head_tags)
         and (p_keys is null or not exists (
               select from unnest(p_keys, p_values) as u (k, v)
                where not exists (select from :schema.thread_tags x where x.thread = n.thread and x.key = u.k and x.value = u.v)
             ))
       order by n.place limit p_limit
    )
    (select f.key, f.long_id, f.revision, f.head, f.thread, (extract(epoch from f.written_at) * 1000)::bigint, f.evicted,
            f.parent, f.lost_to, f.run, f.blobs, array_to_string(f.tags, ','), f.body
       from found f order by f.place)
    union all
    select null, null, null, null, n.thread, (extract(epoch from n.written_at) * 1000)::bigint, null, null, null, null, null, null, null
      from numbered n
     where v_filters and n.place = v_look and (select count(*) from found) < p_limit;
end
$$;

comment on function :schema.threads_3 is 'A page of threads by age, tags, and tags of their newest checkpoints: listThreads.';
comment on function :schema.threads_2 is 'The same by a tag that few threads carry, for threads_3. All of it for processes of versions before 000009.';

-- list_1. A page of all threads by metadata comes from the primary key, newest first, if many checkpoints have that metadata, and from
-- the index of tags if few do. The planner multiplies how often each tag is there, and so takes tags that are never together for
-- frequent: it would go through all checkpoints. So the next 2,000 are looked at: if they don't fill the page, only the index of tags
-- is left to it.
create function :schema.list_2(
  p_key bytea, p_ns bytea, p_id bytea, p_before bytea, p_tags integer[], p_runs bytea[], p_lost boolean, p_blobs boolean,
  p_after_thread bigint, p_after_id bytea, p_after_ns bytea, p_limit integer
)
returns setof :schema.read_row_1 language plpgsql stable
set plan_cache_mode = force_custom_plan set jit = off set enable_indexscan = on set enable_seqscan = on as $$
begin
  if p_key is null and p_tags is not null then
    if (select count(*) from (
          select c.tags @> p_tags as is_found from :schema.checkpoints c
           where p_after_thread is null or (c.thread, c.id, c.ns) < (p_after_thread, p_after_id, p_after_ns)
           order by c.thread desc, c.id desc, c.ns desc limit 2000
        ) as next where next.is_found) < p_limit then
      perform set_config('enable_indexscan', 'off', true), set_config('enable_seqscan', 'off', true);
    end if;
  end if;
  return query select * from :schema.list_1(
    p_key, p_ns, p_id, p_before, p_tags, p_runs, p_lost, p_blobs, p_after_thread, p_after_id, p_after_ns, p_limit
  );
end
$$;

comment on function :schema.list_2 is 'A page of checkpoints: list.';
comment on function :schema.list_1 is 'The same, along the index that the planner chooses: for list_2, and for processes of versions before 000009.';`,
  "000010": `create or replace function :schema.read_1(p_key bytea, p_ns bytea, p_id bytea, p_blobs boolean)
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
      select b.hash, b.base, b.bytes, 1 as place
        from named, generate_series(1, length(packed), 20) as o,
             lateral (select * from :schema.blobs x where x.thread = v_thread and x.hash = substring(packed from o for 20) offset 0) b
      union all
      select b.hash, b.base, b.bytes, chain.place + 1
        from chain, lateral (select * from :schema.blobs x where x.thread = v_thread and x.hash = chain.base offset 0) b
       where chain.base <> chain.hash and chain.place < 4096
    )
    select 'b', v_thread, null::bytea, null::bytea, hash, base, null::bytea, null::bytea, null::bigint, null::text, bytes from chain;
end
$$;`,
  "000011": `alter type :schema.append_request_1 add attribute needs bytea[];

-- Many requests in one transaction, each all or nothing. The requests of a round are done by sets, which costs a request among sixteen a
-- fifth of what it costs alone. A call for several threads doesn't wait for locks of threads that exist: "busy" tells the client to send
-- those requests alone. New rows are inserted in the order of their keys. So calls never wait for each other in a circle, and one thread
-- doesn't hold up others.
-- The answer has a row per head move, or one for a request without any, in the order of requests: head is where the head stands if it
-- wasn't moved, and moved is null where the conflict is.
create or replace function :schema.append_3(p_append jsonb, p_data bytea)
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
-- half the time. What is out of the ordinary is left to append_3: another head, a thread that was deleted, pruned or evicted, or that
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
$$;`,
  "setupBegin": `do $stratigraph$
declare
  v_lock_timeout text := current_setting('lock_timeout');
begin
  perform set_config('lock_timeout', '30s', true);
  perform pg_advisory_xact_lock(hashtextextended('stratigraph setup', 0));`,
  "setupSchema": `create schema if not exists :schema;`,
  "setupMigrations": `create table if not exists :schema.migrations (
    id integer primary key,
    -- A version of the library older than this migration must not work on the schema any more.
    breaking boolean not null default false,
    applied_at timestamptz not null default now()
  );`,
  "setupMigration": `if not exists (select from :schema.migrations where id = :id) then
    insert into :schema.migrations (id) values (:id);
    execute $migration$
:text
    $migration$;
  end if;`,
  "setupEnd": `perform set_config('lock_timeout', v_lock_timeout, true);
end
$stratigraph$;`,
  "read": `select kind, thread::text, id, ns, a, b, c, d, n::text, tags, body from :schema.read_1($1::bytea, $2::bytea, $3::bytea, $4::boolean)`,
  "list": `select kind, thread::text, id, ns, a, b, c, d, n::text, tags, body
  from :schema.list_2($1::bytea, $2::bytea, $3::bytea, $4::bytea, $5::integer[], $6::bytea[], $7::boolean, $8::boolean,
                      $9::bigint, $10::bytea, $11::bytea, $12::integer)`,
  "ancestry": `select kind, thread::text, id, ns, a, b, c, d, n::text, tags, body from :schema.ancestry_1($1::bytea, $2::bytea, $3::bytea, $4::integer[], $5::integer)`,
  "blobs": `select hash, base, size from :schema.blobs_1($1::bytea)`,
  "blobsNamed": `select hash, base, size from :schema.blobs_1($1::bytea) where hash = any ($2::bytea[])`,
  "longIds": `select key, id from :schema.long_ids_1($1::bytea[])`,
  "threads": `select key, long_id, revision::text, head, thread::text, written_ms::text, evicted, parent, lost_to, run, blobs, tags, body
  from :schema.threads_3(to_timestamp($1::double precision / 1000), $2::boolean, $3::boolean, to_timestamp($4::double precision / 1000), $5::bytea,
                         $6::bigint, $7::integer, $8::bytea[], $9::bytea[], $10::integer[])`,
  "append": `select status, revision::text, head, moved from :schema.append_3($1, $2)`,
  "appendThread": `select status, revision::text, head, moved from :schema.append_thread_1($1, $2)`,
  "remove": `select :schema.remove_2($1::bytea, $2::bigint, $3::jsonb, $4::bytea) as done`,
  "replaceBytes": `with at as (
  update :schema.threads set revision = revision + 1 where key = $1::bytea and revision = $2::bigint returning thread, revision
), records as (
  update :schema.checkpoints c set body = substring($4::bytea from r.body_start for r.body_length)
    from at, jsonb_to_recordset($3::jsonb -> 'records') as r (id bytea, ns bytea, body_start integer, body_length integer)
   where c.thread = at.thread and c.id = r.id and c.ns = r.ns
), replaced as (
  update :schema.blobs b set bytes = substring($4::bytea from r.bytes_start for r.bytes_length)
    from at, jsonb_to_recordset($3::jsonb -> 'blobs') as r (hash bytea, bytes_start integer, bytes_length integer)
   where b.thread = at.thread and b.hash = r.hash
), batches as materialized (
  select r.* from jsonb_to_recordset($3::jsonb -> 'writes') as r (id bytea, ns bytea, place integer, body_start integer, body_length integer)
), stored as (
  select w.thread, w.id, w.ns, w.seq, w.part,
         row_number() over (partition by w.id, w.ns order by w.seq, w.part) - 1 as place
    from at join :schema.writes w using (thread)
   where (w.id, w.ns) in (select b.id, b.ns from batches b)
), written as (
  update :schema.writes w set body = substring($4::bytea from b.body_start for b.body_length)
    from stored s join batches b on b.place = s.place and b.id = s.id and b.ns = s.ns
   where w.thread = s.thread and w.id = s.id and w.ns = s.ns and w.seq = s.seq and w.part = s.part
)
select revision from at`,
  "evict": `select :schema.evict_1($1::bytea, $2::bigint) as done`,
  "deleteThread": `select :schema.delete_thread_1($1::bytea)`,
  "deleteUnchanged": `with unchanged as materialized (
  select t.key from :schema.threads t where t.key = $1::bytea and t.revision = $2::bigint for update
)
select true as done, :schema.delete_thread_1(u.key) from unchanged u`,
  "tombstones": `select t.key, t.long_id, (extract(epoch from t.written_at) * 1000)::bigint::text as deleted_ms
  from :schema.threads t
 where not t.live and t.deleted_at > 0 and t.written_at >= to_timestamp($1::double precision / 1000)
   and ($2::double precision is null
        or (t.written_at, t.key) > (to_timestamp($2::double precision / 1000), coalesce($3::bytea, '')))
 order by t.written_at, t.key limit $4::integer`,
  "sweep": `with expired as (
  delete from :schema.leases where until < clock_timestamp() - $1::double precision * interval '1 millisecond' returning 1
), unlocked as (
  delete from :schema.locks where until < clock_timestamp() - $1::double precision * interval '1 millisecond' returning 1
)
select :schema.sweep_1($1::double precision, $2::integer)
       + (select count(*)::integer from expired) + (select count(*)::integer from unlocked) as swept`,
  "strays": `select distinct w.id, w.ns
  from :schema.writes w join :schema.threads t using (thread)
 where t.key = $1::bytea
   and not exists (select from :schema.checkpoints c where c.thread = w.thread and c.id = w.id and c.ns = w.ns)`,
  "inspect": `with at as materialized (
  select t.*, exists (select from :schema.heads h where h.thread = t.thread) as headed,
         exists (select from :schema.checkpoints c where c.thread = t.thread) as recorded
    from :schema.threads t where t.key = $1::bytea
), judged as materialized (
  select at.*, not at.live and at.deleted_at > 0 and (at.revision = at.deleted_at or not (at.headed or at.recorded)) as deleted from at
)
select 's' as kind, null::bytea as id, null::bytea as ns, j.revision::text, j.removed_at::text, j.evicted, j.deleted,
       not j.deleted and not j.live and j.headed as contradicts
  from judged j
 union all
select 'h', h.id, h.ns, null, null, null, null, null from at join :schema.heads h using (thread)
 union all
select distinct 'w', w.id, w.ns, null, null, null::boolean, null::boolean, null::boolean
  from at join :schema.writes w using (thread)
 where not exists (select from :schema.checkpoints c where c.thread = w.thread and c.id = w.id and c.ns = w.ns)`,
  "mendThread": `update :schema.threads t set live = true, revision = t.revision + 1
 where t.key = $1::bytea and not t.live and (t.deleted_at = 0 or t.revision > t.deleted_at)
   and exists (select from :schema.heads h where h.thread = t.thread)
returning t.revision`,
  "leftovers": `with recursive walk (thread, n) as (
  select $1::bigint, 0
   union all
  select least(
           (select c.thread from :schema.checkpoints c where c.thread > w.thread order by c.thread limit 1),
           (select h.thread from :schema.heads h where h.thread > w.thread order by h.thread limit 1),
           (select b.thread from :schema.blobs b where b.thread > w.thread order by b.thread limit 1),
           (select p.thread from :schema.writes p where p.thread > w.thread order by p.thread limit 1)
         ), w.n + 1
    from walk w
   where w.thread is not null and w.n < $2::integer
), judged as (
  select w.thread, t.key, t.long_id,
         case
           when t.thread is null then 'lost'
           when t.live then null
           when t.deleted_at > 0 and t.revision = t.deleted_at then 'deleted'
           when exists (select from :schema.heads h where h.thread = w.thread) then 'unlisted'
           when t.deleted_at > 0 and not exists (select from :schema.checkpoints c where c.thread = w.thread)
                and (exists (select from :schema.writes p where p.thread = w.thread and p.seq <= t.deleted_at)
                     or not exists (select from :schema.writes p where p.thread = w.thread)) then 'deleted'
         end as kind
    from walk w left join :schema.threads t on t.thread = w.thread
   where w.n > 0 and w.thread is not null
)
select j.thread::text, j.key, j.long_id, j.kind,
       case when j.kind <> '' then (select count(*) from :schema.checkpoints c where c.thread = j.thread) end::text as checkpoints,
       case when j.kind <> '' then (select count(*) from :schema.blobs b where b.thread = j.thread) end::text as blobs,
       case when j.kind <> '' then (select count(*) from :schema.writes p where p.thread = j.thread) end::text as writes
  from judged j
 order by j.thread`,
  "leftoverHeads": `select h.ns, h.id from :schema.heads h where h.thread = $1::bigint`,
  "dropLeftover": `with at as materialized (
  select t.thread, t.deleted_at from :schema.threads t
   where t.thread = $1::bigint and not t.live and t.deleted_at > 0
     and (t.revision = t.deleted_at
          or not exists (select from :schema.checkpoints c where c.thread = t.thread)
             and not exists (select from :schema.heads h where h.thread = t.thread))
     for update
), checkpoints as (
  delete from :schema.checkpoints c using at where c.thread = at.thread returning 1
), heads as (
  delete from :schema.heads h using at where h.thread = at.thread returning 1
), blobs as (
  delete from :schema.blobs b using at where b.thread = at.thread returning 1
), writes as (
  delete from :schema.writes w using at where w.thread = at.thread and w.seq <= at.deleted_at returning 1
)
select ((select count(*) from checkpoints) + (select count(*) from heads) + (select count(*) from blobs)
        + (select count(*) from writes))::text as dropped`,
  "reviveLeftover": `insert into :schema.threads as t (thread, key, long_id, revision, removed_at, live, evicted, written_at)
overriding system value
select $1::bigint, $2::bytea, $3::bytea, r.revision, r.revision,
       exists (select from :schema.heads h where h.thread = $1::bigint),
       not exists (select from :schema.checkpoints c where c.thread = $1::bigint),
       date_trunc('minute', now())
  from (select greatest(coalesce((select max(w.seq) from :schema.writes w where w.thread = $1::bigint), 0),
                        (extract(epoch from now()) * 1000)::bigint) + 1 as revision) r
 where exists (select from :schema.checkpoints c where c.thread = $1::bigint)
    or exists (select from :schema.heads h where h.thread = $1::bigint)
    on conflict do nothing
returning t.revision::text`,
  "copyThread": `select :schema.copy_thread_2($1::bytea, $2::bytea, $3::bytea) as done`,
  "outline": `select kind, thread::text, id, ns, a, b, c, d, n::text, tags, body from :schema.outline_1($1::bytea, $2::bytea)`,
  "forkThread": `select status, head, checkpoints::text, bytes::text
  from :schema.fork_3($1::bytea, $2::bigint, $3::bytea, $4::bytea, $5::jsonb, $6::jsonb, $7::bytea)`,
  "tagThread": `select :schema.tag_thread_1($1::bytea, $2::bytea, $3::bytea[], $4::bytea[])::text as revision`,
  "untagThread": `delete from :schema.thread_tags g
 using :schema.threads t, unnest($2::bytea[], $3::bytea[]) as u (k, v)
 where t.key = $1::bytea and g.thread = t.thread and g.key = u.k and g.value = u.v`,
  "threadTags": `select g.key, g.value from :schema.thread_tags g join :schema.threads t using (thread) where t.key = $1::bytea`,
  "lease": `select :schema.lease_1($1::bytea, $2::bytea, $3::double precision) as done`,
  "keyChecks": `select name, holder from :schema.leases where name = any ($1::bytea[])`,
  "claimKeyCheck": `insert into :schema.leases as l (name, holder, until) values ($1::bytea, $2::bytea, 'infinity')
on conflict (name) do update set until = l.until returning holder`,
  "lock": `select held, owner, fence::text as token, since_ms from :schema.lock_1($1::bytea, $2::bytea, $3::double precision)`,
  "unlock": `update :schema.locks set until = clock_timestamp() where name = $1::bytea and holder = $2::bytea`,
  "writable": `select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as writable`,
  "timeline": `select ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer as timeline`,
  "installed": `select id, breaking from :schema.migrations order by id`,
  "serverFacts": `select current_setting('server_version') as version,
       (extract(epoch from clock_timestamp()) * 1000)::bigint::text as now_ms,
       current_user::text as "user", current_database()::text as database,
       current_setting('fsync') as fsync, current_setting('full_page_writes') as full_page_writes,
       current_setting('synchronous_commit') as synchronous_commit,
       pg_is_in_recovery() as standby, current_setting('transaction_read_only') as read_only,
       current_setting('max_connections')::integer as max_connections,
       current_setting('superuser_reserved_connections')::integer as reserved,
       (select count(*) from pg_stat_activity where datid is not null)::integer as connected`,
  "missingRights": `with s as (select oid from pg_namespace where nspname = $1::text)
select 'usage of the schema' as missing from s where not has_schema_privilege(s.oid, 'usage')
union all
select r.name || ' on table ' || c.relname
  from s join pg_class c on c.relnamespace = s.oid and c.relkind in ('r', 'p')
  cross join unnest(array['select', 'insert', 'update', 'delete']) as r (name)
 where (c.relname <> 'migrations' or r.name = 'select') and not has_table_privilege(c.oid, r.name)
union all
select 'execute of function ' || p.proname
  from s join pg_proc p on p.pronamespace = s.oid where not has_function_privilege(p.oid, 'execute')`,
  "sizes": `select pg_database_size(current_database())::text as database_bytes,
       (select coalesce(sum(pg_total_relation_size(c.oid)), 0)
          from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where n.nspname = $1::text and c.relkind in ('r', 'p', 'm'))::text as schema_bytes,
       t.spcname::text as tablespace, pg_tablespace_location(t.oid) as location
  from pg_database d join pg_tablespace t on t.oid = d.dattablespace where d.datname = current_database()`,
  "backend": `select pg_backend_pid() as pid`,
  "shard": `select number, shards, family::text, complete from :schema.shard`,
  "claimShard": `with claimed as (
  insert into :schema.shard (number, shards, family)
  select $1::integer, $2::integer, $3::uuid where not exists (select from :schema.threads)
  on conflict do nothing
  returning number, shards, family::text, complete
)
select number, shards, family, complete from claimed
 union all
select number, shards, family::text, complete from :schema.shard`,
  "completeShards": `update :schema.shard set complete = true where number = 0 and not complete`,
} as const;
