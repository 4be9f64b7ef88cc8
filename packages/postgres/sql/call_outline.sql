select kind, thread::text, id, ns, a, b, c, d, n::text, tags, body from :schema.outline_1($1::bytea, $2::bytea)
