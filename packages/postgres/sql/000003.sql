-- Forks: the database copies the part of a thread that becomes a thread of its own, so that no value crosses the wire. Since 000007
-- fork_1 is there for processes of older versions alone.
--
-- Rows are looked up one by one by primary key: "lateral (… offset 0)" leaves the planner no other plan. The planner knows only how
-- many rows a thread has on average, and forks, which share ids and hashes with their source, make its estimates far too low or too
-- high. Free to choose, it read all of a thread of 1,000 checkpoints again for each of its 156 patches: 25 ms instead of 5.

-- The heads of a thread's namespaces and a root checkpoint (p_id null: the head), without blobs. b of the state row is set if
-- checkpoints were made from that root checkpoint.
create function :schema.outline_1(p_key bytea, p_id bytea) returns setof :schema.read_row_1 language plpgsql stable as $$
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
$$;
