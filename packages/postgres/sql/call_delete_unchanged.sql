-- Deletes a thread if it is still at a revision. The row is locked first: who writes to the thread waits, and is late then.
with unchanged as materialized (
  select t.key from :schema.threads t where t.key = $1::bytea and t.revision = $2::bigint for update
)
select true as done, :schema.delete_thread_1(u.key) from unchanged u
