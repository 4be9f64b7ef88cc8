-- Every statement that the tier sends, by the name that src/schema/statements.ts has for it. Nearly all are one call of one function.

-- name: read
select kind, thread::text, id, ns, a, b, c, d, n::text, terms, body from :schema.read_1($1::bytea, $2::bytea, $3::bytea, $4::boolean)

-- name: list
select kind, thread::text, id, ns, a, b, c, d, n::text, terms, body
  from :schema.list_1($1::bytea, $2::bytea, $3::bytea, $4::bytea, $5::integer[], $6::bytea[], $7::boolean, $8::boolean,
                      $9::bigint, $10::bytea, $11::bytea, $12::integer)

-- name: ancestry
select kind, thread::text, id, ns, a, b, c, d, n::text, terms, body from :schema.ancestry_1($1::bytea, $2::bytea, $3::bytea, $4::integer[], $5::integer)

-- name: blobs
select hash, base, size from :schema.blobs_1($1::bytea)

-- name: blobsNamed
select hash, base, size from :schema.blobs_1($1::bytea) where hash = any ($2::bytea[])

-- name: longIds
select key, id from :schema.long_ids_1($1::bytea[])

-- name: threads
select key, long_id, revision::text, head, thread::text, written_ms::text, evicted, parent, lost_to, run, blobs, terms, body
  from :schema.threads_1(to_timestamp($1::double precision / 1000), $2::boolean, $3::boolean, to_timestamp($4::double precision / 1000), $5::bytea,
                         $6::bigint, $7::integer, $8::bytea[], $9::bytea[], $10::integer[])

-- name: threadsByStatus
select key, long_id, revision::text, head, thread::text, written_ms::text, evicted, status
  from :schema.threads_by_status_1(to_timestamp($1::double precision / 1000), $2::boolean, $3::boolean, to_timestamp($4::double precision / 1000),
                                   $5::bytea, $6::bigint, $7::integer, $8::"char")

-- name: statuses
-- How some threads stand, by their numbers.
select t.thread::text, t.status from :schema.threads t where t.thread = any ($1::bigint[])

-- name: noteStatus
update :schema.threads t set status = $3::"char" where t.key = $1::bytea and t.revision = $2::bigint and t.status is null returning true as done

-- name: append
-- Arguments without casts have the function's types: each cast costs the server 3 microseconds.
select status, revision::text, head, moved from :schema.append_1($1, $2)

-- name: appendThread
-- As append.
select status, revision::text, head, moved from :schema.append_thread_1($1, $2)

-- name: appendBegins
-- As append, for requests of which some begin a thread.
select status, revision::text, head, moved from :schema.append_begins_1($1, $2, $3, $4)

-- name: remove
select :schema.remove_1($1::bytea, $2::bigint, $3::jsonb, $4::bytea) as done

-- name: replaceBytes
-- Puts other bytes in the place of those that a thread holds, if it still is at revision $2. One statement: where the row lock was
-- waited for, the revision is looked at again, and every change of a thread moves it, so that what else is seen is what is there.
-- $3: {"records": […], "writes": […], "blobs": […]}, which point into $4 as an append does. place is that of a batch of pending writes
-- among those of its checkpoint, from 0.
with at as (
  update :schema.threads set revision = revision + 1 where key = $1::bytea and revision = $2::bigint returning thread, revision
), records as (
  update :schema.checkpoints c set body = substring($4::bytea from r.body_start for r.body_length)
    from at, jsonb_to_recordset($3::jsonb -> 'records') as r (id bytea, ns bytea, body_start integer, body_length integer)
   where c.thread = at.thread and c.id = r.id and c.ns = r.ns
), replaced as (
  update :schema.blobs b set bytes = substring($4::bytea from r.bytes_start for r.bytes_length)
    from at, jsonb_to_recordset($3::jsonb -> 'blobs') as r (hash bytea, bytes_start integer, bytes_length integer)
   where b.thread = at.thread and b.hash = r.hash
), batches as materialized (
  select r.* from jsonb_to_recordset($3::jsonb -> 'writes') as r (id bytea, ns bytea, place integer, body_start integer, body_length integer)
), stored as (
  select w.thread, w.id, w.ns, w.seq, w.part,
         row_number() over (partition by w.id, w.ns order by w.seq, w.part) - 1 as place
    from at join :schema.writes w using (thread)
   where (w.id, w.ns) in (select b.id, b.ns from batches b)
), written as (
  update :schema.writes w set body = substring($4::bytea from b.body_start for b.body_length)
    from stored s join batches b on b.place = s.place and b.id = s.id and b.ns = s.ns
   where w.thread = s.thread and w.id = s.id and w.ns = s.ns and w.seq = s.seq and w.part = s.part
)
select revision from at

