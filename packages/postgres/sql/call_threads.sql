select key, long_id, revision::text, head, thread::text, written_ms::text, evicted
  from :schema.threads_1(to_timestamp($1::double precision / 1000), $2::boolean, $3::boolean, to_timestamp($4::double precision / 1000), $5::bytea, $6::integer)
