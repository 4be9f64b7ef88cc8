  if not exists (select from :schema.migrations where id = :id) then
    insert into :schema.migrations (id) values (:id);
    execute $migration$
:text
    $migration$;
  end if;