-- name: evict
select :schema.evict_1($1::bytea, $2::bigint) as done

-- name: deleteThread
-- A thread that isn't here gets a tombstone, too: a run may have read that, and not have written anything yet. The function is called after
-- the row was inserted, and sees it, as it is volatile. $2 is the original of a long id.
with unknown as (
  insert into :schema.threads (key, long_id, revision, written_at)
  values ($1::bytea, $2::bytea, 0, date_trunc('minute', now()))
  on conflict (key) do nothing returning key
)
select :schema.delete_thread_1($1::bytea) from (select count(*) from unknown) as inserted

-- name: deleteUnchanged
-- Deletes a thread if it is still at a revision. The row is locked first: who writes to the thread waits, and is late then.
with unchanged as materialized (
  select t.key from :schema.threads t where t.key = $1::bytea and t.revision = $2::bigint for update
)
select true as done, :schema.delete_thread_1(u.key) from unchanged u

-- name: tombstones
-- Deleted threads, by age, from an instant on and after a cursor (an instant and a thread key).
select t.key, t.long_id, (extract(epoch from t.written_at) * 1000)::bigint::text as deleted_ms
  from :schema.threads t
 where not t.live and t.deleted_at > 0 and t.written_at >= to_timestamp($1::double precision / 1000)
   and ($2::double precision is null
        or (t.written_at, t.key) > (to_timestamp($2::double precision / 1000), coalesce($3::bytea, '')))
 order by t.written_at, t.key limit $4::integer

-- name: sweep
with expired as (
  delete from :schema.leases where until < clock_timestamp() - $1::double precision * interval '1 millisecond' returning 1
), unlocked as (
  delete from :schema.locks where until < clock_timestamp() - $1::double precision * interval '1 millisecond' returning 1
)
select :schema.sweep_1($1::double precision, $2::integer)
       + (select count(*)::integer from expired) + (select count(*)::integer from unlocked)
       + :schema.sweep_items_2(1000)::integer + :schema.purge_workspaces_1(1000) + :schema.sweep_caches_1(1000) as swept

-- name: sweepNamespaces
select :schema.sweep_namespaces_1(1000)::integer as swept

-- name: strays
-- Checkpoints of a thread that have pending writes, and no record.
select distinct w.id, w.ns
  from :schema.writes w join :schema.threads t using (thread)
 where t.key = $1::bytea
   and not exists (select from :schema.checkpoints c where c.thread = w.thread and c.id = w.id and c.ns = w.ns)

-- name: inspect
-- What a thread has beside its checkpoints: its state (kind s), its heads (h), and checkpoints that have pending writes and no
-- record (w). It counts as deleted where nothing was written since. It contradicts itself where it has a
-- head and isn't listed.
with at as materialized (
  select t.*, exists (select from :schema.heads h where h.thread = t.thread) as headed,
         exists (select from :schema.checkpoints c where c.thread = t.thread) as recorded
    from :schema.threads t where t.key = $1::bytea
), judged as materialized (
  select at.*, not at.live and at.deleted_at > 0 and (at.revision = at.deleted_at or not (at.headed or at.recorded)) as deleted from at
)
select 's' as kind, null::bytea as id, null::bytea as ns, j.revision::text, j.removed_at::text, j.evicted, j.deleted,
       not j.deleted and not j.live and j.headed as contradicts
  from judged j
 union all
select 'h', h.id, h.ns, null, null, null, null, null from at join :schema.heads h using (thread)
 union all
select distinct 'w', w.id, w.ns, null, null, null::boolean, null::boolean, null::boolean
  from at join :schema.writes w using (thread)
 where not exists (select from :schema.checkpoints c where c.thread = w.thread and c.id = w.id and c.ns = w.ns)

