select key, long_id, revision::text, head, thread::text, written_ms::text, evicted, parent, lost_to, run, blobs, tags, body
  from :schema.threads_2(to_timestamp($1::double precision / 1000), $2::boolean, $3::boolean, to_timestamp($4::double precision / 1000), $5::bytea,
                         $6::integer, $7::bytea[], $8::bytea[], $9::integer[])
