select status, head, checkpoints::text, bytes::text
  from :schema.fork_1($1::bytea, $2::bigint, $3::bytea, $4::bytea, $5::integer[], $6::bytea, $7::integer[], $8::text[], $9::text[],
                      $10::integer[], $11::integer[], $12::text[], $13::integer[], $14::bytea)
