select kind, thread::text, id, ns, a, b, c, d, n::text, tags, body
  from :schema.list_1($1::bytea, $2::bytea, $3::bytea, $4::bytea, $5::integer[], $6::bytea[], $7::boolean, $8::boolean,
                      $9::bigint, $10::bytea, $11::bytea, $12::integer)
