select status, head, checkpoints::text, bytes::text
  from :schema.fork_3($1::bytea, $2::bigint, $3::bytea, $4::bytea, $5::jsonb, $6::jsonb, $7::bytea)
