-- Statements that errors and diagnoses advise; nothing here runs them.

-- name: adviseSchema
create schema :schema authorization :role;

-- name: advisePolicy
create policy stratigraph on :table to :role using (true) with check (true);

-- name: adviseNoRowSecurity
alter table :table disable row level security;
