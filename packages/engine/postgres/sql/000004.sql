-- Copies and forks: the database copies a thread, or the part of it that becomes a thread of its own, so that no value crosses the wire.
--
-- Rows are looked up one by one by primary key: "lateral (… offset 0)" leaves the planner no other plan. The planner knows only how
-- many rows a thread has on average, and forks, which share ids and hashes with their source, make its estimates far too low or too
-- high. Free to choose, it read all of a thread of 1,000 checkpoints again for each of its 156 patches: 25 ms instead of 5.

-- Gives a thread the tags of another one, in the transaction that made it from that one.
create function :schema.inherit_tags_1(p_source bytea, p_target bytea) returns void language sql as $$
  insert into :schema.thread_tags (thread, key, value)
  select t.thread, g.key, g.value
    from :schema.threads t, :schema.threads s join :schema.thread_tags g on g.thread = s.thread
   where s.key = p_source and t.key = p_target
  on conflict do nothing
$$;

-- copy_rows_1, with the tags.
create function :schema.copy_thread_1(p_source bytea, p_target bytea, p_long_id bytea) returns boolean language plpgsql as $$
begin
  if not :schema.copy_rows_1(p_source, p_target, p_long_id) then return false; end if;
  perform :schema.inherit_tags_1(p_source, p_target);
  return true;
end
$$;

-- A checkpoint that becomes a head of the fork: what goes along with it, as a ForkTip says.
create type :schema.fork_tip_1 as (ns bytea, id bytea, ancestors integer, until integer[], writes integer[]);

-- Tips of a thread (a list of fork_tip_1), with their ancestors, pending writes and all blobs that these need, and the thread's tags, as a
-- new thread; and one append to it, as append_1 takes it, whose heads are those of the tips too.
-- Nothing is done where the target has a head ('exists'), or where a tip or a blob isn't here or was removed after p_seen ('missing').
create function :schema.fork_1(
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
             select c.id, c.ns, c.parent, c.run, c.terms, c.blobs, c.body from :schema.checkpoints c
              where c.thread = v_source and c.id = t.id and c.ns = t.ns offset 0
           ) as c
    union all
    select c.*, line.depth - 1, case when line.open is not null then array(select unnest(line.open) except select unnest(c.terms)) end, null
      from line,
           lateral (
             select c.id, c.ns, c.parent, c.run, c.terms, c.blobs, c.body from :schema.checkpoints c
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
    insert into :schema.checkpoints (thread, id, ns, parent, lost_to, run, terms, blobs, body)
    select v_target.thread, id, ns, parent, null, run, terms, blobs, body from line
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
  if exists (select from :schema.append_1(p_append, p_data) as a where a.status <> 'ok') then raise sqlstate 'SG001'; end if;
  perform :schema.inherit_tags_1(p_source, p_key);
  return query select 'ok', null::bytea, v_checkpoints, v_bytes;
exception when sqlstate 'SG001' then
  return query select 'missing', null::bytea, null::bigint, null::bigint;
end
$$;

comment on function :schema.inherit_tags_1 is 'Gives a copy the tags of its source.';
comment on function :schema.copy_thread_1 is 'All of a thread under another id, with its tags: copyThread.';
comment on type :schema.fork_tip_1 is 'A checkpoint that becomes a head of a fork.';
comment on function :schema.fork_1 is 'A part of a thread as a new thread, with its tags: fork.';
