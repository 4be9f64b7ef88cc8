-- Caches of what nodes and tasks return: values that can be computed again.

create table :schema.cache_entries (
  cache uuid not null,
  grp uuid not null,
  id uuid not null,
  -- The first 16 bits of the id. What has to make room is looked for among neighbours, so that a write reads a bounded number of rows.
  place integer not null,
  size integer not null,
  used_at timestamptz not null,
  expires_at timestamptz,
  value bytea not null,
  primary key (cache, grp, id)
);
-- Values are compressed already.
alter table :schema.cache_entries alter column value set storage external;
create index cache_entries_place on :schema.cache_entries (cache, place);
create index cache_entries_expires on :schema.cache_entries (expires_at) where expires_at is not null;

-- How often a cache, or a group of it, was cleared.
create table :schema.cache_eras (
  cache uuid not null,
  -- The last byte of the group, so that there are few rows; -1: of the whole cache.
  bucket integer not null,
  era bigint not null,
  primary key (cache, bucket)
);

create function :schema.cache_era_1(p_cache uuid, p_grp uuid) returns bigint language sql stable as $$
  select coalesce(sum(e.era), 0)::bigint from :schema.cache_eras e
   where e.cache = p_cache and e.bucket in (-1, get_byte(uuid_send(p_grp), 15))
$$;

-- Reads entries. A use is noted once a minute, and waits for nobody: most reads write nothing.
create function :schema.cache_read_1(p_cache uuid, p_grps uuid[], p_ids uuid[])
returns table (place integer, era text, left_ms double precision, value bytea) language plpgsql as $$
begin
  update :schema.cache_entries e
     set used_at = now()
    from (select f.grp, f.id
            from unnest(p_grps, p_ids) as c (grp, id)
            join :schema.cache_entries f on f.cache = p_cache and f.grp = c.grp and f.id = c.id
           where f.used_at < now() - interval '1 minute'
             for update of f skip locked) as due
   where e.cache = p_cache and e.grp = due.grp and e.id = due.id;
  return query
  select c.place::integer, :schema.cache_era_1(p_cache, c.grp)::text,
         (extract(epoch from e.expires_at - now()) * 1000)::double precision, e.value
    from unnest(p_grps, p_ids) with ordinality as c (grp, id, place)
    left join :schema.cache_entries e
      on e.cache = p_cache and e.grp = c.grp and e.id = c.id and (e.expires_at is null or e.expires_at > now());
end
$$;

-- Stores an entry (without a value: removes it), and removes neighbours that weren't used for longest if they are too many.
-- p_era: what cache_read_1 said, or null. p_from, p_to: the places of its neighbours. p_entries, p_bytes: what they may have together.
create function :schema.cache_write_1(p_cache uuid, p_grp uuid, p_id uuid, p_era bigint, p_value bytea, p_ttl double precision,
  p_from integer, p_to integer, p_entries bigint, p_bytes bigint)
returns boolean language plpgsql set lock_timeout = '4s' as $$
begin
  -- A clearing takes it exclusively.
  perform pg_advisory_xact_lock_shared(1769237862, hashtext(p_cache::text));
  if p_era <> :schema.cache_era_1(p_cache, p_grp) then
    return false;
  end if;
  if p_value is null or length(p_value) > p_bytes then
    delete from :schema.cache_entries e where e.cache = p_cache and e.grp = p_grp and e.id = p_id;
    return p_value is null;
  end if;
  insert into :schema.cache_entries as e (cache, grp, id, place, size, used_at, expires_at, value)
  values (p_cache, p_grp, p_id, get_byte(uuid_send(p_id), 0) * 256 + get_byte(uuid_send(p_id), 1), length(p_value), clock_timestamp(),
          now() + make_interval(secs => p_ttl / 1000), p_value)
      on conflict (cache, grp, id) do update
     set size = excluded.size, used_at = excluded.used_at, expires_at = excluded.expires_at, value = excluded.value;
  delete from :schema.cache_entries e
   using (select f.grp, f.id
            from :schema.cache_entries f
            join (select n.grp, n.id, row_number() over newest as nth, sum(n.size) over newest as bytes
                    from :schema.cache_entries n
                   where n.cache = p_cache and n.place between p_from and p_to
                  window newest as (order by (n.expires_at is null or n.expires_at > now()) desc,
                                             n.grp = p_grp and n.id = p_id desc, n.used_at desc, n.grp, n.id)) as ranked
              on f.cache = p_cache and f.grp = ranked.grp and f.id = ranked.id
           where ranked.nth > p_entries or ranked.bytes > p_bytes
             for update of f skip locked) as gone
   where e.cache = p_cache and e.grp = gone.grp and e.id = gone.id;
  return true;
end
$$;

-- Removes the entries of groups; null: of all.
create function :schema.cache_clear_1(p_cache uuid, p_grps uuid[]) returns void language plpgsql set lock_timeout = '4s' as $$
begin
  perform pg_advisory_xact_lock(1769237862, hashtext(p_cache::text));
  insert into :schema.cache_eras as e (cache, bucket, era)
  select distinct p_cache, case when p_grps is null then -1 else get_byte(uuid_send(g.grp), 15) end, 1
    from unnest(coalesce(p_grps, array[p_cache])) as g (grp)
      on conflict (cache, bucket) do update set era = e.era + 1;
  delete from :schema.cache_entries e where e.cache = p_cache and (p_grps is null or e.grp = any (p_grps));
end
$$;

create function :schema.sweep_caches_1(most integer) returns integer language plpgsql as $$
declare
  swept integer;
begin
  delete from :schema.cache_entries e
   using (select f.cache, f.grp, f.id from :schema.cache_entries f
           where f.expires_at <= now() order by f.expires_at limit most for update skip locked) as expired
   where e.cache = expired.cache and e.grp = expired.grp and e.id = expired.id;
  get diagnostics swept = row_count;
  return swept;
end
$$;

comment on table :schema.cache_entries is 'What nodes and tasks returned.';
comment on column :schema.cache_entries.cache is 'Hash of the name of the cache.';
comment on column :schema.cache_entries.grp is 'Hash of the namespace.';
comment on column :schema.cache_entries.id is 'Hash of namespace and key.';
comment on column :schema.cache_entries.place is 'The first 16 bits of the id.';
comment on column :schema.cache_entries.size is 'Bytes of the value.';
comment on column :schema.cache_entries.used_at is 'When it was stored or read, to the minute.';
comment on column :schema.cache_entries.value is 'The encoded value; docs/format.md.';
comment on table :schema.cache_eras is 'How often caches were cleared.';
comment on column :schema.cache_eras.bucket is 'The last byte of the group; -1: the whole cache.';
comment on function :schema.cache_era_1 is 'What changes when a group of a cache is cleared.';
comment on function :schema.cache_read_1 is 'Reads entries of a cache.';
comment on function :schema.cache_write_1 is 'Stores an entry of a cache.';
comment on function :schema.cache_clear_1 is 'Clears a cache, or groups of it.';
comment on function :schema.sweep_caches_1 is 'Removes expired entries of caches.';
