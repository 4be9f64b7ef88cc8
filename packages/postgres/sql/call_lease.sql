select :schema.lease_1($1::bytea, $2::bytea, $3::double precision) as done