-- name: mendThread
-- Lists a thread that has a head. What a tombstone says stays.
update :schema.threads t set live = true, revision = t.revision + 1, status = :schema.status_1(t.thread)
 where t.key = $1::bytea and not t.live and (t.deleted_at = 0 or t.revision > t.deleted_at)
   and exists (select from :schema.heads h where h.thread = t.thread)
returning t.revision

-- name: leftovers
-- The next $2 numbers of threads after $1 that any row names, and what they are: lost, as the thread's own row isn't there; deleted, as
-- it says that the thread was deleted after these rows were written, and nothing was written since; unlisted, as it says that there is
-- no head, and there is one. Steps from number to number in the primary keys, so that a thread costs four look-ups, however many rows
-- it has.
with recursive walk (thread, n) as (
  select $1::bigint, 0
   union all
  select least(
           (select c.thread from :schema.checkpoints c where c.thread > w.thread order by c.thread limit 1),
           (select h.thread from :schema.heads h where h.thread > w.thread order by h.thread limit 1),
           (select b.thread from :schema.blobs b where b.thread > w.thread order by b.thread limit 1),
           (select p.thread from :schema.writes p where p.thread > w.thread order by p.thread limit 1)
         ), w.n + 1
    from walk w
   where w.thread is not null and w.n < $2::integer
), judged as (
  select w.thread, t.key, t.long_id,
         case
           when t.thread is null then 'lost'
           when t.live then null
           when t.deleted_at > 0 and t.revision = t.deleted_at then 'deleted'
           when exists (select from :schema.heads h where h.thread = w.thread) then 'unlisted'
           when t.deleted_at > 0 and not exists (select from :schema.checkpoints c where c.thread = w.thread)
                and (exists (select from :schema.writes p where p.thread = w.thread and p.seq <= t.deleted_at)
                     or not exists (select from :schema.writes p where p.thread = w.thread)) then 'deleted'
         end as kind
    from walk w left join :schema.threads t on t.thread = w.thread
   where w.n > 0 and w.thread is not null
)
select j.thread::text, j.key, j.long_id, j.kind,
       case when j.kind <> '' then (select count(*) from :schema.checkpoints c where c.thread = j.thread) end::text as checkpoints,
       case when j.kind <> '' then (select count(*) from :schema.blobs b where b.thread = j.thread) end::text as blobs,
       case when j.kind <> '' then (select count(*) from :schema.writes p where p.thread = j.thread) end::text as writes
  from judged j
 order by j.thread

-- name: leftoverHeads
select h.ns, h.id from :schema.heads h where h.thread = $1::bigint

-- name: dropLeftover
-- Deletes the rows of a thread, by its number, that are left over after a deletion as above. The thread is locked first: who begins it
-- anew waits, or was first, and then nothing is done. Pending writes that came after the deletion stay. Where the thread's own row isn't
-- there, nobody is known to have deleted the thread, and nothing is done.
with at as materialized (
  select t.thread, t.deleted_at from :schema.threads t
   where t.thread = $1::bigint and not t.live and t.deleted_at > 0
     and (t.revision = t.deleted_at
          or not exists (select from :schema.checkpoints c where c.thread = t.thread)
             and not exists (select from :schema.heads h where h.thread = t.thread))
     for update
), checkpoints as (
  delete from :schema.checkpoints c using at where c.thread = at.thread returning 1
), heads as (
  delete from :schema.heads h using at where h.thread = at.thread returning 1
), blobs as (
  delete from :schema.blobs b using at where b.thread = at.thread returning 1
), writes as (
  delete from :schema.writes w using at where w.thread = at.thread and w.seq <= at.deleted_at returning 1
)
select ((select count(*) from checkpoints) + (select count(*) from heads) + (select count(*) from blobs)
        + (select count(*) from writes))::text as dropped

