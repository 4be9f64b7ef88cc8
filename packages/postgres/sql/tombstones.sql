-- Deleted threads, by age, from an instant on and after a cursor (an instant and a thread key).
select t.key, t.long_id, (extract(epoch from t.written_at) * 1000)::bigint::text as deleted_ms
  from :schema.threads t
 where not t.live and t.deleted_at > 0 and t.written_at >= to_timestamp($1::double precision / 1000)
   and ($2::double precision is null
        or (t.written_at, t.key) > (to_timestamp($2::double precision / 1000), coalesce($3::bytea, '')))
 order by t.written_at, t.key limit $4::integer
