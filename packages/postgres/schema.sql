-- What setup() makes, for reading and for review: written by `UPDATE=1 npx vitest run packages/postgres/test/setup.test.ts`.

CREATE SCHEMA stratigraph;

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

CREATE FUNCTION stratigraph.ancestry_1(p_key bytea, p_ns bytea, p_id bytea, p_tags integer[], p_limit integer) RETURNS SETOF stratigraph.read_row_1
    LANGUAGE plpgsql STABLE
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
        from walk join "stratigraph".checkpoints c on c.thread = v_thread and c.id = walk.parent and c.ns = p_ns
       where walk.depth < p_limit and cardinality(walk.open) > 0
    ), page as materialized (
      select c.*, walk.depth from walk join "stratigraph".checkpoints c on c.thread = v_thread and c.id = walk.id and c.ns = p_ns
       where walk.depth > 0
    ), pending as materialized (
      select w.* from page p join "stratigraph".writes w on w.thread = v_thread and w.id = p.id and w.ns = p_ns
    ), named as (
      select blobs from page where page.tags && p_tags
      union all
      select blobs from pending where blobs <> ''
    ), chain as (
      select b.hash, b.base
        from named, generate_series(1, length(named.blobs), 20) as o,
             lateral (select * from "stratigraph".blobs x where x.thread = v_thread and x.hash = substring(named.blobs from o for 20)) b
      union
      select b.hash, b.base
        from chain, lateral (select * from "stratigraph".blobs x where x.thread = v_thread and x.hash = chain.base) b
    )
    (select 'c', c.thread, c.id, c.ns, c.parent, c.lost_to, c.run, c.blobs, null::bigint, array_to_string(c.tags, ','), c.body
       from page c order by c.depth)
    union all
    (select 'w', w.thread, w.id, w.ns, w.task, null, null, w.blobs, w.seq, null, w.body from pending w order by w.seq, w.part)
    union all
    select 'b', v_thread, null, null, b.hash, b.base, null, null, null, null, b.bytes
      from chain join "stratigraph".blobs b on b.thread = v_thread and b.hash = chain.hash;
end
$$;

CREATE FUNCTION stratigraph.append_1(p_key bytea, p_long_id bytea, p_seen bigint, p_relies boolean, p_goes_on boolean, p_branch boolean, p_counts integer[], p_expected integer[], p_tags text[], p_lengths integer[], p_data bytea) RETURNS TABLE(status text, revision bigint, head bytea, moved boolean)
    LANGUAGE plpgsql
    AS $$
declare
  v_thread "stratigraph".threads;
  v_refusal text;
  x bytea[] := "stratigraph".pieces_1(p_lengths, p_data);
  o integer;
  i integer;
  n integer;
  v_ns bytea[] := '{}';
  v_heads bytea[] := '{}';
  v_moved boolean[] := '{}';
  v_keeps boolean[] := '{}';
  v_overtaken boolean;
  v_current bytea;
  v_may boolean;
  v_place integer;