-- name: reviveLeftover
-- Makes the lost row of a thread anew: $1 its number, $2 the key of its id, $3 the original of a long one. Its revision is above every
-- one that somebody has seen, and whoever read it before begins anew.
insert into :schema.threads as t (thread, key, long_id, revision, removed_at, live, evicted, written_at)
overriding system value
select $1::bigint, $2::bytea, $3::bytea, r.revision, r.revision,
       exists (select from :schema.heads h where h.thread = $1::bigint),
       not exists (select from :schema.checkpoints c where c.thread = $1::bigint),
       date_trunc('minute', now())
  from (select greatest(coalesce((select max(w.seq) from :schema.writes w where w.thread = $1::bigint), 0),
                        (extract(epoch from now()) * 1000)::bigint) + 1 as revision) r
 where exists (select from :schema.checkpoints c where c.thread = $1::bigint)
    or exists (select from :schema.heads h where h.thread = $1::bigint)
    on conflict do nothing
returning t.revision::text

-- name: copyThread
select :schema.copy_thread_1($1::bytea, $2::bytea, $3::bytea) as done

-- name: outline
select kind, thread::text, id, ns, a, b, c, d, n::text, terms, body from :schema.outline_1($1::bytea, $2::bytea)

-- name: forkThread
select status, head, checkpoints::text, bytes::text
  from :schema.fork_1($1::bytea, $2::bigint, $3::bytea, $4::bytea, $5::jsonb, $6::jsonb, $7::bytea)

-- name: tagThread
select :schema.tag_thread_1($1::bytea, $2::bytea, $3::bytea[], $4::bytea[])::text as revision

-- name: untagThread
-- Takes tags (two lists: keys, values) from a thread.
delete from :schema.thread_tags g
 using :schema.threads t, unnest($2::bytea[], $3::bytea[]) as u (k, v)
 where t.key = $1::bytea and g.thread = t.thread and g.key = u.k and g.value = u.v

-- name: threadTags
-- The tags of a thread.
select g.key, g.value from :schema.thread_tags g join :schema.threads t using (thread) where t.key = $1::bytea

-- name: lease
select :schema.lease_1($1::bytea, $2::bytea, $3::double precision) as done

-- name: keyChecks
-- Check values of keys are leases that never end, with the value as the holder: so a role that has the rights of before keeps them, and the
-- versions of before leave them alone. Names ($1) come back as they were given.
select name, holder from :schema.leases where name = any ($1::bytea[])

-- name: claimKeyCheck
-- The update changes nothing: it locks the row and returns who was first.
insert into :schema.leases as l (name, holder, until) values ($1::bytea, $2::bytea, 'infinity')
on conflict (name) do update set until = l.until returning holder

-- name: lock
select held, owner, fence::text as token, since_ms from :schema.lock_1($1::bytea, $2::bytea, $3::double precision)

-- name: unlock
update :schema.locks set until = clock_timestamp() where name = $1::bytea and holder = $2::bytea

-- name: writable
-- Whether a server takes writes.
select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as writable

-- name: timeline
-- Grows at each promotion. Only of a server that takes writes.
select ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer as timeline

-- name: installed
-- Which migrations a schema has, and whether row-level security hides it from this user: one row at least. Fails where it was never set up.
select m.id, m.breaking, h.hidden, current_user::text as "user"
  from (
    select string_agg(c.relname, ', ' order by c.relname) as hidden
      from pg_namespace n join pg_class c on c.relnamespace = n.oid
     where n.nspname = :schema_name and c.relrowsecurity and row_security_active(c.oid)
       and not exists (
         select from pg_policy p
          where p.polrelid = c.oid and p.polcmd in ('r', '*')
            and exists (select from unnest(p.polroles) as r (oid) where r.oid = 0 or pg_has_role(r.oid, 'usage'))
       )
  ) h
  left join :schema.migrations m on true
 order by m.id

-- name: serverFacts
-- What a diagnosis has to know of the server and the session.
select current_setting('server_version') as version,
       (extract(epoch from clock_timestamp()) * 1000)::bigint::text as now_ms,
       current_user::text as "user", current_database()::text as database,
       current_setting('fsync') as fsync, current_setting('full_page_writes') as full_page_writes,
       current_setting('synchronous_commit') as synchronous_commit,
       pg_is_in_recovery() as standby, current_setting('transaction_read_only') as read_only,
       current_setting('max_connections')::integer as max_connections,
       current_setting('superuser_reserved_connections')::integer as reserved,
       (select count(*) from pg_stat_activity where datid is not null)::integer as connected

