-- Other bytes in the place of those that a thread holds, if it still is at revision $2. One statement: where the row lock was
-- waited for, the revision is looked at again, and every change of a thread moves it, so that what else is seen is what is there.
-- $3: of each item, -2 for a record, -1 for a blob, or the place of a pending write among those of its checkpoint.
-- pieces ($4, $5): of each item, id or hash, namespace, bytes.
with at as (
  update :schema.threads set revision = revision + 1 where key = $1::bytea and revision = $2::bigint returning thread, revision
), items as materialized (
  select ($3::integer[])[g.item] as place, g.parts[1] as id, g.parts[2] as ns, g.parts[3] as bytes
    from (select ((i - 1) / 3 + 1)::integer as item, array_agg(piece order by i) as parts
            from unnest(:schema.pieces_1($4::integer[], $5::bytea)) with ordinality as p (piece, i)
           group by 1) as g
), records as (
  update :schema.checkpoints c set body = i.bytes from at, items i
   where i.place = -2 and c.thread = at.thread and c.id = i.id and c.ns = i.ns
), replaced as (
  update :schema.blobs b set bytes = i.bytes from at, items i
   where i.place = -1 and b.thread = at.thread and b.hash = i.id
), batches as (
  select w.thread, w.id, w.ns, w.seq, w.part,
         row_number() over (partition by w.id, w.ns order by w.seq, w.part) - 1 as place
    from at join :schema.writes w using (thread)
   where (w.id, w.ns) in (select i.id, i.ns from items i where i.place >= 0)
), written as (
  update :schema.writes w set body = i.bytes from batches o join items i on i.place = o.place and i.id = o.id and i.ns = o.ns
   where w.thread = o.thread and w.id = o.id and w.ns = o.ns and w.seq = o.seq and w.part = o.part
)
select revision from at
