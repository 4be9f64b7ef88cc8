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
