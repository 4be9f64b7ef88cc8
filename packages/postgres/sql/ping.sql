-- Whether calls would be served: fails where the schema was never set up, or may not be used.
select 1 from :schema.migrations limit 1