-- name: sessions
-- Who may hold the connections of a pool: sessions of this user in this database, and those in a transaction that waits for its client.
select current_user::text as "user", count(*)::integer as sessions,
       count(*) filter (where state like 'idle in transaction%')::integer as open,
       coalesce(max(extract(epoch from now() - state_change)) filter (where state like 'idle in transaction%'), 0)::integer as seconds
  from pg_stat_activity
 where usename = current_user and datname = current_database() and pid <> pg_backend_pid()

-- name: rights
-- What the user may do in a schema, which may be absent, and which of its tables and functions aren't there. Functions run with the rights of
-- who calls them.
with s as (select oid from pg_namespace where nspname = $1::text)
select current_user::text as "user", current_database()::text as database,
       has_database_privilege(current_database(), 'create') as creates_schemas,
       exists (select from s) as is_there,
       exists (select from s join pg_class c on c.relnamespace = s.oid where c.relname = 'migrations') as is_filled,
       exists (
         select from s where has_schema_privilege(s.oid, 'usage') and has_schema_privilege(s.oid, 'create')
       ) as creates_tables,
       (
         select min(pg_get_userbyid(c.relowner)::text)
           from s join pg_class c on c.relnamespace = s.oid and c.relkind in ('r', 'p')
          where not pg_has_role(c.relowner, 'usage')
       ) as foreign_owner,
       array_to_string(array(
         select 'usage of the schema' from s where not has_schema_privilege(s.oid, 'usage')
         union all
         select r.name || ' on table ' || c.relname
           from s join pg_class c on c.relnamespace = s.oid and c.relkind in ('r', 'p')
           cross join unnest(array['select', 'insert', 'update', 'delete']) as r (name)
          where (c.relname <> 'migrations' or r.name = 'select') and not has_table_privilege(c.oid, r.name)
         union all
         select 'execute of function ' || p.proname
           from s join pg_proc p on p.pronamespace = s.oid where not has_function_privilege(p.oid, 'execute')
       ), ', ') as missing,
       array_to_string(array(
         select 'table ' || t.name from unnest($2::text[]) as t (name)
          where not exists (select from s join pg_class c on c.relnamespace = s.oid where c.relname = t.name)
         union all
         select 'function ' || f.name from unnest($3::text[]) as f (name)
          where not exists (select from s join pg_proc p on p.pronamespace = s.oid where p.proname = f.name)
       ), ', ') as lost

-- name: sizes
-- Bytes of the database and of a schema, and where they are.
select pg_database_size(current_database())::text as database_bytes,
       (select coalesce(sum(pg_total_relation_size(c.oid)), 0)
          from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where n.nspname = $1::text and c.relkind in ('r', 'p', 'm'))::text as schema_bytes,
       t.spcname::text as tablespace, pg_tablespace_location(t.oid) as location
  from pg_database d join pg_tablespace t on t.oid = d.dattablespace where d.datname = current_database()

-- name: backend
-- The process of the server that answers. A pooler in transaction mode gives two idle clients the same one.
select pg_backend_pid() as pid

-- name: shard
-- Which shard a database is; no row where it holds all threads.
select number, shards, family::text, complete from :schema.shard

-- name: claimShard
-- Makes a database that has no threads a shard. No row where it has some, or was made one at the same time.
with claimed as (
  insert into :schema.shard (number, shards, family)
  select $1::integer, $2::integer, $3::uuid where not exists (select from :schema.threads)
  on conflict do nothing
  returning number, shards, family::text, complete
)
select number, shards, family, complete from claimed
 union all
select number, shards, family::text, complete from :schema.shard

-- name: completeShards
-- Notes in the first shard that every database of its set has its row.
update :schema.shard set complete = true where number = 0 and not complete

-- name: readItems
select place, key, long_key, version, created_ms, updated_ms, value, note from :schema.read_items_1($1::bytea[], $2::bytea[])

-- name: refreshItems
select place, key, long_key, version, created_ms, updated_ms, value, note
  from :schema.refresh_items_1($1::bytea[], $2::bytea[], $3::double precision[])

-- name: changeItems
select :schema.change_items_2($1::jsonb, $2::bytea)

-- name: changeIndexedItems
select :schema.change_items_2($1::jsonb, $2::bytea), :schema.index_items_1($3::jsonb)

