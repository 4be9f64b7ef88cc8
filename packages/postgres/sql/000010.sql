-- Reading ends where patches are damaged so that they are based on themselves or in a circle: it went on until the time limit, and
-- filled the disk meanwhile. Whoever decodes the chain finds that it has no end.

-- One checkpoint or the head, with its pending writes; if p_blobs, also with all blobs that it and they need. Of a chain of patches,
-- the nearest 4096 are enough: no longer one is read.
create or replace function :schema.read_1(p_key bytea, p_ns bytea, p_id bytea, p_blobs boolean)
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
$$;
