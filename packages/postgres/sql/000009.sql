-- Databases that are shards of one storage.

-- Which shard this database is, so that it is never taken for another one. No row where it holds all threads.
create table :schema.shard (
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
comment on function :schema.list_1 is 'The same, along the index that the planner chooses: for list_2, and for processes of versions before 000009.';
