-- Arrays go as text: drivers write arrays of their own element by element. Their types are the function's: each cast costs the server
-- 3 microseconds.
select status, revision::text, head, moved
  from :schema.append_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
