-- What setup() makes, for reading and for review: written by `UPDATE=1 npx vitest run packages/postgres/test/setup.test.ts`.

CREATE SCHEMA stratigraph;

CREATE TYPE stratigraph.append_blob_1 AS (
	request integer,
	hash bytea,
	base bytea,
	bytes_start integer,
	bytes_length integer
);

COMMENT ON TYPE stratigraph.append_blob_1 IS 'A blob of an append.';

CREATE TYPE stratigraph.append_head_1 AS (
	request integer,
	ns bytea,
	id bytea,
	expected bytea[]
);

COMMENT ON TYPE stratigraph.append_head_1 IS 'A head move of an append.';

CREATE TYPE stratigraph.append_long_id_1 AS (
	request integer,
	key bytea,
	id bytea
);

COMMENT ON TYPE stratigraph.append_long_id_1 IS 'An id of over 512 bytes that an append uses.';

CREATE TYPE stratigraph.append_record_1 AS (
	request integer,
	move integer,
	id bytea,
	ns bytea,
	parent bytea,
	lost_to bytea,
	run bytea,
	tags integer[],
	blobs bytea,
	body_start integer,
	body_length integer
);

COMMENT ON TYPE stratigraph.append_record_1 IS 'A checkpoint of an append.';

CREATE TYPE stratigraph.append_request_1 AS (
	round integer,
	key bytea,
	long_id bytea,
	seen bigint,
	relies boolean,
	goes_on boolean,
	branches boolean,
	needs bytea[]
);

COMMENT ON TYPE stratigraph.append_request_1 IS 'One call of append() or appendWrites().';

CREATE TYPE stratigraph.append_writes_1 AS (
	request integer,
	id bytea,
	ns bytea,
	task bytea,
	blobs bytea,
	body_start integer,
	body_length integer
);

COMMENT ON TYPE stratigraph.append_writes_1 IS 'A batch of pending writes of an append.';

CREATE TYPE stratigraph.fork_tip_1 AS (
	ns bytea,
	id bytea,
	ancestors integer,
	until integer[],
	writes integer[]
);

COMMENT ON TYPE stratigraph.fork_tip_1 IS 'A checkpoint that becomes a head of a fork.';

CREATE TYPE stratigraph.read_row_1 AS (
	kind text,
	thread bigint,
	id bytea,
	ns bytea,
	a bytea,
	b bytea,
	c bytea,
	d bytea,
	n bigint,
	tags text,
	body bytea
);

COMMENT ON TYPE stratigraph.read_row_1 IS 'Rows of reads; sql/000002.sql says what the columns mean by kind.';

CREATE FUNCTION stratigraph.ancestry_1(p_key bytea, p_ns bytea, p_id bytea, p_tags integer[], p_limit integer) RETURNS SETOF stratigraph.read_row_1
    LANGUAGE plpgsql STABLE
    SET jit TO 'off'
    AS $$
declare
  v_thread bigint;
begin
  select t.thread into v_thread from "stratigraph".threads t where t.key = p_key;
  if not found then return; end if;
  return query
    with recursive walk as (
      select c.id, c.parent, p_tags as open, 0 as depth
        from "stratigraph".checkpoints c where c.thread = v_thread and c.id = p_id and c.ns = p_ns
      union all
      select c.id, c.parent, array(select unnest(walk.open) except select unnest(c.tags)), walk.depth + 1
        from walk, lateral (select * from "stratigraph".checkpoints x where x.thread = v_thread and x.id = walk.parent and x.ns = p_ns offset 0) c
       where walk.depth < p_limit and cardinality(walk.open) > 0
    ), page as materialized (
      select c.*, walk.depth from walk, lateral (select * from "stratigraph".checkpoints x where x.thread = v_thread and x.id = walk.id and x.ns = p_ns offset 0) c
       where walk.depth > 0
    ), pending as materialized (
      select w.* from page p, lateral (select * from "stratigraph".writes x where x.thread = v_thread and x.id = p.id and x.ns = p_ns offset 0) w
    ), named as (
      select blobs from page where page.tags && p_tags
      union all
      select blobs from pending where blobs <> ''
    ), chain as (
      select b.hash, b.base
        from named, generate_series(1, length(named.blobs), 20) as o,
             lateral (select * from "stratigraph".blobs x where x.thread = v_thread and x.hash = substring(named.blobs from o for 20) offset 0) b
      union
      select b.hash, b.base
        from chain, lateral (select * from "stratigraph".blobs x where x.thread = v_thread and x.hash = chain.base offset 0) b
    )
    (select 'c', c.thread, c.id, c.ns, c.parent, c.lost_to, c.run, c.blobs, null::bigint, array_to_string(c.tags, ','), c.body
       from page c order by c.depth)
    union all
    (select 'w', w.thread, w.id, w.ns, w.task, null, null, w.blobs, w.seq, null, w.body from pending w order by w.seq, w.part)
    union all
    select 'b', v_thread, null, null, b.hash, b.base, null, null, null, null, b.bytes
      from chain, lateral (select * from "stratigraph".blobs x where x.thread = v_thread and x.hash = chain.hash offset 0) b;
end
$$;

COMMENT ON FUNCTION stratigraph.ancestry_1(p_key bytea, p_ns bytea, p_id bytea, p_tags integer[], p_limit integer) IS 'The parent chain of a checkpoint: the history of a DeltaChannel.';

