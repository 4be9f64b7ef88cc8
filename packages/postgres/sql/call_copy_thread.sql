select :schema.copy_thread_2($1::bytea, $2::bytea, $3::bytea) as done
