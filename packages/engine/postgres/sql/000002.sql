-- Reads. Every call of the saver is one call of a function: one statement and one round trip. PL/pgSQL caches plans per server
-- connection without named statements, which poolers in transaction mode can't keep.
-- A function's name ends in its version. A change of signature or meaning gets a new name, so that old and new processes work side by
-- side.

-- Rows of reads: s state (n revision, a head) · c checkpoint (a parent, b lost_to, c run, d blobs, terms, body)
-- · w pending writes (a task, d blobs, n order, body) · b blob (a hash, b base, body) · h head (a id)
-- · t thread (a key, b long id)
create type :schema.read_row_1 as (
  kind text, thread bigint, id bytea, ns bytea, a bytea, b bytea, c bytea, d bytea, n bigint, terms text, body bytea
);

-- A page of checkpoints, newest first, after a cursor. Each call is planned for its own conditions.
create function :schema.list_planned_1(
  p_key bytea, p_ns bytea, p_id bytea, p_before bytea, p_terms integer[], p_runs bytea[], p_lost boolean, p_blobs boolean,
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
         and (p_terms is null or c.terms @> p_terms)
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
    (select 'c', c.thread, c.id, c.ns, c.parent, c.lost_to, c.run, c.blobs, null::bigint, array_to_string(c.terms, ','), c.body
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

-- The ancestors of a checkpoint, nearest first, until every seed term was met; with the blobs of pending writes and of records
-- that carry a seed term.
create function :schema.ancestry_1(p_key bytea, p_ns bytea, p_id bytea, p_terms integer[], p_limit integer)
returns setof :schema.read_row_1 language plpgsql stable set jit = off as $$
declare
  v_thread bigint;
begin
  select t.thread into v_thread from :schema.threads t where t.key = p_key;
  if not found then return; end if;
  return query
    with recursive walk as (
      select c.id, c.parent, p_terms as open, 0 as depth
        from :schema.checkpoints c where c.thread = v_thread and c.id = p_id and c.ns = p_ns
      union all
      select c.id, c.parent, array(select unnest(walk.open) except select unnest(c.terms)), walk.depth + 1
        from walk, lateral (select * from :schema.checkpoints x where x.thread = v_thread and x.id = walk.parent and x.ns = p_ns offset 0) c
       where walk.depth < p_limit and cardinality(walk.open) > 0
    ), page as materialized (
      select c.*, walk.depth from walk, lateral (select * from :schema.checkpoints x where x.thread = v_thread and x.id = walk.id and x.ns = p_ns offset 0) c
       where walk.depth > 0
    ), pending as materialized (
      select w.* from page p, lateral (select * from :schema.writes x where x.thread = v_thread and x.id = p.id and x.ns = p_ns offset 0) w
    ), named as (
      select blobs from page where page.terms && p_terms
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
    (select 'c', c.thread, c.id, c.ns, c.parent, c.lost_to, c.run, c.blobs, null::bigint, array_to_string(c.terms, ','), c.body
       from page c order by c.depth)
    union all
    (select 'w', w.thread, w.id, w.ns, w.task, null, null, w.blobs, w.seq, null, w.body from pending w order by w.seq, w.part)
    union all
    select 'b', v_thread, null, null, b.hash, b.base, null, null, null, null, b.bytes
      from chain, lateral (select * from :schema.blobs x where x.thread = v_thread and x.hash = chain.hash offset 0) b;
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
    select 'c', c.thread, c.id, c.ns, c.parent, c.lost_to, c.run, c.blobs, null, array_to_string(c.terms, ','), c.body
      from tip,
           lateral (select * from :schema.checkpoints c where c.thread = v_thread and c.id = tip.id and c.ns = tip.ns offset 0) as c
    union all
    select 'h', h.thread, null, h.ns, h.id, null, null, null, null, null, null from :schema.heads h where h.thread = v_thread;
end
$$;

-- Threads with a head, by age, after a cursor (an instant and a thread key): those that carry all of some tags (p_keys, p_values; null: all threads), and those whose newest root
-- checkpoint is here and carries all of p_head_terms, or isn't here (null: all). With p_head_terms that checkpoint comes along.
-- Few threads carry a tag, so they are looked up first and sorted; without tags the order comes from the index.
create function :schema.threads_tagged_1(
  p_before timestamptz, p_newest boolean, p_evicted boolean, p_after timestamptz, p_after_key bytea, p_limit integer,
  p_keys bytea[], p_values bytea[], p_head_terms integer[]
)
returns table (
  key bytea, long_id bytea, revision bigint, head bytea, thread bigint, written_ms bigint, evicted boolean,
  parent bytea, lost_to bytea, run bytea, blobs bytea, terms text, body bytea
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
             c.parent, c.lost_to, c.run, c.blobs, array_to_string(c.terms, ','), c.body
        from tagged,
             lateral (select * from :schema.threads x where x.thread = tagged.thread offset 0) t
             left join lateral (select * from :schema.heads x where x.thread = t.thread and x.ns = '' offset 0) h on true
             left join lateral (
               select * from :schema.checkpoints x where p_head_terms is not null and x.thread = t.thread and x.id = h.id and x.ns = '' offset 0
             ) c on true
       where t.live and (p_before is null or t.written_at < p_before) and (p_evicted or not t.evicted)
         and (c.id is null or c.terms @> p_head_terms)
         and (p_after is null
              or case when p_newest then (t.written_at, t.thread) < (p_after, v_after) else (t.written_at, t.thread) > (p_after, v_after) end)
       order by case when p_newest then t.written_at end desc, case when p_newest then t.thread end desc, t.written_at, t.thread
       limit p_limit;
  elsif p_newest then
    return query
      select t.key, t.long_id, t.revision, h.id, t.thread, (extract(epoch from t.written_at) * 1000)::bigint, t.evicted,
             c.parent, c.lost_to, c.run, c.blobs, array_to_string(c.terms, ','), c.body
        from :schema.threads t
             left join lateral (select * from :schema.heads x where x.thread = t.thread and x.ns = '' offset 0) h on true
             left join lateral (
               select * from :schema.checkpoints x where p_head_terms is not null and x.thread = t.thread and x.id = h.id and x.ns = '' offset 0
             ) c on true
       where t.live and (p_before is null or t.written_at < p_before) and (p_evicted or not t.evicted)
         and (c.id is null or c.terms @> p_head_terms)
         and (p_after is null or (t.written_at, t.thread) < (p_after, v_after))
       order by t.written_at desc, t.thread desc limit p_limit;
  else
    return query
      select t.key, t.long_id, t.revision, h.id, t.thread, (extract(epoch from t.written_at) * 1000)::bigint, t.evicted,
             c.parent, c.lost_to, c.run, c.blobs, array_to_string(c.terms, ','), c.body
        from :schema.threads t
             left join lateral (select * from :schema.heads x where x.thread = t.thread and x.ns = '' offset 0) h on true
             left join lateral (
               select * from :schema.checkpoints x where p_head_terms is not null and x.thread = t.thread and x.id = h.id and x.ns = '' offset 0
             ) c on true
       where t.live and (p_before is null or t.written_at < p_before) and (p_evicted or not t.evicted)
         and (c.id is null or c.terms @> p_head_terms)
         and (p_after is null or (t.written_at, t.thread) > (p_after, v_after))
       order by t.written_at, t.thread limit p_limit;
  end if;
end
$$;

-- Threads as threads_tagged_1 has them. Each call looks at a limited number of threads, whatever it asks for: without a filter at those of
-- the page alone; with tags that at most 20,000 threads carry, at these; otherwise at the next 2,000 by age, and if these are fewer
-- than the page, a last row without a key says where to go on (p_after, p_after_thread). The page is cut from the index before
-- anything is joined to it: the planner took the filter on checkpoints for one that leaves nothing, and read all threads first. It also
-- takes the threads before a cursor for those of earlier minutes, and would sort them; so it may only go along indexes.
create function :schema.threads_1(
  p_before timestamptz, p_newest boolean, p_evicted boolean, p_after timestamptz, p_after_key bytea, p_after_thread bigint,
  p_limit integer, p_keys bytea[], p_values bytea[], p_head_terms integer[]
)
returns table (
  key bytea, long_id bytea, revision bigint, head bytea, thread bigint, written_ms bigint, evicted boolean,
  parent bytea, lost_to bytea, run bytea, blobs bytea, terms text, body bytea
)
language plpgsql stable set plan_cache_mode = force_custom_plan set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
  c_few constant integer := 20000;
  v_filters boolean := p_keys is not null or p_head_terms is not null;
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
      select t.* from :schema.threads_tagged_1(
        p_before, p_newest, p_evicted, p_after, coalesce(p_after_key, (select t.key from :schema.threads t where t.thread = p_after_thread)),
        p_limit, p_keys, p_values, p_head_terms
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
      select n.*, h.id as head, c.parent, c.lost_to, c.run, c.blobs, c.terms, c.body
        from numbered n
             left join lateral (select * from :schema.heads x where x.thread = n.thread and x.ns = '' offset 0) h on true
             left join lateral (
               select * from :schema.checkpoints x where p_head_terms is not null and x.thread = n.thread and x.id = h.id and x.ns = '' offset 0
             ) c on true
       where (p_head_terms is null or c.id is null or c.terms @> p_head_terms)
         and (p_keys is null or not exists (
               select from unnest(p_keys, p_values) as u (k, v)
                where not exists (select from :schema.thread_tags x where x.thread = n.thread and x.key = u.k and x.value = u.v)
             ))
       order by n.place limit p_limit
    )
    (select f.key, f.long_id, f.revision, f.head, f.thread, (extract(epoch from f.written_at) * 1000)::bigint, f.evicted,
            f.parent, f.lost_to, f.run, f.blobs, array_to_string(f.terms, ','), f.body
       from found f order by f.place)
    union all
    select null, null, null, null, n.thread, (extract(epoch from n.written_at) * 1000)::bigint, null, null, null, null, null, null, null
      from numbered n
     where v_filters and n.place = v_look and (select count(*) from found) < p_limit;
end
$$;

-- list_planned_1. A page of all threads by metadata comes from the primary key, newest first, if many checkpoints have that metadata, and from
-- the index of terms if few do. The planner multiplies how often each term is there, and so takes terms that are never together for
-- frequent: it would go through all checkpoints. So the next 2,000 are looked at: if they don't fill the page, only the index of terms
-- is left to it.
create function :schema.list_1(
  p_key bytea, p_ns bytea, p_id bytea, p_before bytea, p_terms integer[], p_runs bytea[], p_lost boolean, p_blobs boolean,
  p_after_thread bigint, p_after_id bytea, p_after_ns bytea, p_limit integer
)
returns setof :schema.read_row_1 language plpgsql stable
set plan_cache_mode = force_custom_plan set jit = off set enable_indexscan = on set enable_seqscan = on as $$
begin
  if p_key is null and p_terms is not null then
    if (select count(*) from (
          select c.terms @> p_terms as is_found from :schema.checkpoints c
           where p_after_thread is null or (c.thread, c.id, c.ns) < (p_after_thread, p_after_id, p_after_ns)
           order by c.thread desc, c.id desc, c.ns desc limit 2000
        ) as next where next.is_found) < p_limit then
      perform set_config('enable_indexscan', 'off', true), set_config('enable_seqscan', 'off', true);
    end if;
  end if;
  return query select * from :schema.list_planned_1(
    p_key, p_ns, p_id, p_before, p_terms, p_runs, p_lost, p_blobs, p_after_thread, p_after_id, p_after_ns, p_limit
  );
end
$$;

-- Where patches are damaged so that they are based on themselves or in a circle, reading ends. Whoever decodes the chain finds that it
-- has no end.

-- One checkpoint or the head, with its pending writes; if p_blobs, also with all blobs that it and they need. Of a chain of patches,
-- the nearest 4096 are enough: no longer one is read.
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

comment on type :schema.read_row_1 is 'Rows of reads; sql/000002.sql says what the columns mean by kind.';
comment on function :schema.read_1 is 'One checkpoint or the head, with or without what it needs: peek, read.';
comment on function :schema.list_planned_1 is 'The same, along the index that the planner chooses: for list_1.';
comment on function :schema.ancestry_1 is 'The parent chain of a checkpoint: the history of a DeltaChannel.';
comment on function :schema.outline_1 is 'What a fork is planned from.';
comment on function :schema.blobs_1 is 'The blobs of a thread without bytes: prune.';
comment on function :schema.long_ids_1 is 'The originals of long ids.';
comment on function :schema.threads_tagged_1 is 'The same by a tag that few threads carry: for threads_1.';
comment on function :schema.threads_1 is 'A page of threads by age, tags, and terms of their newest checkpoints: listThreads.';
comment on function :schema.list_1 is 'A page of checkpoints: list.';
