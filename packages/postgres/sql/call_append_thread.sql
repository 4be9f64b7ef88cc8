-- As append.
select status, revision::text, head, moved from :schema.append_thread_1($1, $2)