begin
  v_thread := "stratigraph".open_1(p_key, p_long_id);
  v_refusal := "stratigraph".refusal_1(v_thread, p_seen, p_relies, p_goes_on);
  if v_refusal is not null then
    return query select v_refusal, "stratigraph".shut_1(v_thread), null::bytea, null::boolean;
    return;
  end if;

  o := p_counts[1] * 7 + p_counts[2] * 3 + p_counts[3] * 5;
  for i in 1 .. p_counts[4] loop
    select h.id into v_current from "stratigraph".heads h where h.thread = v_thread.thread and h.ns = x[o + 1];
    n := p_expected[i];
    v_may := v_current is null or v_current = x[o + 2] or n < 0 or coalesce(v_current = any (x[o + 3 : o + 2 + n]), false);
    -- Overtaken: the head was made from it (LangGraph's "exit" durability puts two checkpoints at once). Stored, the head stays.
    v_overtaken := not v_may and exists (
      select from "stratigraph".checkpoints c
       where c.thread = v_thread.thread and c.id = v_current and c.ns = x[o + 1] and c.parent = x[o + 2]
    );
    if not v_may and not v_overtaken and not p_branch and not exists (
      select from "stratigraph".checkpoints c where c.thread = v_thread.thread and c.id = x[o + 2] and c.ns = x[o + 1]
    ) then
      -- One row per head looked at: the last one is where the conflict is.
      return query select 'conflict', v_thread.revision - 1, v_heads[g], true from generate_series(1, i - 1) as g;
      return query select 'conflict', "stratigraph".shut_1(v_thread), v_current, false;
      return;
    end if;
    v_ns := v_ns || x[o + 1];
    v_heads := v_heads || case when v_may then x[o + 2] else v_current end;
    v_moved := v_moved || v_may;
    v_keeps := v_keeps || (v_may or v_overtaken);
    o := o + 2 + greatest(n, 0);
  end loop;

  insert into "stratigraph".long_ids (thread, key, id)
  select v_thread.thread, x[o + 2 * g - 1], x[o + 2 * g] from generate_series(1, p_counts[5]) as g
  on conflict do nothing;

  insert into "stratigraph".blobs (thread, hash, base, bytes)
  select v_thread.thread, x[p + 1], x[p + 2], x[p + 3]
    from generate_series(p_counts[1] * 7, p_counts[1] * 7 + (p_counts[2] - 1) * 3, 3) as p
  on conflict do nothing;

  for i in 1 .. p_counts[1] loop
    o := (i - 1) * 7;
    v_place := array_position(v_ns, x[o + 2]);
    insert into "stratigraph".checkpoints as c (thread, id, ns, parent, lost_to, run, tags, blobs, body)
    values (v_thread.thread, x[o + 1], x[o + 2], x[o + 3],
            case when v_place is null or v_keeps[v_place] then x[o + 4] else v_heads[v_place] end,
            x[o + 5], p_tags[i]::integer[], x[o + 6], x[o + 7])
    on conflict (thread, id, ns) do update
      set parent = excluded.parent, run = excluded.run, tags = excluded.tags, blobs = excluded.blobs, body = excluded.body,
          lost_to = case when v_place is null or v_moved[v_place] then excluded.lost_to else c.lost_to end;
  end loop;

  insert into "stratigraph".writes (thread, id, ns, seq, part, task, blobs, body)
  select v_thread.thread, x[p + 1], x[p + 2], v_thread.revision, p, x[p + 3], x[p + 4], x[p + 5]
    from generate_series(p_counts[1] * 7 + p_counts[2] * 3, p_counts[1] * 7 + p_counts[2] * 3 + (p_counts[3] - 1) * 5, 5) as p;

  for i in 1 .. p_counts[4] loop
    if v_moved[i] then
      insert into "stratigraph".heads as h (thread, ns, id) values (v_thread.thread, v_ns[i], v_heads[i])
      on conflict (thread, ns) do update set id = excluded.id where h.id <> excluded.id;
    end if;
  end loop;
  if p_counts[4] > 0 and (not v_thread.live or v_thread.evicted) then
    update "stratigraph".threads t set live = true, evicted = false where t.thread = v_thread.thread;
  end if;

  if p_counts[4] = 0 then
    return query select 'ok', v_thread.revision, null::bytea, null::boolean;
  else
    return query select 'ok', v_thread.revision, v_heads[g], v_moved[g] from generate_series(1, p_counts[4]) as g;
  end if;
end
$$;

CREATE FUNCTION stratigraph.append_writes_1(p_key bytea, p_long_id bytea, p_seen bigint, p_relies boolean, p_blobs integer, p_long_ids integer, p_lengths integer[], p_data bytea) RETURNS text
    LANGUAGE plpgsql
    AS $$
declare
  v_thread "stratigraph".threads;
  v_refusal text;
  x bytea[] := "stratigraph".pieces_1(p_lengths, p_data);
begin
  v_thread := "stratigraph".open_1(p_key, p_long_id);
  v_refusal := "stratigraph".refusal_1(v_thread, p_seen, p_relies, p_seen is null);
  if v_refusal is not null then
    perform "stratigraph".shut_1(v_thread);
    return v_refusal;
  end if;
  insert into "stratigraph".writes (thread, id, ns, seq, part, task, blobs, body)
  values (v_thread.thread, x[1], x[2], v_thread.revision, 0, x[3], x[4], x[5]);
  if p_blobs > 0 then
    insert into "stratigraph".blobs (thread, hash, base, bytes)
    select v_thread.thread, x[g * 3 + 3], x[g * 3 + 4], x[g * 3 + 5] from generate_series(1, p_blobs) as g
    on conflict do nothing;
  end if;
  if p_long_ids > 0 then
    insert into "stratigraph".long_ids (thread, key, id)
    select v_thread.thread, x[5 + p_blobs * 3 + g * 2 - 1], x[5 + p_blobs * 3 + g * 2] from generate_series(1, p_long_ids) as g
    on conflict do nothing;
  end if;
  return 'ok';
end
$$;

CREATE FUNCTION stratigraph.blobs_1(p_key bytea) RETURNS TABLE(hash bytea, base bytea, size integer)
    LANGUAGE sql STABLE
    AS $$
  select b.hash, b.base, length(b.bytes) from "stratigraph".blobs b join "stratigraph".threads t using (thread) where t.key = p_key
$$;

CREATE FUNCTION stratigraph.copy_thread_1(p_source bytea, p_target bytea, p_long_id bytea) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
declare
  v_source bigint;
  v_revision bigint;
  v_target "stratigraph".threads;
begin
  select t.thread, t.revision into v_source, v_revision from "stratigraph".threads t where t.key = p_source and t.live for share;
  if not found then return false; end if;
  v_target := "stratigraph".open_1(p_target, p_long_id);
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

CREATE FUNCTION stratigraph.delete_thread_1(p_key bytea) RETURNS void
    LANGUAGE plpgsql
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

CREATE FUNCTION stratigraph.evict_1(p_key bytea, p_revision bigint) RETURNS boolean
    LANGUAGE plpgsql
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

CREATE FUNCTION stratigraph.fork_1(p_source bytea, p_seen bigint, p_key bytea, p_long_id bytea, p_tip_lengths integer[], p_tips bytea, p_depths integer[], p_until text[], p_writes text[], p_counts integer[], p_expected integer[], p_tags text[], p_lengths integer[], p_data bytea) RETURNS TABLE(status text, head bytea, checkpoints bigint, bytes bigint)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
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
  v_target := "stratigraph".open_1(p_key, p_long_id);
  select h.id into v_head from "stratigraph".heads h where h.thread = v_target.thread order by h.ns limit 1;
  if found then
    perform "stratigraph".shut_1(v_target);
    return query select 'exists', v_head, null::bigint, null::bigint;
    return;
  end if;

  -- One statement, so one snapshot: what is pruned meanwhile is still there, or was not there from the start.
  with recursive line as (
    select c.id, c.ns, c.parent, p_depths[n] as depth, p_until[n]::integer[] as open, p_writes[n]::integer[] as places
      from generate_series(1, cardinality(p_depths)) as n
      join "stratigraph".checkpoints c on c.thread = v_source and c.id = x[n * 2] and c.ns = x[n * 2 - 1]
    union all
    select c.id, c.ns, c.parent, line.depth - 1,
           case when line.open is not null then array(select unnest(line.open) except select unnest(c.tags)) end, null
      from line join "stratigraph".checkpoints c on c.thread = v_source and c.id = line.parent and c.ns = line.ns
     where line.depth > 0 and (line.open is null or cardinality(line.open) > 0)
  ), pending as materialized (
    select * from (
      select w.id, w.ns, w.seq, w.part, w.task, w.blobs, w.body, line.places,
             row_number() over (partition by w.ns, w.id order by w.seq, w.part) - 1 as place
        from line join "stratigraph".writes w on w.thread = v_source and w.id = line.id and w.ns = line.ns
    ) as placed
     where places is null or place = any (places)
  ), copied as (
    insert into "stratigraph".checkpoints (thread, id, ns, parent, lost_to, run, tags, blobs, body)
    select v_target.thread, c.id, c.ns, c.parent, null, c.run, c.tags, c.blobs, c.body
      from line join "stratigraph".checkpoints c on c.thread = v_source and c.id = line.id and c.ns = line.ns
    returning checkpoints.blobs, length(checkpoints.body) as size
  ), wrote as (
    insert into "stratigraph".writes (thread, id, ns, seq, part, task, blobs, body)
    select v_target.thread, id, ns, v_target.revision, row_number() over (order by seq, part), task, blobs, body from pending
    returning length(writes.body) as size
  ), named as materialized (
    select distinct substring(packed from o for 20) as hash
      from (select copied.blobs as packed from copied union all select pending.blobs from pending) as lists,
           generate_series(1, length(packed), 20) as o
  ), chain as (
    select b.hash, b.base from named join "stratigraph".blobs b on b.thread = v_source and b.hash = named.hash
    union
    select b.hash, b.base from chain join "stratigraph".blobs b on b.thread = v_source and b.hash = chain.base
  ), stored as (
    insert into "stratigraph".blobs (thread, hash, base, bytes)
    select v_target.thread, b.hash, b.base, b.bytes from chain join "stratigraph".blobs b on b.thread = v_source and b.hash = chain.hash
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
  perform "stratigraph".append_1(p_key, p_long_id, null, false, false, false, p_counts, p_expected, p_tags, p_lengths, p_data);
  return query select 'ok', null::bytea, v_checkpoints, v_bytes;
exception when sqlstate 'SG001' then
  return query select 'missing', null::bytea, null::bigint, null::bigint;
end
$$;

CREATE FUNCTION stratigraph.id_text(key bytea) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  select case
    when length(key) = 0 then ''
    when get_byte(key, 0) = 1 then encode(substring(key from 2), 'hex')::uuid::text
    when get_byte(key, 0) = 2 then encode(substring(key from 2), 'escape')
    else encode(key, 'hex')
  end
$$;

CREATE FUNCTION stratigraph.lease_1(p_name bytea, p_holder bytea, p_ms double precision) RETURNS boolean
    LANGUAGE plpgsql
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

CREATE FUNCTION stratigraph.list_1(p_key bytea, p_ns bytea, p_id bytea, p_before bytea, p_tags integer[], p_runs bytea[], p_lost boolean, p_blobs boolean, p_after_thread bigint, p_after_id bytea, p_after_ns bytea, p_limit integer) RETURNS SETOF stratigraph.read_row_1
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_custom_plan'
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
      select w.* from page p join "stratigraph".writes w on w.thread = p.thread and w.id = p.id and w.ns = p.ns
    ), named as (
      select thread, blobs from page where p_blobs
      union all
      select thread, blobs from pending where p_blobs and blobs <> ''
    ), chain as (
      select b.thread, b.hash, b.base
        from named, generate_series(1, length(named.blobs), 20) as o,
             lateral (select * from "stratigraph".blobs x where x.thread = named.thread and x.hash = substring(named.blobs from o for 20)) b
      union
      select b.thread, b.hash, b.base
        from chain, lateral (select * from "stratigraph".blobs x where x.thread = chain.thread and x.hash = chain.base) b
    )
    (select 'c', c.thread, c.id, c.ns, c.parent, c.lost_to, c.run, c.blobs, null::bigint, array_to_string(c.tags, ','), c.body
       from page c order by c.thread desc, c.id desc, c.ns desc)
    union all
    (select 'w', w.thread, w.id, w.ns, w.task, null, null, w.blobs, w.seq, null, w.body from pending w order by w.seq, w.part)
    union all
    select 'b', b.thread, null, null, b.hash, b.base, null, null, null, null, b.bytes
      from chain join "stratigraph".blobs b on b.thread = chain.thread and b.hash = chain.hash
    union all
    select 'h', h.thread, null, h.ns, h.id, null, null, null, null, null, null
      from (select distinct thread, ns from page) p join "stratigraph".heads h on h.thread = p.thread and h.ns = p.ns
    union all
    select 't', t.thread, null, null, t.key, t.long_id, null, null, null, null, null
      from "stratigraph".threads t where t.thread in (select thread from page);
end
$$;

CREATE FUNCTION stratigraph.long_ids_1(p_keys bytea[]) RETURNS TABLE(key bytea, id bytea)
    LANGUAGE sql STABLE
    AS $$
  select distinct l.key, l.id from "stratigraph".long_ids l where l.key = any (p_keys)
$$;

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

CREATE FUNCTION stratigraph.open_1(p_key bytea, p_long_id bytea) RETURNS stratigraph.threads
    LANGUAGE sql
    AS $$
  insert into "stratigraph".threads as t (key, long_id, revision, written_at)
  values (p_key, p_long_id, 1, date_trunc('minute', now()))
  on conflict (key) do update set revision = t.revision + 1, written_at = date_trunc('minute', now())
  returning *
$$;

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
       from tip join "stratigraph".writes w on w.thread = v_thread and w.id = tip.id and w.ns = tip.ns
      order by w.seq, w.part)
    union all
    select 'c', c.thread, c.id, c.ns, c.parent, c.lost_to, c.run, c.blobs, null, array_to_string(c.tags, ','), c.body
      from tip join "stratigraph".checkpoints c on c.thread = v_thread and c.id = tip.id and c.ns = tip.ns
    union all
    select 'h', h.thread, null, h.ns, h.id, null, null, null, null, null, null from "stratigraph".heads h where h.thread = v_thread;
