-- Arguments without casts have the function's types: each cast costs the server 3 microseconds.
select status, revision::text, head, moved from :schema.append_3($1, $2)
