-- Takes tags (two lists: keys, values) from a thread.
delete from :schema.thread_tags g
 using :schema.threads t, unnest($2::bytea[], $3::bytea[]) as u (k, v)
 where t.key = $1::bytea and g.thread = t.thread and g.key = u.k and g.value = u.v