-- name: nearestItems
-- $1 and $2: ranges of paths. $3: a jsonpath that the fields must meet, or null. $4: the vector. $5 and $6: only items after this similarity and
-- version. $8 and found: as in searchItems.
select path, key, long_key, version::text, extract(epoch from created_at) * 1000 as created_ms,
       extract(epoch from updated_at) * 1000 as updated_ms, value, note, similarity::text, found::integer
  from (select n.path, i.key, i.long_key, i.version, i.created_at, i.updated_at, coalesce(i.value, l.value) as value, l.note, f.similarity,
               count(*) over () as found, row_number() over nearest as place,
               sum(octet_length(coalesce(i.value, l.value))) over nearest as bytes
          from :schema.nearest_items_1($1::bytea[], $2::bytea[], $3::jsonpath, $4::real[], $5::double precision, $6::bigint, $7::integer) f
          join :schema.items i on i.ns = f.ns and i.key = f.key
          join :schema.item_namespaces n on n.ns = i.ns
          left join :schema.workspace_log l on l.ns = case when i.value is null then i.ns end and l.key = i.key and l.version = i.version
        window nearest as (order by f.similarity desc, i.version desc)) p
 where place = 1 or bytes <= $8::bigint
 order by p.similarity desc, p.version desc

-- name: createVector
create extension if not exists vector

-- name: searchItems
-- $1 and $2: ranges of paths; $3 and $4: the range of them all. $5: a jsonpath that the fields must meet. $6 and $7: only versions between
-- these. $9: how many bytes of values; the first may have more. found: how many were found, with those that are too many bytes. Their
-- values aren't read. A path that goes on with an empty label isn't below the prefix.
select path, key, long_key, version::text, extract(epoch from created_at) * 1000 as created_ms,
       extract(epoch from updated_at) * 1000 as updated_ms, value, note, found::integer
  from (select f.path, f.key, f.long_key, f.version, f.created_at, f.updated_at, coalesce(f.value, l.value) as value, l.note,
               count(*) over () as found, row_number() over newest as place,
               sum(octet_length(coalesce(f.value, l.value))) over newest as bytes
          from (select n.path, i.ns, i.key, i.long_key, i.version, i.created_at, i.updated_at, i.value
                  from :schema.items i
                  join :schema.item_namespaces n using (ns)
                 where n.path >= $3::bytea and n.path < $4::bytea
                   and not (n.path >= $3::bytea || '\x00' and n.path < $3::bytea || '\x01')
                   and (cardinality($1::bytea[]) = 1 or exists (
                         select from unnest($1::bytea[], $2::bytea[]) as r (low, high)
                          where n.path >= r.low and n.path < r.high
                            and not (n.path >= r.low || '\x00' and n.path < r.low || '\x01')))
                   and i.fields @@ $5::jsonpath
                   and i.version < $6::bigint and i.version > $7::bigint
                   and (i.expires_at is null or i.expires_at > now())
                 order by i.version desc
                 limit $8::integer) f
          left join :schema.workspace_log l on l.ns = case when f.value is null then f.ns end and l.key = f.key and l.version = f.version
        window newest as (order by f.version desc)) p
 where place = 1 or bytes <= $9::bigint
 order by p.version desc

-- name: allItems
-- As searchItems, of all namespaces.
select path, key, long_key, version::text, extract(epoch from created_at) * 1000 as created_ms,
       extract(epoch from updated_at) * 1000 as updated_ms, value, note, found::integer
  from (select f.path, f.key, f.long_key, f.version, f.created_at, f.updated_at, coalesce(f.value, l.value) as value, l.note,
               count(*) over () as found, row_number() over newest as place,
               sum(octet_length(coalesce(f.value, l.value))) over newest as bytes
          from (select n.path, i.ns, i.key, i.long_key, i.version, i.created_at, i.updated_at, i.value
                  from :schema.items i
                  join :schema.item_namespaces n using (ns)
                 where n.path is not null and i.version < $1::bigint and (i.expires_at is null or i.expires_at > now())
                 order by i.version desc
                 limit $2::integer) f
          left join :schema.workspace_log l on l.ns = case when f.value is null then f.ns end and l.key = f.key and l.version = f.version
        window newest as (order by f.version desc)) p
 where place = 1 or bytes <= $3::bigint
 order by p.version desc

