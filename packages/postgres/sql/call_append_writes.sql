select :schema.append_writes_1($1::bytea, $2::bytea, $3::bigint, $4::boolean, $5::integer, $6::integer, $7::integer[], $8::bytea) as status