end
$$;

CREATE FUNCTION stratigraph.pieces_1(lengths integer[], data bytea) RETURNS bytea[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  select coalesce(array_agg(case when l < 0 then null else substring(data from o + 1 for l) end order by n), '{}')
    from (select l, n, (sum(greatest(l, 0)) over (order by n) - greatest(l, 0))::integer as o
            from unnest(lengths) with ordinality as u (l, n)) as placed
$$;

CREATE FUNCTION stratigraph.read_1(p_key bytea, p_ns bytea, p_id bytea, p_blobs boolean) RETURNS SETOF stratigraph.read_row_1
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
      select b.hash, b.base, b.bytes
        from named, generate_series(1, length(packed), 20) as o,
             lateral (select * from "stratigraph".blobs x where x.thread = v_thread and x.hash = substring(packed from o for 20)) b
      union all
      select b.hash, b.base, b.bytes
        from chain, lateral (select * from "stratigraph".blobs x where x.thread = v_thread and x.hash = chain.base) b
    )
    select 'b', v_thread, null::bytea, null::bytea, hash, base, null::bytea, null::bytea, null::bigint, null::text, bytes from chain;
end
$$;

CREATE FUNCTION stratigraph.refusal_1(p_thread stratigraph.threads, p_seen bigint, p_relies boolean, p_goes_on boolean) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$
  select case
    when p_seen < p_thread.deleted_at then 'deleted'
    when p_thread.deleted_at > 0 and not p_thread.live and p_goes_on then 'deleted'
    when p_relies and coalesce(p_seen, 0) < p_thread.removed_at then 'stale'
  end
