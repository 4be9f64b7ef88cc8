select status, revision::text, head, moved
  from :schema.append_1($1::bytea, $2::bytea, $3::bigint, $4::boolean, $5::boolean, $6::boolean, $7::integer[], $8::integer[], $9::text[], $10::integer[], $11::bytea)
