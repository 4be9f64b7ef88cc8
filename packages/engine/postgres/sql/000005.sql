-- Functions and views for people with psql.

-- An id key as text, for people. An id with a NUL character, which text can't hold, and any id beyond ASCII in a database that
-- isn't UTF-8, is shown with escapes. An id of over 512 bytes is shown as its hash.
create function :schema.id_text(key bytea) returns text language sql immutable parallel safe as $$
  select case
    when length(key) = 0 then ''
    when get_byte(key, 0) = 1 then encode(substring(key from 2), 'hex')::uuid::text
    when get_byte(key, 0) = 2 and position('\x00'::bytea in key) = 0 and getdatabaseencoding() = 'UTF8'
      then convert_from(substring(key from 2), 'UTF8')
    when get_byte(key, 0) = 2 then encode(substring(key from 2), 'escape')
    else encode(key, 'hex')
  end
$$;

-- The key of an id: the other way round.
create function :schema.id_key(id text) returns bytea language sql immutable parallel safe as $$
  select case
    when id = '' then ''::bytea
    when id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' then '\x01'::bytea || decode(replace(id, '-', ''), 'hex')
    when length(convert_to(id, 'UTF8')) > 512 then '\x03'::bytea || sha256(convert_to(id, 'UTF8'))
    else '\x02'::bytea || convert_to(id, 'UTF8')
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

-- LangGraph's metadata.source, recognised by its term: terms are the hashes that list() filters by. Other metadata can't be shown this
-- way, as its values aren't known in advance.
create function :schema.source_of(terms integer[]) returns text language sql immutable parallel safe as $$
  select case
    when terms @> array[-924861548] then 'input'
    when terms @> array[1075280270] then 'loop'
    when terms @> array[-881371663] then 'update'
    when terms @> array[1806578396] then 'fork'
  end
$$;

-- The number of a thread, which indexes find it by, from its id.
create function :schema.thread_of(thread_id text) returns bigint language sql stable parallel safe as $$
  select t.thread from :schema.threads t where t.key = :schema.id_key(thread_id)
$$;

-- The columns of the first version come first and unchanged, so that its users can go on.
create view :schema.history as
  select case when t.long_id is null then :schema.id_text(t.key) else :schema.id_text('\x02'::bytea || t.long_id) end as thread_id,
         :schema.id_text(c.ns) as checkpoint_ns, :schema.id_text(c.id) as checkpoint_id,
         :schema.id_text(c.parent) as parent_checkpoint_id, :schema.id_text(c.run) as run_id,
         :schema.id_text(c.lost_to) as lost_to, h.id is not null as head, length(c.body) as record_bytes, length(c.blobs) / 20 as values,
         :schema.id_time(c.id) as time, :schema.source_of(c.terms) as source,
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
  select case when t.long_id is null then :schema.id_text(t.key) else :schema.id_text('\x02'::bytea || t.long_id) end as thread_id,
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
comment on column :schema.history.source is 'LangGraph''s metadata.source, by the hash of it in terms. Step, next nodes and other metadata stand in the encoded body.';
comment on column :schema.history.value_bytes is 'Bytes of its blobs as stored: a patch counts with its own size, and what it stands on isn''t counted.';
comment on column :schema.history.pending_writes is 'Batches of pending writes, one per putWrites.';
comment on column :schema.history.thread is 'Number of the thread in all tables; thread_of(''id'') tells it.';
comment on view :schema.overview is 'One row per thread. Counts and bytes are read for the rows that are asked for: use where thread = thread_of(''id''), or limit.';
comment on column :schema.overview.written_at is 'Last change, to the minute.';
comment on column :schema.overview.bytes is 'Records, blobs and pending writes as stored.';
comment on column :schema.overview.evicted is 'Its bytes were moved to another tier; heads are here.';
comment on column :schema.overview.deleted is 'A tombstone: refuses late writes, and goes after a week.';
comment on function :schema.id_text is 'An id key as text.';
comment on function :schema.id_key is 'The key of an id.';
comment on function :schema.id_time is 'When an id was made, of UUIDs of version 6 and 7.';
comment on function :schema.source_of is 'LangGraph''s metadata.source, by terms.';
comment on function :schema.thread_of is 'The number of a thread, by its id. Null where there is none.';
comment on function :schema.history_of is 'The checkpoints of one thread, newest first.';