-- name: replaceItems
-- $1: versions; $2 and $3: where the bytes of each begin in $4, and how many there are. Waits for nobody: who changes several items does so
-- in another order. Fields that are true aren't known.
with at as materialized (
  select i.ns, i.key, i.version, i.value is null as logged, substring($4::bytea from c.start for c.length) as value
    from unnest($1::bigint[], $2::integer[], $3::integer[]) as c (version, start, length)
    join :schema.items i using (version)
     for update of i skip locked
), vectors as (
  delete from :schema.item_vectors v using at where v.ns = at.ns and v.key = at.key
), logged as (
  update :schema.workspace_log l set value = at.value
    from at
   where at.logged and l.ns = at.ns and l.key = at.key and l.version = at.version
)
update :schema.items i set value = case when not at.logged then at.value end, fields = 'true'
  from at
 where i.ns = at.ns and i.key = at.key
returning 1

-- name: readCache
select place, era, left_ms, value from :schema.cache_read_1($1::uuid, $2::uuid[], $3::uuid[])

-- name: writeCache
select :schema.cache_write_1($1::uuid, $2::uuid, $3::uuid, $4::bigint, $5::bytea, $6::double precision, $7::integer, $8::integer,
                             $9::bigint, $10::bigint) as done

-- name: clearCache
select :schema.cache_clear_1($1::uuid, $2::uuid[])

-- name: itemNamespaces
select n.path
  from :schema.item_namespaces n
 where n.path >= $3::bytea and n.path < $4::bytea and not (n.path >= $3::bytea || '\x00' and n.path < $3::bytea || '\x01')
   and (cardinality($1::bytea[]) = 1 or exists (
         select from unnest($1::bytea[], $2::bytea[]) as r (low, high)
          where n.path >= r.low and n.path < r.high and not (n.path >= r.low || '\x00' and n.path < r.low || '\x01')))
   and n.path > $5::bytea
   and exists (select from :schema.items i where i.ns = n.ns and (i.expires_at is null or i.expires_at > now()))
 order by n.path
 limit $6::integer

-- name: commitWorkspace
select at_ms, versions, failed, made_before from :schema.commit_workspace_1($1::bytea, $2::jsonb, $3::bytea, $4::boolean)

-- name: workspaceLog
-- The state of a workspace, and entries of its log; without entries a row with the state. $1: its name. $2 to $5: ranges of paths, as in
-- searchItems. $6: a key. $7 and $8: only versions between these. $9: only entries made until then. $10: how many, and $11: how many bytes of
-- notes and values; the first may have more. found: how many were found, with those that are too many bytes.
with w as materialized (
  select w.ws, w.version, w.trimmed, a.version as after_version, a.at as after_at,
         coalesce((select l.at from :schema.workspace_log l where l.ws = w.ws and l.version = w.version), w.changed_at) as changed_at
    from :schema.workspaces w
    left join lateral (
      select l.version, l.at from :schema.workspace_log l where l.ws = w.ws and l.version <= $7::bigint order by l.version desc limit 1) a on true
   where w.name = $1::bytea
)
select w.version::text as newest, w.trimmed::text, extract(epoch from w.changed_at) * 1000 as changed_ms,
       w.after_version::text, extract(epoch from w.after_at) * 1000 as after_ms, e.version::text, path, kind, key, long_key, extract(epoch from at) * 1000 as at_ms, note, value,
       found::integer
  from w left join (
         select f.*, count(*) over () as found, row_number() over () as place,
                sum(octet_length(note) + coalesce(octet_length(value), 0)) over (rows unbounded preceding) as bytes
           from (select l.version, n.path, l.kind, l.key, l.long_key, l.at, l.note, l.value
                   from :schema.workspace_log l
                   join :schema.item_namespaces n using (ns)
                  where l.ws = (select w.ws from w)
                    and n.path >= $4::bytea and n.path < $5::bytea
                    and (cardinality($2::bytea[]) = 1 or exists (
                          select from unnest($2::bytea[], $3::bytea[]) as r (low, high) where n.path >= r.low and n.path < r.high))
                    and ($6::bytea is null or l.key = $6::bytea)
                    and l.version > $7::bigint and l.version < $8::bigint
                    and ($9::double precision is null or l.at <= to_timestamp($9::double precision / 1000))
                  order by l.version asc
                  limit $10::integer) f) e
       on place = 1 or bytes <= $11::bigint
 order by e.place

