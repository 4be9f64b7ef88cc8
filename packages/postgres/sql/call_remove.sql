select :schema.remove_2($1::bytea, $2::bigint, $3::jsonb, $4::bytea) as done