$$;

CREATE FUNCTION stratigraph.remove_1(p_key bytea, p_revision bigint, p_counts integer[], p_lengths integer[], p_data bytea) RETURNS boolean
    LANGUAGE plpgsql
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

CREATE FUNCTION stratigraph.shut_1(p_thread stratigraph.threads) RETURNS bigint
    LANGUAGE sql
    AS $$
  update "stratigraph".threads t set revision = t.revision - 1 where t.thread = p_thread.thread returning t.revision
$$;

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

CREATE TABLE stratigraph.blobs (
    thread bigint NOT NULL,
    hash bytea NOT NULL,
    base bytea,
    bytes bytea NOT NULL
);
ALTER TABLE ONLY stratigraph.blobs ALTER COLUMN bytes SET STORAGE EXTERNAL;

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

CREATE TABLE stratigraph.heads (
    thread bigint NOT NULL,
    ns bytea NOT NULL,
    id bytea NOT NULL
)
WITH (fillfactor='70');

CREATE VIEW stratigraph.history AS
 SELECT stratigraph.id_text(t.key) AS thread_id,
    stratigraph.id_text(c.ns) AS checkpoint_ns,
    stratigraph.id_text(c.id) AS checkpoint_id,
    stratigraph.id_text(c.parent) AS parent_checkpoint_id,
    stratigraph.id_text(c.run) AS run_id,
    stratigraph.id_text(c.lost_to) AS lost_to,
    (h.id IS NOT NULL) AS head,
    length(c.body) AS record_bytes,
    (length(c.blobs) / 20) AS "values"
   FROM ((stratigraph.checkpoints c
     JOIN stratigraph.threads t USING (thread))
     LEFT JOIN stratigraph.heads h ON (((h.thread = c.thread) AND (h.ns = c.ns) AND (h.id = c.id))));