-- name: itemsAt
-- Items of a workspace as they were at a version, by the log. $1 to $4: ranges of paths, as in searchItems. $5: a key. $6: the version. $7
-- and $8: only items after this path and key. $9: how many. $10 and found: as $9 and found in searchItems.
select path, key, long_key, version::text, extract(epoch from created_at) * 1000 as created_ms,
       extract(epoch from at) * 1000 as updated_ms, value, note, found::integer
  from (select f.*, count(*) over () as found, row_number() over () as place, sum(octet_length(value)) over (rows unbounded preceding) as bytes
          from (select n.path, i.*
                  from :schema.item_namespaces n,
                       lateral (
                         select *
                           from (select distinct on (l.key) l.key, l.long_key, l.version, l.kind, l.created_at, l.at, l.expires_at, l.value, l.note
                                   from :schema.workspace_log l
                                  where l.ns = n.ns and l.version <= $6::bigint and l.kind <> 'm'
                                    and ($5::bytea is null or l.key = $5::bytea)
                                    and l.key > case when n.path = $7::bytea then $8::bytea else '' end
                                  order by l.key, l.version desc) d
                          where d.kind = 'p' and (d.expires_at is null or d.expires_at > now())
                          order by d.key
                          limit $9::integer
                       ) i
                 where n.path >= greatest($3::bytea, $7::bytea) and n.path < $4::bytea
                   and not (n.path >= $3::bytea || '\x00' and n.path < $3::bytea || '\x01')
                   and (cardinality($1::bytea[]) = 1 or exists (
                         select from unnest($1::bytea[], $2::bytea[]) as r (low, high)
                          where n.path >= r.low and n.path < r.high
                            and not (n.path >= r.low || '\x00' and n.path < r.low || '\x01')))
                 order by n.path, i.key
                 limit $9::integer) f) p
 where p.place = 1 or p.bytes <= $10::bigint
 order by p.place

-- name: workspaces
-- Names of workspaces after a name.
select name from :schema.workspaces where name > $1::bytea order by name limit $2::integer

-- name: trimWorkspace
select removed, done from :schema.trim_workspace_1($1::bytea, $2::bigint, $3::integer)

-- name: replaceEntries
-- $1: the workspace. $2: versions of entries. $3: SHA-256 of note and value as they were read. $4 and $5: where the bytes of notes begin in
-- $8, and how many there are; $6 and $7: the same of values, or null. Waits for nobody, as replaceItems. An item of such a version has its
-- bytes there; it is held, so that no field stays known that is encrypted now.
with c as materialized (
  select e.*, exists (select from :schema.items i where i.version = e.version) as is_item
    from unnest($2::bigint[], $3::bytea[], $4::integer[], $5::integer[], $6::integer[], $7::integer[])
           as e (version, was, note, note_length, value, value_length)
), held as materialized (
  select i.version from c join :schema.items i using (version) for update of i skip locked
), at as materialized (
  select l.ws, l.version, substring($8::bytea from c.note for c.note_length) as note,
         substring($8::bytea from c.value for c.value_length) as value
    from c
    join :schema.workspace_log l
      on l.ws = (select w.ws from :schema.workspaces w where w.name = $1::bytea) and l.version = c.version
   where sha256(l.note || coalesce(l.value, '')) = c.was
     and (not c.is_item or c.version in (select h.version from held h))
     for update of l skip locked
), known as (
  update :schema.items i set fields = 'true' from at where i.version = at.version and i.fields <> 'true'
)
update :schema.workspace_log l set note = at.note, value = at.value
  from at
 where l.ws = at.ws and l.version = at.version
returning 1

-- name: deleteWorkspace
select :schema.delete_workspace_1($1::bytea, $2::bigint, $3::boolean) as done

-- name: purgeWorkspaces
select :schema.purge_workspaces_1($1::integer) as purged

-- name: notify
-- Tells those that listen that a workspace has news. In a statement of its own, after the commit: PostgreSQL lets transactions with
-- notifications commit one at a time, in all databases, so none of them should wait for the disk.
select set_config('synchronous_commit', 'off', true), pg_notify(':channel', $1::text)

-- name: listen
listen :channel
