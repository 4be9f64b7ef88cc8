select :schema.tag_thread_1($1::bytea, $2::bytea, $3::bytea[], $4::bytea[])::text as revision
