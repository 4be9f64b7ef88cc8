-- A namespace that has checkpoints and no head has lost the row of its head: it must not read as an empty one. Whoever reads a namespace
-- without a head, or begins a thread, looks at its checkpoints in the same statement.

-- Whether a head was lost. live says that the thread has had one, so an import under way, whose heads come last, has lost none,
-- nor has a copy in parts that is under way, which is marked (reservedNamespaces.copy; isUnderWay). Of an archived thread, whose checkpoints may all be elsewhere, the
-- mark tells (isRootedMark). Of other
-- namespaces than the root it looks only at what was made since the root's head, the newest 256 of it: a run reads those of its step.
create function :schema.headless_1(p_thread bigint, p_ns bytea) returns boolean language plpgsql stable as $$
begin
  if not exists (select from :schema.threads t where t.thread = p_thread and t.live) then return false; end if;
  if p_ns = '' then
    return (exists (select from :schema.checkpoints c where c.thread = p_thread and c.ns = '' and c.lost_to is null)
            or exists (select from :schema.heads h
                        where h.thread = p_thread and h.ns = '\x020173747261746967726170682e6172636869766564'
                          and substring(h.id for 7) = '\x02726f6f743a20'))
       and not exists (select from :schema.heads h where h.thread = p_thread and h.ns = '\x020173747261746967726170682e636f7079'
                          and h.id <> '\x0277686f6c65');
  end if;
  return exists (
    select from (
      select c.ns, c.lost_to from :schema.checkpoints c
       where c.thread = p_thread and c.id > (select h.id from :schema.heads h where h.thread = p_thread and h.ns = '')
       order by c.id desc limit 256
    ) c
     where c.ns = p_ns and c.lost_to is null
  );
end
$$;

-- As before (000002.sql). b of the row of kind s isn't null if the head was lost.
create or replace function :schema.read_1(p_key bytea, p_ns bytea, p_id bytea, p_blobs boolean)
returns setof :schema.read_row_1 language plpgsql stable set jit = off as $$
declare
  v_thread bigint;
  v_revision bigint;
  v_head bytea;
  v_id bytea;
  v_lost bytea;
begin
  select t.thread, t.revision into v_thread, v_revision from :schema.threads t where t.key = p_key;
  if not found then return; end if;
  select h.id into v_head from :schema.heads h where h.thread = v_thread and h.ns = p_ns;
  if v_head is null and :schema.headless_1(v_thread, p_ns) then v_lost := ''; end if;
  v_id := coalesce(p_id, v_head);
  return next ('s', v_thread, v_id, p_ns, v_head, v_lost, null, null, v_revision, null, null)::  :schema.read_row_1;
  if v_id is null then return; end if;
  return query
    select 'w', w.thread, w.id, w.ns, w.task, null::bytea, null::bytea, w.blobs, w.seq, null::text, w.body
      from :schema.writes w where w.thread = v_thread and w.id = v_id and w.ns = p_ns
     order by w.seq, w.part;
  return query
    select 'c', c.thread, c.id, c.ns, c.parent, c.lost_to, c.run, c.blobs, null::bigint, array_to_string(c.terms, ','), c.body
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
$$;

-- append_1, or append_thread_1 if p_alone, for requests of which some begin a thread: their places in the list, from 1, are in p_begins. If
-- one of these threads has lost its root's head, its request is refused ("headless"), and the others are told to come alone ("busy").
create function :schema.append_begins_1(p_append jsonb, p_data bytea, p_alone boolean, p_begins integer[])
returns table (status text, revision bigint, head bytea, moved boolean)
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_headless integer[] := array(
    select b
      from unnest(p_begins) as b
      join :schema.threads t on t.key = (p_append -> 'requests' -> (b - 1) ->> 'key')::bytea
     where t.live and not exists (select from :schema.heads h where h.thread = t.thread and h.ns = '')
       and :schema.headless_1(t.thread, '')
  );
begin
  if cardinality(v_headless) > 0 then
    return query
      select case when g = any (v_headless) then 'headless' else 'busy' end, null::bigint, null::bytea, null::boolean
        from generate_series(1, jsonb_array_length(p_append -> 'requests')) as g
        left join jsonb_array_elements(p_append -> 'heads') as m on (m ->> 'request')::integer = g
       order by g;
  elsif p_alone then
    return query select * from :schema.append_thread_1(p_append, p_data);
  else
    return query select * from :schema.append_1(p_append, p_data);
  end if;
end
$$;

comment on function :schema.headless_1 is 'Whether a namespace without a head has lost it.';
comment on function :schema.read_1 is 'One checkpoint or the head, with or without what it needs: peek, read.';
comment on function :schema.append_begins_1 is 'append_1 and append_thread_1, unless they would begin a thread anew whose head is lost.';
