select kind, thread::text, id, ns, a, b, c, d, n::text, tags, body from :schema.ancestry_1($1::bytea, $2::bytea, $3::bytea, $4::integer[], $5::integer)
