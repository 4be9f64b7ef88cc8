select key, id from :schema.long_ids_1($1::bytea[])
