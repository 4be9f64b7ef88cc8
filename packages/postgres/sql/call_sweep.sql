select :schema.sweep_1($1::double precision, $2::integer) as swept
