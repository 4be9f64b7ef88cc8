-- Tags of threads, and lists of threads by tags and by the metadata of their newest root checkpoints.

-- A table of its own, so that pruning and eviction keep the tags. Key and value are UTF-8 of at most 1,024 bytes each, so that an index
-- row holds both. Tags are compared as they are, never by a hash, because deletions rely on them.
create table :schema.thread_tags (
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
comment on function :schema.threads_2 is 'A page of threads by age, tags, and tags of their newest checkpoints: listThreads.';
