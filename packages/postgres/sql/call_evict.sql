select :schema.evict_1($1::bytea, $2::bigint) as done
