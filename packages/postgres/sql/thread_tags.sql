-- The tags of a thread.
select g.key, g.value from :schema.thread_tags g join :schema.threads t using (thread) where t.key = $1::bytea
