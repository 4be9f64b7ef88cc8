select :schema.delete_thread_1($1::bytea)
