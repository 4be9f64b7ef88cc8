select hash, base, size from :schema.blobs_1($1::bytea)
