select status, head, checkpoints::text, bytes::text
  from :schema.fork_2($1::bytea, $2::bigint, $3::bytea, $4::bytea, $5::integer[], $6::bytea, $7::integer[], $8::text[], $9::text[],
                      $10::text::integer[], $11::text::text[], $12::text::integer[], $13::text::integer[], $14::text::integer[],
                      $15::text::integer[], $16::text::integer[], $17::text::integer[], $18::text::integer[], $19::text::integer[],
                      $20::text::integer[], $21::bytea)