CREATE TABLE stratigraph.leases (
    name bytea NOT NULL,
    holder bytea NOT NULL,
    until timestamp with time zone NOT NULL
);

CREATE TABLE stratigraph.long_ids (
    thread bigint NOT NULL,
    key bytea NOT NULL,
    id bytea NOT NULL
);

CREATE TABLE stratigraph.migrations (
    id integer NOT NULL,
    breaking boolean DEFAULT false NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE stratigraph.threads ALTER COLUMN thread ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME stratigraph.threads_thread_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

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

ALTER TABLE ONLY stratigraph.blobs
    ADD CONSTRAINT blobs_pkey PRIMARY KEY (thread, hash);

ALTER TABLE ONLY stratigraph.checkpoints
    ADD CONSTRAINT checkpoints_pkey PRIMARY KEY (thread, id, ns);

ALTER TABLE ONLY stratigraph.heads
    ADD CONSTRAINT heads_pkey PRIMARY KEY (thread, ns);

ALTER TABLE ONLY stratigraph.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (name);

ALTER TABLE ONLY stratigraph.long_ids
    ADD CONSTRAINT long_ids_pkey PRIMARY KEY (thread, key);

ALTER TABLE ONLY stratigraph.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (id);

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

CREATE INDEX threads_by_age ON stratigraph.threads USING btree (written_at, thread) WHERE live;

CREATE INDEX threads_deleted ON stratigraph.threads USING btree (written_at) WHERE ((NOT live) AND (deleted_at > 0));
