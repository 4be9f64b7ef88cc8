-- Arrays go as text: drivers write arrays of their own element by element.
select status, revision::text, head, moved
  from :schema.append_2($1::text::integer[], $2::text::bigint[], $3::text::integer[],
                        $4::text::integer[], $5::text::text[], $6::text::integer[], $7::text::integer[], $8::text::integer[], $9::text::integer[],
                        $10::text::integer[], $11::text::integer[], $12::text::integer[], $13::text::integer[], $14::text::integer[], $15::bytea)
