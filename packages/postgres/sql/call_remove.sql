select :schema.remove_1($1::bytea, $2::bigint, $3::integer[], $4::integer[], $5::bytea) as done
