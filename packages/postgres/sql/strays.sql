-- Checkpoints of a thread that have pending writes, and no record.
select distinct w.id, w.ns
  from :schema.writes w join :schema.threads t using (thread)
 where t.key = $1::bytea
   and not exists (select from :schema.checkpoints c where c.thread = w.thread and c.id = w.id and c.ns = w.ns)