CREATE FUNCTION stratigraph.append_1(p_rounds integer[], p_seen bigint[], p_flags integer[], p_records integer[], p_tags text[], p_places integer[], p_blobs integer[], p_writes integer[], p_long_ids integer[], p_heads integer[], p_head_at integer[], p_expected integer[], p_starts integer[], p_lengths integer[], p_data bytea) RETURNS TABLE(status text, revision bigint, head bytea, moved boolean)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET lock_timeout TO '4s'
    AS $$
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
      select t.thread from "stratigraph".threads t where t.key = any ((select keys from named)::bytea[]) order by t.key for update skip locked
    )
    select coalesce(array_agg(t.key), '{}') into v_busy
      from "stratigraph".threads t
     where t.key = any ((select keys from named)::bytea[]) and t.thread not in (select thread from locked);
  end if;

  foreach v_size in array p_rounds loop
    v_first := v_last + 1;
    v_last := v_last + v_size;

    -- A new row is live from the start if it will have a head: nothing can refuse its first request.
    with opened as (
      insert into "stratigraph".threads as t (key, long_id, revision, live, written_at)
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
                   (select h.id from "stratigraph".heads h where h.thread = v_thread[p_heads[m]] and h.ns = x[p_head_at[m] + 1]) as head
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
                 select from "stratigraph".checkpoints c
                  where c.thread = v_thread[p_heads[m]] and c.id = v_head[m] and c.ns = x[p_head_at[m] + 1] and c.parent = x[p_head_at[m] + 2]
               )
          from generate_subscripts(v_moved, 1) as m order by m
      );
      v_moved := array(
        select case
                 when v_keeps[m] or (p_flags[p_heads[m]] & 4) > 0 or v_status[p_heads[m]] <> 'ok'
                   or p_heads[m] < v_first or exists (
                     select from "stratigraph".checkpoints c
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
        select (select c.lost_to from "stratigraph".checkpoints c
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
      update "stratigraph".threads t set revision = t.revision - 1
       where t.thread = any (array(select v_thread[g] from generate_series(v_first, v_last) as g where v_status[g] <> 'ok'));
    end if;
    if v_wakes then
      update "stratigraph".threads t set live = true, evicted = false
       where (not t.live or t.evicted)
         and t.thread = any (array(
           select v_thread[g] from generate_series(v_first, v_last) as g where v_status[g] = 'ok' and g = any (p_heads)
         ));
    end if;

    insert into "stratigraph".blobs (thread, hash, base, bytes)
    select v_thread[p_blobs[i]], x[o_blobs + i * 3 - 2], x[o_blobs + i * 3 - 1], x[o_blobs + i * 3]
      from generate_series(1, cardinality(p_blobs)) as i
     where p_blobs[i] between v_first and v_last and v_status[p_blobs[i]] = 'ok'
    on conflict do nothing;

    insert into "stratigraph".checkpoints as c (thread, id, ns, parent, lost_to, run, tags, blobs, body)
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
      insert into "stratigraph".writes (thread, id, ns, seq, part, task, blobs, body)
      select v_thread[w.q], x[w.o + 1], x[w.o + 2], v_revision[w.q], w.i, x[w.o + 3], x[w.o + 4], x[w.o + 5]
        from (select i, p_writes[i] as q, o_writes + (i - 1) * 5 as o from generate_series(1, cardinality(p_writes)) as i) as w
       where w.q between v_first and v_last and v_status[w.q] = 'ok';
    end if;

    if cardinality(p_long_ids) > 0 then
      insert into "stratigraph".long_ids (thread, key, id)
      select v_thread[p_long_ids[i]], x[o_long_ids + i * 2 - 1], x[o_long_ids + i * 2]
        from generate_series(1, cardinality(p_long_ids)) as i
       where p_long_ids[i] between v_first and v_last and v_status[p_long_ids[i]] = 'ok'
      on conflict do nothing;
    end if;

    insert into "stratigraph".heads as h (thread, ns, id)
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

COMMENT ON FUNCTION stratigraph.append_1(p_rounds integer[], p_seen bigint[], p_flags integer[], p_records integer[], p_tags text[], p_places integer[], p_blobs integer[], p_writes integer[], p_long_ids integer[], p_heads integer[], p_head_at integer[], p_expected integer[], p_starts integer[], p_lengths integer[], p_data bytea) IS 'For processes of versions before 000007: append_3.';

CREATE FUNCTION stratigraph.append_2(p_rounds integer[], p_seen bigint[], p_flags integer[], p_records integer[], p_tags text[], p_places integer[], p_blobs integer[], p_writes integer[], p_long_ids integer[], p_heads integer[], p_head_at integer[], p_expected integer[], p_starts integer[], p_lengths integer[], p_data bytea) RETURNS TABLE(status text, revision bigint, head bytea, moved boolean)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET lock_timeout TO '4s'
    AS $$
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
      from "stratigraph".threads t where t.key = x[1] for no key update;
    if not found then
      insert into "stratigraph".threads as t (key, long_id, revision, live, written_at)
      values (x[1], x[2], n, h is not null, date_trunc('minute', now()))
      on conflict do nothing returning t.thread, 0 into v_thread, v_revision;
      v_plain := found;
    elsif v_plain then
      -- A statement of its own: one that waited for the lock would see the head from before.
      select e.id into v_head from "stratigraph".heads e where e.thread = v_thread and e.ns = x[h + 1];
      v_plain := v_head is null or p_expected[1] < 0 or v_head = x[h + 2] or v_head = any (x[h + 3 : h + 2 + p_expected[1]]);
      if v_plain then
        update "stratigraph".threads t
           set revision = t.revision + n, live = t.live or h is not null, written_at = date_trunc('minute', now())
         where t.thread = v_thread;
      end if;
    end if;
  end if;
  if v_plain is not true then
    -- Nothing was written yet.
    return query select * from "stratigraph".append_1(
      p_rounds, p_seen, p_flags, p_records, p_tags, p_places, p_blobs, p_writes, p_long_ids, p_heads, p_head_at, p_expected,
      p_starts, p_lengths, p_data
    );
    return;
  end if;

  for i in 1 .. cardinality(p_blobs) loop
    insert into "stratigraph".blobs (thread, hash, base, bytes) values (v_thread, x[b + 1], x[b + 2], x[b + 3]) on conflict do nothing;
    b := b + 3;
  end loop;
  if cardinality(p_records) = 1 then
    insert into "stratigraph".checkpoints as c (thread, id, ns, parent, lost_to, run, tags, blobs, body)
    values (v_thread, x[r + 1], x[r + 2], x[r + 3], x[r + 4], x[r + 5], p_tags[1]::integer[], x[r + 6], x[r + 7])
    on conflict (thread, id, ns) do update
      set parent = excluded.parent, lost_to = excluded.lost_to, run = excluded.run, tags = excluded.tags, blobs = excluded.blobs,
          body = excluded.body;
  end if;
  for i in 1 .. cardinality(p_writes) loop
    insert into "stratigraph".writes (thread, id, ns, seq, part, task, blobs, body)
    values (v_thread, x[w + 1], x[w + 2], v_revision + p_writes[i], i, x[w + 3], x[w + 4], x[w + 5]);
    w := w + 5;
  end loop;
  if v_head is null and h is not null then
    insert into "stratigraph".heads (thread, ns, id) values (v_thread, x[h + 1], x[h + 2]);
  elsif v_head <> x[h + 2] then
    update "stratigraph".heads e set id = x[h + 2] where e.thread = v_thread and e.ns = x[h + 1];
  end if;

  status := 'ok';
  for g in 1 .. n loop
    revision := v_revision + g;
    moved := case when g = p_heads[1] then true end;
    return next;
  end loop;
end
$$;

COMMENT ON FUNCTION stratigraph.append_2(p_rounds integer[], p_seen bigint[], p_flags integer[], p_records integer[], p_tags text[], p_places integer[], p_blobs integer[], p_writes integer[], p_long_ids integer[], p_heads integer[], p_head_at integer[], p_expected integer[], p_starts integer[], p_lengths integer[], p_data bytea) IS 'For processes of versions before 000007: append_thread_1.';

CREATE FUNCTION stratigraph.append_3(p_append jsonb, p_data bytea) RETURNS TABLE(status text, revision bigint, head bytea, moved boolean)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET lock_timeout TO '4s'
    AS $$
declare
  v_requests "stratigraph".append_request_1[] := array(
    select q from jsonb_populate_recordset(null::  "stratigraph".append_request_1, p_append -> 'requests') as q
  );
  v_heads "stratigraph".append_head_1[] := array(
    select m from jsonb_populate_recordset(null::  "stratigraph".append_head_1, p_append -> 'heads') as m
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
      select t.thread from "stratigraph".threads t where t.key = any (v_keys) order by t.key for update skip locked
    )
    select coalesce(array_agg(t.key), '{}') into v_busy
      from "stratigraph".threads t
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
      insert into "stratigraph".threads as t (key, long_id, revision, live, written_at)
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
                          lateral (select from "stratigraph".blobs x where x.thread = v_thread[q.ordinality] and x.hash = h offset 0) b
                )
           )
      into v_head, v_moved, v_stays, v_lacking
      from (
        select m.head, m.head is null or m.head = m.id or m.expected is null or m.head = any (m.expected) as may
          from (
            select m.id, m.expected,
                   (select h.id from "stratigraph".heads h where h.thread = v_thread[m.request] and h.ns = m.ns) as head
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
                 select from "stratigraph".checkpoints c
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
                   or exists (select from "stratigraph".checkpoints c where c.thread = v_thread[m.request] and c.id = m.id and c.ns = m.ns)
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
      update "stratigraph".threads t set revision = t.revision - 1
       where t.thread = any (array(select v_thread[g] from generate_series(v_first, v_last) as g where v_status[g] <> 'ok'));
    end if;
    if v_wakes then
      update "stratigraph".threads t set live = true, evicted = false
       where (not t.live or t.evicted)
         and t.thread = any (array(
           select v_thread[m.request] from unnest(v_heads) as m where m.request between v_first and v_last and v_status[m.request] = 'ok'
         ));
    end if;

    if p_append ? 'blobs' then
      insert into "stratigraph".blobs (thread, hash, base, bytes)
      select v_thread[b.request], b.hash, b.base, substring(p_data from b.bytes_start for b.bytes_length)
        from jsonb_populate_recordset(null::  "stratigraph".append_blob_1, p_append -> 'blobs') as b
       where b.request between v_first and v_last and v_status[b.request] = 'ok'
      on conflict do nothing;
    end if;

    if p_append ? 'records' then
      -- The loser of a race names the checkpoint that has the head, unless the loser is stored already.
      insert into "stratigraph".checkpoints as c (thread, id, ns, parent, lost_to, run, tags, blobs, body)
      select v_thread[r.request], r.id, r.ns, r.parent,
             case
               when r.move is null or v_moved[r.move] then r.lost_to
               else (
                 select c.lost_to from "stratigraph".checkpoints c where c.thread = v_thread[r.request] and c.id = r.id and c.ns = r.ns
                 union all
                 select case when v_overtaken[r.move] then r.lost_to else v_head[r.move] end
                 limit 1
               )
             end,
             r.run, r.tags, r.blobs, substring(p_data from r.body_start for r.body_length)
        from jsonb_populate_recordset(null::  "stratigraph".append_record_1, p_append -> 'records') as r
       where r.request between v_first and v_last and v_status[r.request] = 'ok'
      on conflict (thread, id, ns) do update
        set parent = excluded.parent, lost_to = excluded.lost_to, run = excluded.run, tags = excluded.tags, blobs = excluded.blobs,
            body = excluded.body;
    end if;

    if p_append ? 'writes' then
      insert into "stratigraph".writes (thread, id, ns, seq, part, task, blobs, body)
      select v_thread[w.request], w.id, w.ns, v_revision[w.request], w.ordinality, w.task, w.blobs,
             substring(p_data from w.body_start for w.body_length)
        from jsonb_populate_recordset(null::  "stratigraph".append_writes_1, p_append -> 'writes') with ordinality as w
       where w.request between v_first and v_last and v_status[w.request] = 'ok';
    end if;

    if p_append ? 'long_ids' then
      insert into "stratigraph".long_ids (thread, key, id)
      select v_thread[l.request], l.key, l.id
        from jsonb_populate_recordset(null::  "stratigraph".append_long_id_1, p_append -> 'long_ids') as l
       where l.request between v_first and v_last and v_status[l.request] = 'ok'
      on conflict do nothing;
    end if;

    if cardinality(v_heads) > 0 then
      insert into "stratigraph".heads as h (thread, ns, id)
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

COMMENT ON FUNCTION stratigraph.append_3(p_append jsonb, p_data bytea) IS 'Records, blobs, pending writes and head moves of many requests: put, putWrites.';

CREATE FUNCTION stratigraph.append_thread_1(p_append jsonb, p_data bytea) RETURNS TABLE(status text, revision bigint, head bytea, moved boolean)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET lock_timeout TO '4s'
    AS $$
declare
  n integer := jsonb_array_length(p_append -> 'requests');
  v_first "stratigraph".append_request_1 := jsonb_populate_record(null::  "stratigraph".append_request_1, p_append #> '{requests,0}');
  v_move "stratigraph".append_head_1 := jsonb_populate_record(null::  "stratigraph".append_head_1, p_append #> '{heads,0}');
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
        from jsonb_populate_recordset(null::  "stratigraph".append_request_1, p_append -> 'requests') as q left join unnest(q.needs) as h on true;
    end if;
    select t.thread, t.revision,
           not t.evicted and coalesce(v_seen, 0) <= t.revision and (t.live or t.deleted_at = 0) and (
             t.deleted_at = 0 and t.removed_at = 0
             or not exists (
               select from jsonb_populate_recordset(null::  "stratigraph".append_request_1, p_append -> 'requests') as q
                where q.seen < t.deleted_at or coalesce(q.seen, 0) < t.removed_at
             )
           )
      into v_thread, v_revision, v_plain
      from "stratigraph".threads t where t.key = v_first.key for no key update;
    if not found and (v_seen > 0 or v_needs is not null) then
      v_plain := false;
    elsif not found then
      insert into "stratigraph".threads as t (key, long_id, revision, live, written_at)
      values (v_first.key, v_first.long_id, n, v_move.id is not null, date_trunc('minute', now()))
      on conflict do nothing returning t.thread, 0 into v_thread, v_revision;
      v_plain := found;
    elsif v_plain then
      -- In a statement of its own: one that waited for the lock would see the head and the blobs from before.
      select (select h.id from "stratigraph".heads h where h.thread = v_thread and h.ns = v_move.ns),
             v_needs is null
             or cardinality(v_needs) = (
               select count(*)
                 from unnest(v_needs) as h, lateral (select from "stratigraph".blobs x where x.thread = v_thread and x.hash = h offset 0) b
             )
        into v_head, v_plain;
      v_plain := v_plain and (v_head is null or v_head = v_move.id or v_move.expected is null or v_head = any (v_move.expected));
      if v_plain then
        update "stratigraph".threads t
           set revision = t.revision + n, live = t.live or v_move.id is not null, written_at = date_trunc('minute', now())
         where t.thread = v_thread;
      end if;
    end if;
  end if;
  if v_plain is not true then
    -- Nothing was written yet.
    return query select * from "stratigraph".append_3(p_append, p_data);
    return;
  end if;

  if p_append ? 'blobs' then
    insert into "stratigraph".blobs (thread, hash, base, bytes)
    select v_thread, b.hash, b.base, substring(p_data from b.bytes_start for b.bytes_length)
      from jsonb_populate_recordset(null::  "stratigraph".append_blob_1, p_append -> 'blobs') as b
    on conflict do nothing;
  end if;
  if p_append ? 'records' then
    insert into "stratigraph".checkpoints as c (thread, id, ns, parent, lost_to, run, tags, blobs, body)
    select v_thread, r.id, r.ns, r.parent, r.lost_to, r.run, r.tags, r.blobs, substring(p_data from r.body_start for r.body_length)
      from jsonb_populate_recordset(null::  "stratigraph".append_record_1, p_append -> 'records') as r
    on conflict (thread, id, ns) do update
      set parent = excluded.parent, lost_to = excluded.lost_to, run = excluded.run, tags = excluded.tags, blobs = excluded.blobs,
          body = excluded.body;
  end if;
  if p_append ? 'writes' then
    insert into "stratigraph".writes (thread, id, ns, seq, part, task, blobs, body)
    select v_thread, w.id, w.ns, v_revision + w.request, w.ordinality, w.task, w.blobs,
           substring(p_data from w.body_start for w.body_length)
      from jsonb_populate_recordset(null::  "stratigraph".append_writes_1, p_append -> 'writes') with ordinality as w;
  end if;
  if v_head is null and v_move.id is not null then
    insert into "stratigraph".heads (thread, ns, id) values (v_thread, v_move.ns, v_move.id);
  elsif v_head <> v_move.id then
    update "stratigraph".heads h set id = v_move.id where h.thread = v_thread and h.ns = v_move.ns;
  end if;

  return query select 'ok', v_revision + g, null::bytea, case when g = v_move.request then true end from generate_series(1, n) as g;
end
$$;

COMMENT ON FUNCTION stratigraph.append_thread_1(p_append jsonb, p_data bytea) IS 'Records, blobs, pending writes and a head move of one thread: put, putWrites.';

CREATE FUNCTION stratigraph.blobs_1(p_key bytea) RETURNS TABLE(hash bytea, base bytea, size integer)
    LANGUAGE sql STABLE
    AS $$
  select b.hash, b.base, length(b.bytes) from "stratigraph".blobs b join "stratigraph".threads t using (thread) where t.key = p_key
$$;

COMMENT ON FUNCTION stratigraph.blobs_1(p_key bytea) IS 'The blobs of a thread without bytes: prune.';

CREATE FUNCTION stratigraph.copy_thread_1(p_source bytea, p_target bytea, p_long_id bytea) RETURNS boolean
    LANGUAGE plpgsql
    SET lock_timeout TO '4s'
    AS $$
declare
  v_source bigint;
  v_revision bigint;
  v_target "stratigraph".threads;
begin
  select t.thread, t.revision into v_source, v_revision from "stratigraph".threads t where t.key = p_source and t.live for share;
  if not found then return false; end if;
  insert into "stratigraph".threads as t (key, long_id, revision, written_at)
  values (p_target, p_long_id, 1, date_trunc('minute', now()))
  on conflict (key) do update set revision = t.revision + 1, written_at = excluded.written_at
  returning * into v_target;
  insert into "stratigraph".checkpoints select v_target.thread, c.id, c.ns, c.parent, c.lost_to, c.run, c.tags, c.blobs, c.body
    from "stratigraph".checkpoints c where c.thread = v_source on conflict do nothing;
  insert into "stratigraph".blobs select v_target.thread, b.hash, b.base, b.bytes from "stratigraph".blobs b where b.thread = v_source on conflict do nothing;
  insert into "stratigraph".writes select v_target.thread, w.id, w.ns, w.seq, w.part, w.task, w.blobs, w.body
    from "stratigraph".writes w where w.thread = v_source on conflict do nothing;
  insert into "stratigraph".heads select v_target.thread, h.ns, h.id from "stratigraph".heads h where h.thread = v_source on conflict do nothing;
  insert into "stratigraph".long_ids select v_target.thread, l.key, l.id from "stratigraph".long_ids l where l.thread = v_source on conflict do nothing;
  update "stratigraph".threads t set revision = greatest(t.revision, v_revision) + 1, live = true, evicted = false where t.thread = v_target.thread;
  return true;
end
$$;

COMMENT ON FUNCTION stratigraph.copy_thread_1(p_source bytea, p_target bytea, p_long_id bytea) IS 'All of a thread under another id: copyThread.';

CREATE FUNCTION stratigraph.copy_thread_2(p_source bytea, p_target bytea, p_long_id bytea) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
begin
  if not "stratigraph".copy_thread_1(p_source, p_target, p_long_id) then return false; end if;
  perform "stratigraph".inherit_tags_1(p_source, p_target);
  return true;
end
$$;

COMMENT ON FUNCTION stratigraph.copy_thread_2(p_source bytea, p_target bytea, p_long_id bytea) IS 'All of a thread under another id, with its tags: copyThread.';

CREATE FUNCTION stratigraph.delete_thread_1(p_key bytea) RETURNS void
    LANGUAGE plpgsql
    SET lock_timeout TO '4s'
    AS $$
declare
  v_thread bigint;
begin
  update "stratigraph".threads t
     set revision = t.revision + 1, deleted_at = t.revision + 1, removed_at = t.revision + 1, live = false, evicted = false,
         written_at = date_trunc('minute', now())
   where t.key = p_key returning t.thread into v_thread;
  if found then
    delete from "stratigraph".checkpoints where thread = v_thread;
    delete from "stratigraph".writes where thread = v_thread;
    delete from "stratigraph".blobs where thread = v_thread;
    delete from "stratigraph".heads where thread = v_thread;
    delete from "stratigraph".long_ids where thread = v_thread;
  end if;
  with old as (
    select t.thread from "stratigraph".threads t
     where not t.live and t.deleted_at > 0 and t.written_at < now() - interval '7 days'
     order by t.written_at limit 10 for update skip locked
  ), swept as (
    delete from "stratigraph".writes w using old where w.thread = old.thread
  ), cleared as (
    delete from "stratigraph".blobs b using old where b.thread = old.thread
  )
  delete from "stratigraph".threads t using old where t.thread = old.thread;
end
$$;

COMMENT ON FUNCTION stratigraph.delete_thread_1(p_key bytea) IS 'Drops a thread and leaves a tombstone: deleteThread.';

CREATE FUNCTION stratigraph.drop_tags_1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  delete from "stratigraph".thread_tags g where g.thread = old.thread;
  return null;
end
$$;

COMMENT ON FUNCTION stratigraph.drop_tags_1() IS 'Takes the tags of a deleted thread away: a trigger.';

CREATE FUNCTION stratigraph.evict_1(p_key bytea, p_revision bigint) RETURNS boolean
    LANGUAGE plpgsql
    SET lock_timeout TO '4s'
    AS $$
declare
  v_thread bigint;
begin
  update "stratigraph".threads t set revision = p_revision + 1, removed_at = p_revision + 1, evicted = true
   where t.key = p_key and t.revision = p_revision returning t.thread into v_thread;
  if not found then return false; end if;
  delete from "stratigraph".checkpoints where thread = v_thread;
  delete from "stratigraph".writes where thread = v_thread;
  delete from "stratigraph".blobs where thread = v_thread;
  return true;
end
$$;

COMMENT ON FUNCTION stratigraph.evict_1(p_key bytea, p_revision bigint) IS 'Drops the bytes of a thread and keeps its heads: archiving.';

CREATE FUNCTION stratigraph.fork_1(p_source bytea, p_seen bigint, p_key bytea, p_long_id bytea, p_tip_lengths integer[], p_tips bytea, p_depths integer[], p_until text[], p_places_of text[], p_records integer[], p_tags text[], p_places integer[], p_blobs integer[], p_writes integer[], p_long_ids integer[], p_heads integer[], p_head_at integer[], p_expected integer[], p_starts integer[], p_lengths integer[], p_data bytea) RETURNS TABLE(status text, head bytea, checkpoints bigint, bytes bigint)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET lock_timeout TO '4s'
    AS $$
declare
  x bytea[] := "stratigraph".pieces_1(p_tip_lengths, p_tips);
  v_source bigint;
  v_target "stratigraph".threads;
  v_head bytea;
  v_tips bigint;
  v_complete boolean;
  v_checkpoints bigint;
  v_bytes bigint;
begin
  select t.thread into v_source from "stratigraph".threads t where t.key = p_source;
  if not found then
    return query select 'missing', null::bytea, null::bigint, null::bigint;
    return;
  end if;
  insert into "stratigraph".threads as t (key, long_id, revision, written_at)
  values (p_key, p_long_id, 1, date_trunc('minute', now()))
  on conflict (key) do update set revision = t.revision + 1, written_at = excluded.written_at
  returning * into v_target;
  select h.id into v_head from "stratigraph".heads h where h.thread = v_target.thread order by h.ns limit 1;
  if found then
    update "stratigraph".threads t set revision = t.revision - 1 where t.thread = v_target.thread;
    return query select 'exists', v_head, null::bigint, null::bigint;
    return;
  end if;

  -- One statement, so one snapshot: what is pruned meanwhile is still there, or was not there from the start.
  with recursive line as (
    select c.*, t.depth, t.until::integer[] as open, t.places::integer[] as places
      from unnest(p_depths, p_until, p_places_of) with ordinality as t (depth, until, places, n),
           lateral (
             select c.id, c.ns, c.parent, c.run, c.tags, c.blobs, c.body from "stratigraph".checkpoints c
              where c.thread = v_source and c.id = x[t.n * 2] and c.ns = x[t.n * 2 - 1] offset 0
           ) as c
    union all
    select c.*, line.depth - 1, case when line.open is not null then array(select unnest(line.open) except select unnest(c.tags)) end, null
      from line,
           lateral (
             select c.id, c.ns, c.parent, c.run, c.tags, c.blobs, c.body from "stratigraph".checkpoints c
              where c.thread = v_source and c.id = line.parent and c.ns = line.ns offset 0
           ) as c
     where line.depth > 0 and (line.open is null or cardinality(line.open) > 0)
  ), pending as materialized (
    select * from (
      select w.*, line.places, row_number() over (partition by w.ns, w.id order by w.seq, w.part) - 1 as place
        from line,
             lateral (
               select w.id, w.ns, w.seq, w.part, w.task, w.blobs, w.body from "stratigraph".writes w
                where w.thread = v_source and w.id = line.id and w.ns = line.ns offset 0
             ) as w
    ) as placed
     where places is null or place = any (places)
  ), copied as (
    insert into "stratigraph".checkpoints (thread, id, ns, parent, lost_to, run, tags, blobs, body)
    select v_target.thread, id, ns, parent, null, run, tags, blobs, body from line
    returning checkpoints.blobs, length(checkpoints.body) as size
  ), wrote as (
    insert into "stratigraph".writes (thread, id, ns, seq, part, task, blobs, body)
    select v_target.thread, id, ns, v_target.revision, row_number() over (order by seq, part), task, blobs, body from pending
    returning length(writes.body) as size
  ), named as materialized (
    select unnest(array(
             select substring(packed from o for 20)
               from (select copied.blobs as packed from copied union all select pending.blobs from pending) as lists,
                    generate_series(1, length(packed), 20) as o
           )) as hash
  ), chain as (
    select b.* from named, lateral (select b.hash, b.base from "stratigraph".blobs b where b.thread = v_source and b.hash = named.hash offset 0) as b
    union
    select b.* from chain, lateral (select b.hash, b.base from "stratigraph".blobs b where b.thread = v_source and b.hash = chain.base offset 0) as b
  ), stored as (
    insert into "stratigraph".blobs (thread, hash, base, bytes)
    select v_target.thread, b.*
      from chain, lateral (select b.hash, b.base, b.bytes from "stratigraph".blobs b where b.thread = v_source and b.hash = chain.hash offset 0) as b
    returning length(blobs.bytes) as size
  )
  select (select count(*) from line where places is not null),
         (select t.removed_at <= p_seen from "stratigraph".threads t where t.thread = v_source) and not exists (
           select hash from named union select base from chain where base is not null
           except select hash from chain
         ),
         (select count(*) from copied),
         (select coalesce(sum(size), 0) from (select size from copied union all select size from wrote union all select size from stored) as sizes)
    into v_tips, v_complete, v_checkpoints, v_bytes;
  if v_tips < cardinality(p_depths) or v_complete is not true then raise sqlstate 'SG001'; end if;

  insert into "stratigraph".long_ids (thread, key, id)
  select v_target.thread, l.key, l.id from "stratigraph".long_ids l where l.thread = v_source on conflict do nothing;
  if exists (
    select from "stratigraph".append_1(
      array[1], array[null]::bigint[], array[0], p_records, p_tags, p_places, p_blobs, p_writes, p_long_ids,
      p_heads, p_head_at, p_expected, p_starts, p_lengths, p_data
    ) as a where a.status <> 'ok'
  ) then raise sqlstate 'SG001'; end if;
  return query select 'ok', null::bytea, v_checkpoints, v_bytes;
exception when sqlstate 'SG001' then
  return query select 'missing', null::bytea, null::bigint, null::bigint;
end
$$;

COMMENT ON FUNCTION stratigraph.fork_1(p_source bytea, p_seen bigint, p_key bytea, p_long_id bytea, p_tip_lengths integer[], p_tips bytea, p_depths integer[], p_until text[], p_places_of text[], p_records integer[], p_tags text[], p_places integer[], p_blobs integer[], p_writes integer[], p_long_ids integer[], p_heads integer[], p_head_at integer[], p_expected integer[], p_starts integer[], p_lengths integer[], p_data bytea) IS 'For processes of versions before 000005: fork_3.';

CREATE FUNCTION stratigraph.fork_2(p_source bytea, p_seen bigint, p_key bytea, p_long_id bytea, p_tip_lengths integer[], p_tips bytea, p_depths integer[], p_until text[], p_places_of text[], p_records integer[], p_tags text[], p_places integer[], p_blobs integer[], p_writes integer[], p_long_ids integer[], p_heads integer[], p_head_at integer[], p_expected integer[], p_starts integer[], p_lengths integer[], p_data bytea) RETURNS TABLE(status text, head bytea, checkpoints bigint, bytes bigint)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
begin
  select f.status, f.head, f.checkpoints, f.bytes into status, head, checkpoints, bytes
    from "stratigraph".fork_1(
      p_source, p_seen, p_key, p_long_id, p_tip_lengths, p_tips, p_depths, p_until, p_places_of, p_records, p_tags,
      p_places, p_blobs, p_writes, p_long_ids, p_heads, p_head_at, p_expected, p_starts, p_lengths, p_data
    ) as f;
  if status = 'ok' then perform "stratigraph".inherit_tags_1(p_source, p_key); end if;
  return next;
end
$$;

COMMENT ON FUNCTION stratigraph.fork_2(p_source bytea, p_seen bigint, p_key bytea, p_long_id bytea, p_tip_lengths integer[], p_tips bytea, p_depths integer[], p_until text[], p_places_of text[], p_records integer[], p_tags text[], p_places integer[], p_blobs integer[], p_writes integer[], p_long_ids integer[], p_heads integer[], p_head_at integer[], p_expected integer[], p_starts integer[], p_lengths integer[], p_data bytea) IS 'For processes of versions before 000007: fork_3.';

CREATE FUNCTION stratigraph.fork_3(p_source bytea, p_seen bigint, p_key bytea, p_long_id bytea, p_tips jsonb, p_append jsonb, p_data bytea) RETURNS TABLE(status text, head bytea, checkpoints bigint, bytes bigint)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET lock_timeout TO '4s'
    AS $$
declare
  v_tips "stratigraph".fork_tip_1[] := array(select t from jsonb_populate_recordset(null::  "stratigraph".fork_tip_1, p_tips) as t);
  v_source bigint;
  v_target "stratigraph".threads;
  v_head bytea;
  v_found bigint;
  v_complete boolean;
  v_checkpoints bigint;
  v_bytes bigint;
begin
  select t.thread into v_source from "stratigraph".threads t where t.key = p_source;
  if not found then
    return query select 'missing', null::bytea, null::bigint, null::bigint;
    return;
  end if;
  insert into "stratigraph".threads as t (key, long_id, revision, written_at)
  values (p_key, p_long_id, 1, date_trunc('minute', now()))
  on conflict (key) do update set revision = t.revision + 1, written_at = excluded.written_at
  returning * into v_target;
  select h.id into v_head from "stratigraph".heads h where h.thread = v_target.thread order by h.ns limit 1;
  if found then
    update "stratigraph".threads t set revision = t.revision - 1 where t.thread = v_target.thread;
    return query select 'exists', v_head, null::bigint, null::bigint;
    return;
  end if;

  -- One statement, so one snapshot: what is pruned meanwhile is still there, or was not there from the start.
  with recursive line as (
    select c.*, t.ancestors as depth, t.until as open, t.writes as places
      from unnest(v_tips) as t,
           lateral (
             select c.id, c.ns, c.parent, c.run, c.tags, c.blobs, c.body from "stratigraph".checkpoints c
              where c.thread = v_source and c.id = t.id and c.ns = t.ns offset 0
           ) as c
    union all
    select c.*, line.depth - 1, case when line.open is not null then array(select unnest(line.open) except select unnest(c.tags)) end, null
      from line,
           lateral (
             select c.id, c.ns, c.parent, c.run, c.tags, c.blobs, c.body from "stratigraph".checkpoints c
              where c.thread = v_source and c.id = line.parent and c.ns = line.ns offset 0
           ) as c
     where line.depth > 0 and (line.open is null or cardinality(line.open) > 0)
  ), pending as materialized (
    select * from (
      select w.*, line.places, row_number() over (partition by w.ns, w.id order by w.seq, w.part) - 1 as place
        from line,
             lateral (
               select w.id, w.ns, w.seq, w.part, w.task, w.blobs, w.body from "stratigraph".writes w
                where w.thread = v_source and w.id = line.id and w.ns = line.ns offset 0
             ) as w
    ) as placed
     where places is null or place = any (places)
  ), copied as (
    insert into "stratigraph".checkpoints (thread, id, ns, parent, lost_to, run, tags, blobs, body)
    select v_target.thread, id, ns, parent, null, run, tags, blobs, body from line
    returning checkpoints.blobs, length(checkpoints.body) as size
  ), wrote as (
    insert into "stratigraph".writes (thread, id, ns, seq, part, task, blobs, body)
    select v_target.thread, id, ns, v_target.revision, row_number() over (order by seq, part), task, blobs, body from pending
    returning length(writes.body) as size
  ), named as materialized (
    select unnest(array(
             select substring(packed from o for 20)
               from (select copied.blobs as packed from copied union all select pending.blobs from pending) as lists,
                    generate_series(1, length(packed), 20) as o
           )) as hash
  ), chain as (
    select b.* from named, lateral (select b.hash, b.base from "stratigraph".blobs b where b.thread = v_source and b.hash = named.hash offset 0) as b
    union
    select b.* from chain, lateral (select b.hash, b.base from "stratigraph".blobs b where b.thread = v_source and b.hash = chain.base offset 0) as b
  ), stored as (
    insert into "stratigraph".blobs (thread, hash, base, bytes)
    select v_target.thread, b.*
      from chain, lateral (select b.hash, b.base, b.bytes from "stratigraph".blobs b where b.thread = v_source and b.hash = chain.hash offset 0) as b
    returning length(blobs.bytes) as size
  )
  select (select count(*) from line where places is not null),
         (select t.removed_at <= p_seen from "stratigraph".threads t where t.thread = v_source) and not exists (
           select hash from named union select base from chain where base is not null
           except select hash from chain
         ),
         (select count(*) from copied),
         (select coalesce(sum(size), 0) from (select size from copied union all select size from wrote union all select size from stored) as sizes)
    into v_found, v_complete, v_checkpoints, v_bytes;
  if v_found < cardinality(v_tips) or v_complete is not true then raise sqlstate 'SG001'; end if;

  insert into "stratigraph".long_ids (thread, key, id)
  select v_target.thread, l.key, l.id from "stratigraph".long_ids l where l.thread = v_source on conflict do nothing;
  if exists (select from "stratigraph".append_3(p_append, p_data) as a where a.status <> 'ok') then raise sqlstate 'SG001'; end if;
  perform "stratigraph".inherit_tags_1(p_source, p_key);
  return query select 'ok', null::bytea, v_checkpoints, v_bytes;
exception when sqlstate 'SG001' then
  return query select 'missing', null::bytea, null::bigint, null::bigint;
end
$$;

COMMENT ON FUNCTION stratigraph.fork_3(p_source bytea, p_seen bigint, p_key bytea, p_long_id bytea, p_tips jsonb, p_append jsonb, p_data bytea) IS 'A part of a thread as a new thread, with its tags: fork.';

CREATE FUNCTION stratigraph.id_text(key bytea) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  select case
    when length(key) = 0 then ''
    when get_byte(key, 0) = 1 then encode(substring(key from 2), 'hex')::uuid::text
    when get_byte(key, 0) = 2 and position('\x00'::bytea in key) = 0 and getdatabaseencoding() = 'UTF8'
      then convert_from(substring(key from 2), 'UTF8')
    when get_byte(key, 0) = 2 then encode(substring(key from 2), 'escape')
    else encode(key, 'hex')
  end
$$;

COMMENT ON FUNCTION stratigraph.id_text(key bytea) IS 'An id key as text.';

CREATE FUNCTION stratigraph.id_time(key bytea) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  select case
    when length(key) <> 17 or get_byte(key, 0) <> 1 then null
    when get_byte(key, 7) / 16 = 6
      then to_timestamp(((('x0' || substring(digits for 12) || substring(digits from 14 for 3))::bit(64)::bigint) - 122192928000000000) / 1e7)
    when get_byte(key, 7) / 16 = 7 then to_timestamp(('x0000' || substring(digits for 12))::bit(64)::bigint / 1e3)
  end
  from encode(substring(key from 2), 'hex') as digits
$$;

COMMENT ON FUNCTION stratigraph.id_time(key bytea) IS 'When an id was made, of UUIDs of version 6 and 7.';

CREATE FUNCTION stratigraph.source_of(tags integer[]) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  select case
    when tags @> array[-924861548] then 'input'
    when tags @> array[1075280270] then 'loop'
    when tags @> array[-881371663] then 'update'
    when tags @> array[1806578396] then 'fork'
  end
$$;

COMMENT ON FUNCTION stratigraph.source_of(tags integer[]) IS 'LangGraph''s metadata.source, by tags.';

CREATE TABLE stratigraph.blobs (
    thread bigint NOT NULL,
    hash bytea NOT NULL,
    base bytea,
    bytes bytea NOT NULL
);
ALTER TABLE ONLY stratigraph.blobs ALTER COLUMN bytes SET STORAGE EXTERNAL;

COMMENT ON TABLE stratigraph.blobs IS 'Values by the hash of their content, within one thread: whole, or a patch on a base.';

COMMENT ON COLUMN stratigraph.blobs.base IS 'Hash of the value that this patch stands on; null: the value is whole.';

COMMENT ON COLUMN stratigraph.blobs.bytes IS 'Compressed, perhaps encrypted.';

CREATE TABLE stratigraph.checkpoints (
    thread bigint NOT NULL,
    id bytea NOT NULL,
    ns bytea NOT NULL,
    parent bytea,
    lost_to bytea,
    run bytea,
    tags integer[] NOT NULL,
    blobs bytea NOT NULL,
    body bytea NOT NULL
);
ALTER TABLE ONLY stratigraph.checkpoints ALTER COLUMN body SET STORAGE EXTERNAL;

COMMENT ON TABLE stratigraph.checkpoints IS 'Records: checkpoints without the bytes of their values. docs/format.md describes body.';

COMMENT ON COLUMN stratigraph.checkpoints.ns IS 'Key of the namespace; the root namespace is empty.';

COMMENT ON COLUMN stratigraph.checkpoints.lost_to IS 'The checkpoint that won the head: this one is on a side branch.';

COMMENT ON COLUMN stratigraph.checkpoints.tags IS 'Hashes of the leaves of its metadata, and of channels with a snapshot.';

COMMENT ON COLUMN stratigraph.checkpoints.blobs IS 'Hashes of its values, 20 bytes each.';

COMMENT ON COLUMN stratigraph.checkpoints.body IS 'Metadata and manifest: compressed, perhaps encrypted.';

CREATE TABLE stratigraph.heads (
    thread bigint NOT NULL,
    ns bytea NOT NULL,
    id bytea NOT NULL
)
WITH (fillfactor='70');

COMMENT ON TABLE stratigraph.heads IS 'The newest checkpoint of each namespace of a thread: where the next run goes on.';

COMMENT ON COLUMN stratigraph.heads.ns IS 'Key of the namespace; the root namespace is empty.';

COMMENT ON COLUMN stratigraph.heads.id IS 'Key of the checkpoint.';

CREATE TABLE stratigraph.threads (
    thread bigint NOT NULL,
    key bytea NOT NULL,
    long_id bytea,
    revision bigint NOT NULL,
    deleted_at bigint DEFAULT 0 NOT NULL,
    removed_at bigint DEFAULT 0 NOT NULL,
    live boolean DEFAULT false NOT NULL,
    evicted boolean DEFAULT false NOT NULL,
    written_at timestamp with time zone NOT NULL
)
WITH (fillfactor='70');

COMMENT ON TABLE stratigraph.threads IS 'One row per thread: its id, and the revision that every change counts up. Its row lock puts the writers of a thread in line.';

COMMENT ON COLUMN stratigraph.threads.thread IS 'Number of the thread in all tables.';

COMMENT ON COLUMN stratigraph.threads.key IS 'Its id: first byte 1 and 16 bytes of a UUID, 2 and UTF-8, or 3 and the SHA-256 of a long one. id_text() and id_key() convert.';

COMMENT ON COLUMN stratigraph.threads.long_id IS 'The id in UTF-8, where it has over 512 bytes.';

COMMENT ON COLUMN stratigraph.threads.revision IS 'Counted up by every change.';

COMMENT ON COLUMN stratigraph.threads.deleted_at IS 'Revision of the last deletion; 0: never deleted.';

COMMENT ON COLUMN stratigraph.threads.removed_at IS 'Revision of the last removal of blobs; 0: none.';

COMMENT ON COLUMN stratigraph.threads.live IS 'It has a head. Tombstones, and threads with early pending writes alone, have none.';

COMMENT ON COLUMN stratigraph.threads.evicted IS 'Its bytes were moved to another tier.';

COMMENT ON COLUMN stratigraph.threads.written_at IS 'Last change, to the minute.';

CREATE TABLE stratigraph.writes (
    thread bigint NOT NULL,
    id bytea NOT NULL,
    ns bytea NOT NULL,
    seq bigint NOT NULL,
    part integer NOT NULL,
    task bytea NOT NULL,
    blobs bytea NOT NULL,
    body bytea NOT NULL
);
ALTER TABLE ONLY stratigraph.writes ALTER COLUMN body SET STORAGE EXTERNAL;

COMMENT ON TABLE stratigraph.writes IS 'Batches of pending writes, one per putWrites. Their checkpoint may not be there yet.';

COMMENT ON COLUMN stratigraph.writes.seq IS 'Revision of the thread when it arrived.';

COMMENT ON COLUMN stratigraph.writes.part IS 'Its place in the request.';

CREATE VIEW stratigraph.history AS
 SELECT
        CASE
            WHEN (t.long_id IS NULL) THEN stratigraph.id_text(t.key)
            ELSE stratigraph.id_text(('\x02'::bytea || t.long_id))
        END AS thread_id,
    stratigraph.id_text(c.ns) AS checkpoint_ns,
    stratigraph.id_text(c.id) AS checkpoint_id,
    stratigraph.id_text(c.parent) AS parent_checkpoint_id,
    stratigraph.id_text(c.run) AS run_id,
    stratigraph.id_text(c.lost_to) AS lost_to,
    (h.id IS NOT NULL) AS head,
    length(c.body) AS record_bytes,
    (length(c.blobs) / 20) AS "values",
    stratigraph.id_time(c.id) AS "time",
    stratigraph.source_of(c.tags) AS source,
    ( SELECT COALESCE(sum(b.size), (0)::bigint) AS "coalesce"
           FROM generate_series(1, length(c.blobs), 20) o(o),
            LATERAL ( SELECT length(b_1.bytes) AS size
                   FROM stratigraph.blobs b_1
                  WHERE ((b_1.thread = c.thread) AND (b_1.hash = SUBSTRING(c.blobs FROM o.o FOR 20)))
                 OFFSET 0) b) AS value_bytes,
    ( SELECT count(*) AS count
           FROM stratigraph.writes w
          WHERE ((w.thread = c.thread) AND (w.id = c.id) AND (w.ns = c.ns))) AS pending_writes,
    c.thread
   FROM ((stratigraph.checkpoints c
     JOIN stratigraph.threads t USING (thread))
     LEFT JOIN stratigraph.heads h ON (((h.thread = c.thread) AND (h.ns = c.ns) AND (h.id = c.id))));

COMMENT ON VIEW stratigraph.history IS 'Checkpoints with readable ids. All of one thread, by an index: select * from history_of(''thread id'').';

COMMENT ON COLUMN stratigraph.history.thread_id IS 'To search for a thread use history_of(), or where thread = thread_of(''id''): no index finds this text.';

COMMENT ON COLUMN stratigraph.history.lost_to IS 'The checkpoint that won the head: this one is on a side branch.';

COMMENT ON COLUMN stratigraph.history.head IS 'It is the newest of its namespace, where the next run goes on.';

COMMENT ON COLUMN stratigraph.history.record_bytes IS 'Bytes of its record: metadata, and values of up to 64 bytes.';

COMMENT ON COLUMN stratigraph.history."values" IS 'Channels whose value is a blob.';

COMMENT ON COLUMN stratigraph.history."time" IS 'When its id was made, by the clock of the process that made it. Null where the id is no UUID of version 6 or 7.';

COMMENT ON COLUMN stratigraph.history.source IS 'LangGraph''s metadata.source, by the hash of it in tags. Step, next nodes and other metadata stand in the encoded body.';

COMMENT ON COLUMN stratigraph.history.value_bytes IS 'Bytes of its blobs as stored: a patch counts with its own size, and what it stands on isn''t counted.';

COMMENT ON COLUMN stratigraph.history.pending_writes IS 'Batches of pending writes, one per putWrites.';

COMMENT ON COLUMN stratigraph.history.thread IS 'Number of the thread in all tables; thread_of(''id'') tells it.';

CREATE FUNCTION stratigraph.history_of(thread_id text) RETURNS SETOF stratigraph.history
    LANGUAGE sql STABLE
    AS $$
  select h.* from "stratigraph".history h
   where h.thread = "stratigraph".thread_of(history_of.thread_id)
   order by h.time desc nulls last, h.checkpoint_id desc, h.checkpoint_ns
$$;

COMMENT ON FUNCTION stratigraph.history_of(thread_id text) IS 'The checkpoints of one thread, newest first.';

CREATE FUNCTION stratigraph.id_key(id text) RETURNS bytea
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$
  select case
    when id = '' then ''::bytea
    when id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then '\x01'::bytea || decode(replace(id, '-', ''), 'hex')
    when length(convert_to(id, 'UTF8')) > 512 then '\x03'::bytea || sha256(convert_to(id, 'UTF8'))
    else '\x02'::bytea || convert_to(id, 'UTF8')
  end
$_$;

COMMENT ON FUNCTION stratigraph.id_key(id text) IS 'The key of an id.';

CREATE FUNCTION stratigraph.inherit_tags_1(p_source bytea, p_target bytea) RETURNS void
    LANGUAGE sql
    AS $$
  insert into "stratigraph".thread_tags (thread, key, value)
  select t.thread, g.key, g.value
    from "stratigraph".threads t, "stratigraph".threads s join "stratigraph".thread_tags g on g.thread = s.thread
   where s.key = p_source and t.key = p_target
  on conflict do nothing
$$;

COMMENT ON FUNCTION stratigraph.inherit_tags_1(p_source bytea, p_target bytea) IS 'Gives a copy the tags of its source.';

CREATE FUNCTION stratigraph.lease_1(p_name bytea, p_holder bytea, p_ms double precision) RETURNS boolean
    LANGUAGE plpgsql
    SET lock_timeout TO '4s'
    AS $$
begin
  if p_ms <= 0 then
    delete from "stratigraph".leases l where l.name = p_name and l.holder = p_holder;
    return found;
  end if;
  insert into "stratigraph".leases as l (name, holder, until) values (p_name, p_holder, clock_timestamp() + p_ms * interval '1 millisecond')
  on conflict (name) do update set holder = excluded.holder, until = excluded.until
   where l.holder = excluded.holder or l.until < clock_timestamp();
  return found;
end
$$;

COMMENT ON FUNCTION stratigraph.lease_1(p_name bytea, p_holder bytea, p_ms double precision) IS 'Takes, prolongs or gives back a lease.';

CREATE FUNCTION stratigraph.list_1(p_key bytea, p_ns bytea, p_id bytea, p_before bytea, p_tags integer[], p_runs bytea[], p_lost boolean, p_blobs boolean, p_after_thread bigint, p_after_id bytea, p_after_ns bytea, p_limit integer) RETURNS SETOF stratigraph.read_row_1
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    AS $$
declare
  v_thread bigint;
begin
  if p_key is not null then
    select t.thread into v_thread from "stratigraph".threads t where t.key = p_key;
    if not found then return; end if;
  end if;
  return query
    with recursive page as materialized (
      select c.* from "stratigraph".checkpoints c
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
      select w.* from page p, lateral (select * from "stratigraph".writes x where x.thread = p.thread and x.id = p.id and x.ns = p.ns offset 0) w
    ), named as (
      select thread, blobs from page where p_blobs
      union all
      select thread, blobs from pending where p_blobs and blobs <> ''
    ), chain as (
      select b.thread, b.hash, b.base
        from named, generate_series(1, length(named.blobs), 20) as o,
             lateral (select * from "stratigraph".blobs x where x.thread = named.thread and x.hash = substring(named.blobs from o for 20) offset 0) b
      union
      select b.thread, b.hash, b.base
        from chain, lateral (select * from "stratigraph".blobs x where x.thread = chain.thread and x.hash = chain.base offset 0) b
    )
    (select 'c', c.thread, c.id, c.ns, c.parent, c.lost_to, c.run, c.blobs, null::bigint, array_to_string(c.tags, ','), c.body
       from page c order by c.thread desc, c.id desc, c.ns desc)
    union all
    (select 'w', w.thread, w.id, w.ns, w.task, null, null, w.blobs, w.seq, null, w.body from pending w order by w.seq, w.part)
    union all
    select 'b', b.thread, null, null, b.hash, b.base, null, null, null, null, b.bytes
      from chain, lateral (select * from "stratigraph".blobs x where x.thread = chain.thread and x.hash = chain.hash offset 0) b
    union all
    select 'h', h.thread, null, h.ns, h.id, null, null, null, null, null, null
      from (select distinct thread, ns from page) p join "stratigraph".heads h on h.thread = p.thread and h.ns = p.ns
    union all
    select 't', t.thread, null, null, t.key, t.long_id, null, null, null, null, null
      from "stratigraph".threads t where t.thread in (select thread from page);
end
$$;

COMMENT ON FUNCTION stratigraph.list_1(p_key bytea, p_ns bytea, p_id bytea, p_before bytea, p_tags integer[], p_runs bytea[], p_lost boolean, p_blobs boolean, p_after_thread bigint, p_after_id bytea, p_after_ns bytea, p_limit integer) IS 'The same, along the index that the planner chooses: for list_2, and for processes of versions before 000009.';

CREATE FUNCTION stratigraph.list_2(p_key bytea, p_ns bytea, p_id bytea, p_before bytea, p_tags integer[], p_runs bytea[], p_lost boolean, p_blobs boolean, p_after_thread bigint, p_after_id bytea, p_after_ns bytea, p_limit integer) RETURNS SETOF stratigraph.read_row_1
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    SET enable_indexscan TO 'on'
    SET enable_seqscan TO 'on'
    AS $$
begin
  if p_key is null and p_tags is not null then
    if (select count(*) from (
          select c.tags @> p_tags as is_found from "stratigraph".checkpoints c
           where p_after_thread is null or (c.thread, c.id, c.ns) < (p_after_thread, p_after_id, p_after_ns)
           order by c.thread desc, c.id desc, c.ns desc limit 2000
        ) as next where next.is_found) < p_limit then
      perform set_config('enable_indexscan', 'off', true), set_config('enable_seqscan', 'off', true);
    end if;
  end if;
  return query select * from "stratigraph".list_1(
    p_key, p_ns, p_id, p_before, p_tags, p_runs, p_lost, p_blobs, p_after_thread, p_after_id, p_after_ns, p_limit
  );
end
$$;

COMMENT ON FUNCTION stratigraph.list_2(p_key bytea, p_ns bytea, p_id bytea, p_before bytea, p_tags integer[], p_runs bytea[], p_lost boolean, p_blobs boolean, p_after_thread bigint, p_after_id bytea, p_after_ns bytea, p_limit integer) IS 'A page of checkpoints: list.';

CREATE FUNCTION stratigraph.lock_1(p_name bytea, p_holder bytea, p_ms double precision) RETURNS TABLE(held boolean, owner bytea, fence bigint, since_ms double precision)
    LANGUAGE plpgsql
    SET lock_timeout TO '4s'
    AS $$
begin
  return query
  insert into "stratigraph".locks as l (name, holder, token, since, until)
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
      from "stratigraph".locks l where l.name = p_name;
  end if;
end
$$;

COMMENT ON FUNCTION stratigraph.lock_1(p_name bytea, p_holder bytea, p_ms double precision) IS 'Takes or prolongs a lock, or tells who has it.';

CREATE FUNCTION stratigraph.long_ids_1(p_keys bytea[]) RETURNS TABLE(key bytea, id bytea)
    LANGUAGE sql STABLE
    AS $$
  select distinct l.key, l.id from "stratigraph".long_ids l where l.key = any (p_keys)
$$;

COMMENT ON FUNCTION stratigraph.long_ids_1(p_keys bytea[]) IS 'The originals of long ids.';

CREATE FUNCTION stratigraph.outline_1(p_key bytea, p_id bytea) RETURNS SETOF stratigraph.read_row_1
    LANGUAGE plpgsql STABLE
    AS $$
declare
  v_thread bigint;
  v_revision bigint;
  v_head bytea;
  v_id bytea;
begin
  select t.thread, t.revision into v_thread, v_revision from "stratigraph".threads t where t.key = p_key;
  if not found then return; end if;
  select h.id into v_head from "stratigraph".heads h where h.thread = v_thread and h.ns = '';
  v_id := coalesce(p_id, v_head);
  return next ('s', v_thread, v_id, '', v_head,
    case when exists (select from "stratigraph".checkpoints c where c.thread = v_thread and c.ns = '' and c.parent = v_id) then v_id end,
    null, null, v_revision, null, null)::  "stratigraph".read_row_1;
  return query
    with tip as materialized (
      select h.id, h.ns from "stratigraph".heads h where h.thread = v_thread
      union
      select v_id, '' where v_id is not null
    )
    (select 'w', w.thread, w.id, w.ns, w.task, null::bytea, null::bytea, w.blobs, w.seq, null::text, w.body
       from tip,
            lateral (select * from "stratigraph".writes w where w.thread = v_thread and w.id = tip.id and w.ns = tip.ns offset 0) as w
      order by w.seq, w.part)
    union all
    select 'c', c.thread, c.id, c.ns, c.parent, c.lost_to, c.run, c.blobs, null, array_to_string(c.tags, ','), c.body
      from tip,
           lateral (select * from "stratigraph".checkpoints c where c.thread = v_thread and c.id = tip.id and c.ns = tip.ns offset 0) as c
    union all
    select 'h', h.thread, null, h.ns, h.id, null, null, null, null, null, null from "stratigraph".heads h where h.thread = v_thread;
end
$$;

COMMENT ON FUNCTION stratigraph.outline_1(p_key bytea, p_id bytea) IS 'What a fork is planned from.';

CREATE FUNCTION stratigraph.pieces_1(lengths integer[], data bytea) RETURNS bytea[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
begin
  return array(
    select case when l < 0 then null else substring(data from o + 1 for l) end
      from (select l, n, (sum(greatest(l, 0)) over (order by n rows unbounded preceding) - greatest(l, 0))::integer as o
              from unnest(lengths) with ordinality as u (l, n)) as placed
     order by n
  );
end
$$;

COMMENT ON FUNCTION stratigraph.pieces_1(lengths integer[], data bytea) IS 'For processes of versions before 000007: the pieces of a packed argument.';

CREATE FUNCTION stratigraph.read_1(p_key bytea, p_ns bytea, p_id bytea, p_blobs boolean) RETURNS SETOF stratigraph.read_row_1
    LANGUAGE plpgsql STABLE
    SET jit TO 'off'
    AS $$
declare
  v_thread bigint;
  v_revision bigint;
  v_head bytea;
  v_id bytea;
begin
  select t.thread, t.revision into v_thread, v_revision from "stratigraph".threads t where t.key = p_key;
  if not found then return; end if;
  select h.id into v_head from "stratigraph".heads h where h.thread = v_thread and h.ns = p_ns;
  v_id := coalesce(p_id, v_head);
  return next ('s', v_thread, v_id, p_ns, v_head, null, null, null, v_revision, null, null)::  "stratigraph".read_row_1;
  if v_id is null then return; end if;
  return query
    select 'w', w.thread, w.id, w.ns, w.task, null::bytea, null::bytea, w.blobs, w.seq, null::text, w.body
      from "stratigraph".writes w where w.thread = v_thread and w.id = v_id and w.ns = p_ns
     order by w.seq, w.part;
  return query
    select 'c', c.thread, c.id, c.ns, c.parent, c.lost_to, c.run, c.blobs, null::bigint, array_to_string(c.tags, ','), c.body
      from "stratigraph".checkpoints c where c.thread = v_thread and c.id = v_id and c.ns = p_ns;
  if not p_blobs then return; end if;
  return query
    with recursive named as (
      select c.blobs as packed from "stratigraph".checkpoints c where c.thread = v_thread and c.id = v_id and c.ns = p_ns
      union all
      select w.blobs from "stratigraph".writes w where w.thread = v_thread and w.id = v_id and w.ns = p_ns and w.blobs <> ''
    ), chain as (
      select b.hash, b.base, b.bytes, 1 as place
        from named, generate_series(1, length(packed), 20) as o,
             lateral (select * from "stratigraph".blobs x where x.thread = v_thread and x.hash = substring(packed from o for 20) offset 0) b
      union all
      select b.hash, b.base, b.bytes, chain.place + 1
        from chain, lateral (select * from "stratigraph".blobs x where x.thread = v_thread and x.hash = chain.base offset 0) b
       where chain.base <> chain.hash and chain.place < 4096
    )
    select 'b', v_thread, null::bytea, null::bytea, hash, base, null::bytea, null::bytea, null::bigint, null::text, bytes from chain;
end
$$;

COMMENT ON FUNCTION stratigraph.read_1(p_key bytea, p_ns bytea, p_id bytea, p_blobs boolean) IS 'One checkpoint or the head, with or without what it needs: peek, read.';

CREATE FUNCTION stratigraph.remove_1(p_key bytea, p_revision bigint, p_counts integer[], p_lengths integer[], p_data bytea) RETURNS boolean
    LANGUAGE plpgsql
    SET lock_timeout TO '4s'
    AS $$
declare
  v_thread bigint;
  x bytea[] := "stratigraph".pieces_1(p_lengths, p_data);
  o integer := p_counts[1] * 2;
begin
  select t.thread into v_thread from "stratigraph".threads t where t.key = p_key and t.revision = p_revision for update;
  if not found then return false; end if;
  delete from "stratigraph".writes w using generate_series(1, p_counts[1]) as g
   where w.thread = v_thread and w.id = x[g * 2 - 1] and w.ns = x[g * 2];
  delete from "stratigraph".checkpoints c using generate_series(1, p_counts[1]) as g
   where c.thread = v_thread and c.id = x[g * 2 - 1] and c.ns = x[g * 2];
  delete from "stratigraph".blobs b where b.thread = v_thread and b.hash = any (x[o + 1 : o + p_counts[2]]);
  o := o + p_counts[2];
  insert into "stratigraph".blobs as b (thread, hash, base, bytes)
  select v_thread, x[o + g * 3 - 2], x[o + g * 3 - 1], x[o + g * 3] from generate_series(1, p_counts[3]) as g
  on conflict (thread, hash) do update set base = excluded.base, bytes = excluded.bytes;
  o := o + p_counts[3] * 3;
  delete from "stratigraph".heads h using generate_series(1, p_counts[4]) as g
   where h.thread = v_thread and h.ns = x[o + g * 2 - 1] and x[o + g * 2] is null;
  update "stratigraph".heads h set id = x[o + g * 2] from generate_series(1, p_counts[4]) as g
   where h.thread = v_thread and h.ns = x[o + g * 2 - 1] and x[o + g * 2] is not null;
  update "stratigraph".threads t
     set revision = p_revision + 1, removed_at = p_revision + 1,
         live = exists (select from "stratigraph".heads h where h.thread = v_thread)
   where t.thread = v_thread;
  return true;
end
$$;

COMMENT ON FUNCTION stratigraph.remove_1(p_key bytea, p_revision bigint, p_counts integer[], p_lengths integer[], p_data bytea) IS 'For processes of versions before 000007: remove_2.';

CREATE FUNCTION stratigraph.remove_2(p_key bytea, p_revision bigint, p_changes jsonb, p_data bytea) RETURNS boolean
    LANGUAGE plpgsql
    SET lock_timeout TO '4s'
    AS $$
declare
  v_thread bigint;
begin
  select t.thread into v_thread from "stratigraph".threads t where t.key = p_key and t.revision = p_revision for update;
  if not found then return false; end if;
  delete from "stratigraph".writes w using jsonb_to_recordset(p_changes -> 'checkpoints') as x (id bytea, ns bytea)
   where w.thread = v_thread and w.id = x.id and w.ns = x.ns;
  delete from "stratigraph".checkpoints c using jsonb_to_recordset(p_changes -> 'checkpoints') as x (id bytea, ns bytea)
   where c.thread = v_thread and c.id = x.id and c.ns = x.ns;
  delete from "stratigraph".blobs b
   where b.thread = v_thread and b.hash = any (array(select x::bytea from jsonb_array_elements_text(p_changes -> 'drop_blobs') as x));
  insert into "stratigraph".blobs as b (thread, hash, base, bytes)
  select v_thread, x.hash, x.base, substring(p_data from x.bytes_start for x.bytes_length)
    from jsonb_populate_recordset(null::  "stratigraph".append_blob_1, p_changes -> 'replace_blobs') as x
  on conflict (thread, hash) do update set base = excluded.base, bytes = excluded.bytes;
  delete from "stratigraph".heads h using jsonb_to_recordset(p_changes -> 'heads') as x (ns bytea, id bytea)
   where h.thread = v_thread and h.ns = x.ns and x.id is null;
  update "stratigraph".heads h set id = x.id from jsonb_to_recordset(p_changes -> 'heads') as x (ns bytea, id bytea)
   where h.thread = v_thread and h.ns = x.ns and x.id is not null;
  update "stratigraph".threads t
     set revision = p_revision + 1, removed_at = p_revision + 1,
         live = exists (select from "stratigraph".heads h where h.thread = v_thread)
   where t.thread = v_thread;
  return true;
end
$$;

COMMENT ON FUNCTION stratigraph.remove_2(p_key bytea, p_revision bigint, p_changes jsonb, p_data bytea) IS 'Takes checkpoints and blobs away: prune.';

CREATE FUNCTION stratigraph.sweep_1(p_older_ms double precision, p_limit integer) RETURNS integer
    LANGUAGE plpgsql
    SET lock_timeout TO '4s'
    AS $$
declare
  v_older interval := make_interval(secs => least(p_older_ms, 3e12) / 1000);
  -- Times are kept to the minute.
  v_early timestamptz := case when p_older_ms > 0 then date_trunc('minute', now() - v_older) else 'infinity' end;
  v_week timestamptz := date_trunc('minute', now() - greatest(v_older, interval '7 days'));
  v_threads bigint[];
  v_emptied bigint[];
begin
  v_threads := array(
    select t.thread from "stratigraph".threads t
     where not t.live and t.deleted_at = 0 and t.written_at < case when t.removed_at = 0 then v_early else v_week end
       and not exists (select from "stratigraph".heads h where h.thread = t.thread)
       and not exists (select from "stratigraph".checkpoints c where c.thread = t.thread)
     order by t.written_at limit p_limit for update skip locked
  );
  -- Looked at again now that the rows are locked: a checkpoint may have come before that.
  v_threads := array(
    select u.thread from unnest(v_threads) as u (thread)
     where not exists (select from "stratigraph".heads h where h.thread = u.thread)
       and not exists (select from "stratigraph".checkpoints c where c.thread = u.thread)
  );
  v_emptied := array(
    select t.thread from "stratigraph".threads t
     where t.thread = any (v_threads) and t.written_at >= v_week
       and exists (select from "stratigraph".blobs b where b.thread = t.thread)
  );
  v_threads := v_threads || array(
    select t.thread from "stratigraph".threads t
     where not t.live and t.deleted_at > 0 and t.written_at < v_week
     order by t.written_at limit p_limit for update skip locked
  );
  delete from "stratigraph".writes w where w.thread = any (v_threads);
  delete from "stratigraph".blobs b where b.thread = any (v_threads);
  delete from "stratigraph".long_ids l where l.thread = any (v_threads);
  update "stratigraph".threads t
     set revision = t.revision + 1, removed_at = t.revision + 1, written_at = date_trunc('minute', now())
   where t.thread = any (v_emptied);
  delete from "stratigraph".threads t where t.thread = any (v_threads) and t.thread <> all (v_emptied);
  return cardinality(v_threads);
end
$$;

COMMENT ON FUNCTION stratigraph.sweep_1(p_older_ms double precision, p_limit integer) IS 'Takes away what dead writers and deletions left: maintenance.';

CREATE FUNCTION stratigraph.tag_thread_1(p_key bytea, p_long_id bytea, p_keys bytea[], p_values bytea[]) RETURNS bigint
    LANGUAGE plpgsql
    SET lock_timeout TO '4s'
    AS $$
declare
  v_thread bigint;
  v_revision bigint;
begin
  insert into "stratigraph".threads as t (key, long_id, revision, written_at)
  values (p_key, p_long_id, 0, date_trunc('minute', now()))
  on conflict (key) do update set written_at = case when t.live then t.written_at else excluded.written_at end
  returning t.thread, t.revision into v_thread, v_revision;
  insert into "stratigraph".thread_tags (thread, key, value)
  select v_thread, u.k, u.v from unnest(p_keys, p_values) as u (k, v) on conflict do nothing;
  return v_revision;
end
$$;

COMMENT ON FUNCTION stratigraph.tag_thread_1(p_key bytea, p_long_id bytea, p_keys bytea[], p_values bytea[]) IS 'Adds tags to a thread: tagThread.';

CREATE FUNCTION stratigraph.thread_of(thread_id text) RETURNS bigint
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
  select t.thread from "stratigraph".threads t where t.key = "stratigraph".id_key(thread_id)
$$;

COMMENT ON FUNCTION stratigraph.thread_of(thread_id text) IS 'The number of a thread, by its id. Null where there is none.';

CREATE FUNCTION stratigraph.threads_1(p_before timestamp with time zone, p_newest boolean, p_evicted boolean, p_after timestamp with time zone, p_after_key bytea, p_limit integer) RETURNS TABLE(key bytea, long_id bytea, revision bigint, head bytea, thread bigint, written_ms bigint, evicted boolean)
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
declare
  v_after bigint;
begin
  if p_after is not null then select t.thread into v_after from "stratigraph".threads t where t.key = p_after_key; end if;
  if p_newest then
    return query
      select t.key, t.long_id, t.revision, h.id, t.thread, (extract(epoch from t.written_at) * 1000)::bigint, t.evicted
        from "stratigraph".threads t left join "stratigraph".heads h on h.thread = t.thread and h.ns = ''
       where t.live and (p_before is null or t.written_at < p_before) and (p_evicted or not t.evicted)
         and (p_after is null or (t.written_at, t.thread) < (p_after, coalesce(v_after, 0)))
       order by t.written_at desc, t.thread desc limit p_limit;
  else
    return query
      select t.key, t.long_id, t.revision, h.id, t.thread, (extract(epoch from t.written_at) * 1000)::bigint, t.evicted
        from "stratigraph".threads t left join "stratigraph".heads h on h.thread = t.thread and h.ns = ''
       where t.live and (p_before is null or t.written_at < p_before) and (p_evicted or not t.evicted)
         and (p_after is null or (t.written_at, t.thread) > (p_after, coalesce(v_after, 0)))
       order by t.written_at, t.thread limit p_limit;
  end if;
end
$$;

COMMENT ON FUNCTION stratigraph.threads_1(p_before timestamp with time zone, p_newest boolean, p_evicted boolean, p_after timestamp with time zone, p_after_key bytea, p_limit integer) IS 'A page of threads by age: listThreads.';

CREATE FUNCTION stratigraph.threads_2(p_before timestamp with time zone, p_newest boolean, p_evicted boolean, p_after timestamp with time zone, p_after_key bytea, p_limit integer, p_keys bytea[], p_values bytea[], p_head_tags integer[]) RETURNS TABLE(key bytea, long_id bytea, revision bigint, head bytea, thread bigint, written_ms bigint, evicted boolean, parent bytea, lost_to bytea, run bytea, blobs bytea, tags text, body bytea)
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
declare
  v_after bigint;
begin
  if p_after is not null then
    select coalesce((select t.thread from "stratigraph".threads t where t.key = p_after_key), 0) into v_after;
  end if;
  if p_keys is not null then
    return query
      with tagged as materialized (
        select g.thread from "stratigraph".thread_tags g where g.key = p_keys[1] and g.value = p_values[1]
           and not exists (
             select from unnest(p_keys, p_values) as u (k, v)
              where not exists (
                select from "stratigraph".thread_tags x where x.thread = g.thread and x.key = u.k and x.value = u.v
              )
           )
      )
      select t.key, t.long_id, t.revision, h.id, t.thread, (extract(epoch from t.written_at) * 1000)::bigint, t.evicted,
             c.parent, c.lost_to, c.run, c.blobs, array_to_string(c.tags, ','), c.body
        from tagged,
             lateral (select * from "stratigraph".threads x where x.thread = tagged.thread offset 0) t
             left join lateral (select * from "stratigraph".heads x where x.thread = t.thread and x.ns = '' offset 0) h on true
             left join lateral (
               select * from "stratigraph".checkpoints x where p_head_tags is not null and x.thread = t.thread and x.id = h.id and x.ns = '' offset 0
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
        from "stratigraph".threads t
             left join lateral (select * from "stratigraph".heads x where x.thread = t.thread and x.ns = '' offset 0) h on true
             left join lateral (
               select * from "stratigraph".checkpoints x where p_head_tags is not null and x.thread = t.thread and x.id = h.id and x.ns = '' offset 0
             ) c on true
       where t.live and (p_before is null or t.written_at < p_before) and (p_evicted or not t.evicted)
         and (c.id is null or c.tags @> p_head_tags)
         and (p_after is null or (t.written_at, t.thread) < (p_after, v_after))
       order by t.written_at desc, t.thread desc limit p_limit;
  else
    return query
      select t.key, t.long_id, t.revision, h.id, t.thread, (extract(epoch from t.written_at) * 1000)::bigint, t.evicted,
             c.parent, c.lost_to, c.run, c.blobs, array_to_string(c.tags, ','), c.body
        from "stratigraph".threads t
             left join lateral (select * from "stratigraph".heads x where x.thread = t.thread and x.ns = '' offset 0) h on true
             left join lateral (
               select * from "stratigraph".checkpoints x where p_head_tags is not null and x.thread = t.thread and x.id = h.id and x.ns = '' offset 0
             ) c on true
       where t.live and (p_before is null or t.written_at < p_before) and (p_evicted or not t.evicted)
         and (c.id is null or c.tags @> p_head_tags)
         and (p_after is null or (t.written_at, t.thread) > (p_after, v_after))
       order by t.written_at, t.thread limit p_limit;
  end if;
end
$$;

COMMENT ON FUNCTION stratigraph.threads_2(p_before timestamp with time zone, p_newest boolean, p_evicted boolean, p_after timestamp with time zone, p_after_key bytea, p_limit integer, p_keys bytea[], p_values bytea[], p_head_tags integer[]) IS 'The same by a tag that few threads carry, for threads_3. All of it for processes of versions before 000009.';

CREATE FUNCTION stratigraph.threads_3(p_before timestamp with time zone, p_newest boolean, p_evicted boolean, p_after timestamp with time zone, p_after_key bytea, p_after_thread bigint, p_limit integer, p_keys bytea[], p_values bytea[], p_head_tags integer[]) RETURNS TABLE(key bytea, long_id bytea, revision bigint, head bytea, thread bigint, written_ms bigint, evicted boolean, parent bytea, lost_to bytea, run bytea, blobs bytea, tags text, body bytea)
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
#variable_conflict use_column
declare
  c_few constant integer := 20000;
  v_filters boolean := p_keys is not null or p_head_tags is not null;
  v_look integer := case when v_filters and p_after_thread is not null then greatest(p_limit, 2000) else p_limit end;
  v_after bigint := p_after_thread;
begin
  if p_after is not null and v_after is null then
    v_after := coalesce((select t.thread from "stratigraph".threads t where t.key = p_after_key), 0);
  end if;
  if p_keys is not null
     and (select count(*) from (
            select from "stratigraph".thread_tags g where g.key = p_keys[1] and g.value = p_values[1] limit c_few + 1
          ) as carrying) <= c_few then
    return query
      select t.* from "stratigraph".threads_2(
        p_before, p_newest, p_evicted, p_after, coalesce(p_after_key, (select t.key from "stratigraph".threads t where t.thread = p_after_thread)),
        p_limit, p_keys, p_values, p_head_tags
      ) as t;
    return;
  end if;
  return query
    with page as materialized (
      (select t.* from "stratigraph".threads t
        where p_newest and t.live and (p_before is null or t.written_at < p_before) and (p_evicted or not t.evicted)
          and (p_after is null or (t.written_at, t.thread) < (p_after, v_after))
        order by t.written_at desc, t.thread desc limit v_look)
      union all
      (select t.* from "stratigraph".threads t
        where not p_newest and t.live and (p_before is null or t.written_at < p_before) and (p_evicted or not t.evicted)
          and (p_after is null or (t.written_at, t.thread) > (p_after, v_after))
        order by t.written_at, t.thread limit v_look)
    ), numbered as materialized (
      select p.*, row_number() over () as place from page p
    ), found as materialized (
      select n.*, h.id as head, c.parent, c.lost_to, c.run, c.blobs, c.tags, c.body
        from numbered n
             left join lateral (select * from "stratigraph".heads x where x.thread = n.thread and x.ns = '' offset 0) h on true
             left join lateral (
               select * from "stratigraph".checkpoints x where p_head_tags is not null and x.thread = n.thread and x.id = h.id and x.ns = '' offset 0
             ) c on true
       where (p_head_tags is null or c.id is null or c.tags @> p_head_tags)
         and (p_keys is null or not exists (
               select from unnest(p_keys, p_values) as u (k, v)
                where not exists (select from "stratigraph".thread_tags x where x.thread = n.thread and x.key = u.k and x.value = u.v)
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

COMMENT ON FUNCTION stratigraph.threads_3(p_before timestamp with time zone, p_newest boolean, p_evicted boolean, p_after timestamp with time zone, p_after_key bytea, p_after_thread bigint, p_limit integer, p_keys bytea[], p_values bytea[], p_head_tags integer[]) IS 'A page of threads by age, tags, and tags of their newest checkpoints: listThreads.';

CREATE TABLE stratigraph.leases (
    name bytea NOT NULL,
    holder bytea NOT NULL,
    until timestamp with time zone NOT NULL
);

COMMENT ON TABLE stratigraph.leases IS 'Who does a piece of maintenance now, and until when.';

CREATE TABLE stratigraph.locks (
    name bytea NOT NULL,
    holder bytea NOT NULL,
    token bigint NOT NULL,
    since timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL
)
WITH (fillfactor='70');

COMMENT ON TABLE stratigraph.locks IS 'Who works on a thread now, and until when: withThread.';

COMMENT ON COLUMN stratigraph.locks.name IS 'What is locked. Of a thread: "run/" and the SHA-256 of its id.';

COMMENT ON COLUMN stratigraph.locks.holder IS 'Who has it, in UTF-8: convert_from(holder, ''UTF8'').';

COMMENT ON COLUMN stratigraph.locks.token IS 'Grows from holder to holder.';

COMMENT ON COLUMN stratigraph.locks.since IS 'When the holder got it.';

COMMENT ON COLUMN stratigraph.locks.until IS 'When it ends unless it is prolonged.';

CREATE TABLE stratigraph.long_ids (
    thread bigint NOT NULL,
    key bytea NOT NULL,
    id bytea NOT NULL
);

COMMENT ON TABLE stratigraph.long_ids IS 'Ids of over 512 bytes, by their keys.';

CREATE TABLE stratigraph.migrations (
    id integer NOT NULL,
    breaking boolean DEFAULT false NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE stratigraph.migrations IS 'Which files of sql/ were applied.';

COMMENT ON COLUMN stratigraph.migrations.breaking IS 'Versions of the library that don''t know this migration must not work here any more.';

CREATE VIEW stratigraph.overview AS
 SELECT
        CASE
            WHEN (t.long_id IS NULL) THEN stratigraph.id_text(t.key)
            ELSE stratigraph.id_text(('\x02'::bytea || t.long_id))
        END AS thread_id,
    t.written_at,
    ( SELECT count(*) AS count
           FROM stratigraph.checkpoints c
          WHERE (c.thread = t.thread)) AS checkpoints,
    ( SELECT count(*) AS count
           FROM stratigraph.writes w
          WHERE (w.thread = t.thread)) AS pending_writes,
    ((( SELECT COALESCE(sum(length(c.body)), (0)::bigint) AS "coalesce"
           FROM stratigraph.checkpoints c
          WHERE (c.thread = t.thread)) + ( SELECT COALESCE(sum(length(b.bytes)), (0)::bigint) AS "coalesce"
           FROM stratigraph.blobs b
          WHERE (b.thread = t.thread))) + ( SELECT COALESCE(sum(length(w.body)), (0)::bigint) AS "coalesce"
           FROM stratigraph.writes w
          WHERE (w.thread = t.thread))) AS bytes,
    t.evicted,
    ((NOT t.live) AND (t.deleted_at > 0)) AS deleted,
    t.thread
   FROM stratigraph.threads t;

COMMENT ON VIEW stratigraph.overview IS 'One row per thread. Counts and bytes are read for the rows that are asked for: use where thread = thread_of(''id''), or limit.';

COMMENT ON COLUMN stratigraph.overview.written_at IS 'Last change, to the minute.';

COMMENT ON COLUMN stratigraph.overview.bytes IS 'Records, blobs and pending writes as stored.';

COMMENT ON COLUMN stratigraph.overview.evicted IS 'Its bytes were moved to another tier; heads are here.';

COMMENT ON COLUMN stratigraph.overview.deleted IS 'A tombstone: refuses late writes, and goes after a week.';

CREATE TABLE stratigraph.shard (
    is_here boolean DEFAULT true NOT NULL,
    number integer NOT NULL,
    shards integer NOT NULL,
    family uuid NOT NULL,
    complete boolean DEFAULT false NOT NULL,
    CONSTRAINT shard_is_here_check CHECK (is_here)
);

COMMENT ON TABLE stratigraph.shard IS 'Which of several databases this one is, where threads are spread over several.';

COMMENT ON COLUMN stratigraph.shard.is_here IS 'Always true: there is one row at most.';

COMMENT ON COLUMN stratigraph.shard.number IS 'Its place among the databases, from 0. It has the threads that are hashed to this number.';

COMMENT ON COLUMN stratigraph.shard.shards IS 'How many databases there are.';

COMMENT ON COLUMN stratigraph.shard.family IS 'A random id that all of them share.';

COMMENT ON COLUMN stratigraph.shard.complete IS 'In the first of them: whether all of them have their row. Then none may be empty.';

CREATE TABLE stratigraph.thread_tags (
    thread bigint NOT NULL,
    key bytea NOT NULL,
    value bytea NOT NULL
);

COMMENT ON TABLE stratigraph.thread_tags IS 'Tags of threads: who and what each belongs to. Under encryption the values are keyed hashes.';

COMMENT ON COLUMN stratigraph.thread_tags.thread IS 'Number of the thread in all tables.';

COMMENT ON COLUMN stratigraph.thread_tags.key IS 'Name of the tag in UTF-8: convert_from(key, ''UTF8'').';

COMMENT ON COLUMN stratigraph.thread_tags.value IS 'Its value in UTF-8: convert_from(value, ''UTF8'').';

ALTER TABLE stratigraph.threads ALTER COLUMN thread ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME stratigraph.threads_thread_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE ONLY stratigraph.blobs
    ADD CONSTRAINT blobs_pkey PRIMARY KEY (thread, hash);

ALTER TABLE ONLY stratigraph.checkpoints
    ADD CONSTRAINT checkpoints_pkey PRIMARY KEY (thread, id, ns);

ALTER TABLE ONLY stratigraph.heads
    ADD CONSTRAINT heads_pkey PRIMARY KEY (thread, ns);

ALTER TABLE ONLY stratigraph.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (name);

ALTER TABLE ONLY stratigraph.locks
    ADD CONSTRAINT locks_pkey PRIMARY KEY (name);

ALTER TABLE ONLY stratigraph.long_ids
    ADD CONSTRAINT long_ids_pkey PRIMARY KEY (thread, key);

ALTER TABLE ONLY stratigraph.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY stratigraph.shard
    ADD CONSTRAINT shard_pkey PRIMARY KEY (is_here);

ALTER TABLE ONLY stratigraph.thread_tags
    ADD CONSTRAINT thread_tags_pkey PRIMARY KEY (thread, key, value);

ALTER TABLE ONLY stratigraph.threads
    ADD CONSTRAINT threads_key UNIQUE (key);

ALTER TABLE ONLY stratigraph.threads
    ADD CONSTRAINT threads_pkey PRIMARY KEY (thread);

ALTER TABLE ONLY stratigraph.writes
    ADD CONSTRAINT writes_pkey PRIMARY KEY (thread, id, ns, seq, part);

CREATE INDEX checkpoints_lost ON stratigraph.checkpoints USING btree (thread) WHERE (lost_to IS NOT NULL);

CREATE INDEX checkpoints_run ON stratigraph.checkpoints USING btree (run) WHERE (run IS NOT NULL);

CREATE INDEX checkpoints_tags ON stratigraph.checkpoints USING gin (tags) WITH (fastupdate=off);

CREATE INDEX long_ids_by_key ON stratigraph.long_ids USING btree (key);

CREATE INDEX thread_tags_by_tag ON stratigraph.thread_tags USING btree (key, value, thread);

CREATE INDEX threads_by_age ON stratigraph.threads USING btree (written_at, thread) WHERE live;

CREATE INDEX threads_deleted ON stratigraph.threads USING btree (written_at) WHERE ((NOT live) AND (deleted_at > 0));

CREATE INDEX threads_early ON stratigraph.threads USING btree (written_at) WHERE ((NOT live) AND (deleted_at = 0));

CREATE INDEX threads_here ON stratigraph.threads USING btree (written_at, thread) WHERE (live AND (NOT evicted));

CREATE TRIGGER threads_tags AFTER DELETE OR UPDATE OF deleted_at ON stratigraph.threads FOR EACH ROW EXECUTE FUNCTION stratigraph.drop_tags_1();
