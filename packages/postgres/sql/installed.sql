-- Which migrations a schema has; fails where it was never set up.
select id, breaking from :schema.migrations order by id
