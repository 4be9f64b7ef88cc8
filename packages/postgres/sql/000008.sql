-- Locks: leases that tell who has them and number their holders.

-- Who works on a thread, and until when. A lock that was given back stays until it is swept, so that its next holder's token is larger,
-- also if the clock goes back or another server takes over.
create table :schema.locks (
  name bytea primary key,
  holder bytea not null,
  token bigint not null,
  since timestamptz not null,
  until timestamptz not null
) with (fillfactor = 70);

-- Takes or prolongs a lock, or tells who has it. The database's clock decides, so that workers' clocks don't matter.
create function :schema.lock_1(p_name bytea, p_holder bytea, p_ms double precision)
returns table (held boolean, owner bytea, fence bigint, since_ms double precision)
language plpgsql set lock_timeout = '4s' as $$
begin
  return query
  insert into :schema.locks as l (name, holder, token, since, until)
  values (p_name, p_holder, (extract(epoch from clock_timestamp()) * 1000000)::bigint, clock_timestamp(),
          clock_timestamp() + p_ms * interval '1 millisecond')
  on conflict (name) do update
     set holder = excluded.holder,
         token = case when l.holder = excluded.holder then l.token else greatest(l.token + 1, excluded.token) end,
         since = case when l.holder = excluded.holder then l.since else excluded.since end,
         until = excluded.until
   where l.holder = excluded.holder or l.until <= clock_timestamp()
  returning true, l.holder, l.token, (extract(epoch from l.since) * 1000)::double precision;
  if not found then
    return query
    select false, l.holder, l.token, (extract(epoch from l.since) * 1000)::double precision
      from :schema.locks l where l.name = p_name;
  end if;
end
$$;

comment on table :schema.locks is 'Who works on a thread now, and until when: withThread.';
comment on column :schema.locks.name is 'What is locked. Of a thread: "run/" and the SHA-256 of its id.';
comment on column :schema.locks.holder is 'Who has it, in UTF-8: convert_from(holder, ''UTF8'').';
comment on column :schema.locks.token is 'Grows from holder to holder.';
comment on column :schema.locks.since is 'When the holder got it.';
comment on column :schema.locks.until is 'When it ends unless it is prolonged.';
comment on function :schema.lock_1 is 'Takes or prolongs a lock, or tells who has it.';
