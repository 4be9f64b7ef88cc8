-- Puts and gets of items, with plans that are made once per connection and look for namespaces by their index.

-- Changes items, as change_items_1 does, which read all namespaces for each put: a generic plan expects a hundred rows of a JSON text, and
-- joins these by a hash. A subquery for each row can't be joined so. With 1,000,000 items in 10,000 namespaces, a put took 3.3 ms and takes
-- 0.4 ms.
create function :schema.change_items_2(changes jsonb, contents bytea) returns void language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
begin
  perform pg_advisory_xact_lock(1769237861, s.lock)
     from (select distinct hashtext(encode(c.path || c.key, 'hex')) & 255 as lock
             from jsonb_to_recordset(changes) as c (path bytea, key bytea)
            order by 1
           offset 0) as s;

  delete from :schema.items i
   using jsonb_to_recordset(changes) as c (path bytea, key bytea, length integer), :schema.item_namespaces n
   where c.length is null and n.path = c.path and i.ns = n.ns and i.key = c.key;

  insert into :schema.item_namespaces (path)
  select distinct c.path
    from jsonb_to_recordset(changes) as c (path bytea, length integer)
   where c.length is not null and (select n.ns from :schema.item_namespaces n where n.path = c.path) is null
   order by c.path
      on conflict do nothing;

  insert into :schema.items as i (ns, key, long_key, fields, created_at, updated_at, expires_at, value)
  select (select n.ns from :schema.item_namespaces n where n.path = c.path), c.key, c.long, c.fields, now(), now(),
         now() + make_interval(secs => c.ttl / 1000), substring(contents from c.start for c.length)
    from jsonb_to_recordset(changes)
           as c (place integer, path bytea, key bytea, long bytea, start integer, length integer, fields jsonb, ttl double precision)
   where c.length is not null
   order by c.place
      on conflict (ns, key) do update
     set version = default, fields = excluded.fields, updated_at = excluded.updated_at, expires_at = excluded.expires_at,
         value = excluded.value,
         created_at = case when i.expires_at <= now() then excluded.created_at else i.created_at end;
end
$$;

-- The items at these addresses. As a statement of its own it took 0.4 ms, most of it for its plan; as a function it takes 0.1 ms.
create function :schema.read_items_1(paths bytea[], keys bytea[])
returns table (place integer, key bytea, long_key bytea, version text, created_ms text, updated_ms text, value bytea, note bytea)
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
begin
  return query
  select c.place::integer, i.key, i.long_key, i.version::text, (extract(epoch from i.created_at) * 1000)::text,
         (extract(epoch from i.updated_at) * 1000)::text, coalesce(i.value, l.value), l.note
    from unnest(paths, keys) with ordinality as c (path, key, place)
    join :schema.item_namespaces n using (path)
    join :schema.items i on i.ns = n.ns and i.key = c.key
    -- An item that has its value costs no look into the index of the log.
    left join :schema.workspace_log l on l.ns = case when i.value is null then i.ns end and l.key = i.key and l.version = i.version
   where i.expires_at is null or i.expires_at > now();
end
$$;

comment on function :schema.change_items_2 is 'Puts and deletes items of stores.';
comment on function :schema.read_items_1 is 'Reads items of stores.';

-- A vector counts while the item has the version that it had then: whatever changes an item later needs to know nothing of its vectors.
-- They are of unit length, or zero.
create table :schema.item_vectors (
  ns bigint not null,
  key bytea not null,
  nth smallint not null,
  version bigint not null,
  vector real[] not null,
  primary key (ns, key, nth),
  foreign key (ns, key) references :schema.items on delete cascade
);

alter table :schema.item_vectors alter column vector set storage external;

-- Gives items that are there other vectors. indexed: [{"path", "key", "vectors": ["{0.6,0.8}"]}]. Called in the transaction that changed
-- them, which has their locks.
create function :schema.index_items_1(indexed jsonb) returns void language plpgsql as $$
begin
  delete from :schema.item_vectors v
   using jsonb_to_recordset(indexed) as c (path bytea, key bytea), :schema.item_namespaces n
   where n.path = c.path and v.ns = n.ns and v.key = c.key;

  insert into :schema.item_vectors (ns, key, nth, version, vector)
  select i.ns, i.key, t.nth, i.version, t.vector::real[]
    from jsonb_to_recordset(indexed) as c (path bytea, key bytea, vectors jsonb)
    join :schema.item_namespaces n using (path)
    join :schema.items i on i.ns = n.ns and i.key = c.key,
         jsonb_array_elements_text(c.vectors) with ordinality as t (vector, nth);
end
$$;

-- The items that are most similar to a vector, by the largest sum of products; -Infinity without a vector of that length. low and high:
-- ranges of paths. test: a jsonpath that the fields must meet, or null. Only those after a similarity and version.
--
-- Every vector in the ranges is compared. Where the extension pgvector was created, and this user may use it, it multiplies: some 25 times
-- as fast. Sums are then of single precision.
create function :schema.nearest_items_1(low bytea[], high bytea[], test jsonpath, near real[], after_similarity double precision,
  after_version bigint, most integer)
returns table (ns bigint, key bytea, similarity double precision) language plpgsql stable as $$
declare
  product text := '(select sum(p.a * p.b) from unnest(v.vector, $4::double precision[]) as p (a, b))';
  extension text;
begin
  select quote_ident(s.nspname) into extension
    from pg_catalog.pg_extension e join pg_catalog.pg_namespace s on s.oid = e.extnamespace where e.extname = 'vector';
  for round in 1 .. 2 loop
    begin
      return query execute $query$
        select f.ns, f.key, f.similarity
          from (select i.ns, i.key, i.version, coalesce(max($query$
        || case when extension is null then product
                else format('-(v.vector::%1$s.vector operator(%1$s.<#>) $4::%1$s.vector)', extension) end
        || $query$), '-Infinity') as similarity
                  from unnest($1, $2) as r (low, high)
                  join :schema.item_namespaces n on n.path >= r.low and n.path < r.high
                       and not (n.path >= r.low || '\x00' and n.path < r.low || '\x01')
                  join :schema.items i using (ns)
                  left join :schema.item_vectors v
                    on v.ns = i.ns and v.key = i.key and v.version = i.version and cardinality(v.vector) = cardinality($4)
                 where ($3 is null or i.fields @@ $3) and (i.expires_at is null or i.expires_at > now())
                 group by i.ns, i.key) f
         where (f.similarity, -f.version) < ($5, -$6) or $5 is null
         order by f.similarity desc, f.version desc
         limit $7
      $query$ using low, high, test, near, after_similarity, after_version, most;
      return;
    exception when others then
      -- An embedded database may have been opened without the extension, or its rights were taken away.
      if extension is null then
        raise;
      end if;
      extension := null;
    end;
  end loop;
end
$$;

comment on table :schema.item_vectors is 'Vectors of items; one counts while the item has the same version.';
comment on column :schema.item_vectors.nth is 'Counts the vectors of an item.';
comment on function :schema.index_items_1 is 'Gives items vectors.';
comment on function :schema.nearest_items_1 is 'Finds the items most similar to a vector.';

-- Workspaces: items with a log. Their items are rows of items whose paths begin with a NUL, the workspace's name and a NUL.

-- What the log has isn't stored twice: null says that the log's entry of the same version has the value.
alter table :schema.items alter column value drop not null;
-- Null: of a deleted workspace. Nothing finds its items any more; purge_workspaces_1 removes them.
alter table :schema.item_namespaces alter column path drop not null;

create table :schema.workspaces (
  ws bigint generated always as identity primary key,
  -- In UTF-8. Null: deleted.
  name bytea,
  -- Of the newest entry of the log.
  version bigint not null default 0,
  trimmed bigint not null default 0,
  changed_at timestamptz,
  -- The newest commits that were made by a repeated call. Their first calls may still be on their way.
  repeats uuid[],
  constraint workspaces_name unique (name)
);

create table :schema.workspace_log (
  ws bigint not null,
  version bigint not null,
  -- p put · d delete · m message
  kind "char" not null,
  ns bigint not null,
  key bytea not null,
  long_key bytea,
  commit_id uuid not null,
  at timestamptz not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  note bytea not null,
  value bytea,
  primary key (ws, version)
);

create index workspace_log_by_item on :schema.workspace_log (ns, key, version desc);
alter table :schema.workspace_log alter column value set storage external;

-- The next version of an item. Only the owner may use the sequence of the column; a role that may change items needn't be told of it.
do $do$
declare
  v_sequence text := (
    select quote_ident(n.nspname) || '.' || quote_ident(c.relname)
      from pg_depend d join pg_class c on c.oid = d.objid and c.relkind = 'S' join pg_namespace n on n.oid = c.relnamespace
     where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass and d.deptype = 'i'
       and d.refobjid = (select t.typrelid from pg_type t where t.oid = pg_typeof(null::  :schema.items))
  );
begin
  execute
    $e$ create function :schema.next_version_1() returns bigint language sql security definer set search_path = pg_catalog as $e$
    || quote_literal('select nextval(' || quote_literal(v_sequence) || '::regclass)');
end
$do$;

-- Makes commits of one workspace, each all or none: [{"id", "checks": [{"place", "path", "key", "version"}], "changes": [{"kind", "path",
-- "key", "long", "fields", "ttl", "start", "length", "note", "note_length"}]}]. Kinds are those of the log, and t: touch. start and note
-- point into contents. Without note_length, the log doesn't have the change. Answers with a row for each commit: versions of its changes,
-- or places of failed checks, or, if it was made before, versions of its entries.
--
-- Whoever has the workspace's row makes commits, and sees those before: each statement of the function has a snapshot of its own. So
-- versions and times are in the order in which commits become visible.
create function :schema.commit_workspace_1(p_name bytea, p_commits jsonb, p_contents bytea, p_again boolean)
returns table (at_ms text, versions text, failed text, made_before boolean) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set lock_timeout = '4s' as $$
declare
  v_workspace :schema.workspaces;
  v_now timestamptz;
  v_commit jsonb;
  v_id uuid;
  c record;
  v_path bytea;
  v_ns bigint;
  v_version bigint;
  v_created timestamptz;
  v_versions bigint[];
begin
  loop
    select * into v_workspace from :schema.workspaces w where w.name = p_name for update;
    exit when found;
    insert into :schema.workspaces (name) values (p_name) on conflict do nothing;
  end loop;

  for v_commit in select e.value from jsonb_array_elements(p_commits) as e loop
    v_id := (v_commit ->> 'id')::uuid;
    failed := null;
    made_before := p_again or v_id = any (v_workspace.repeats);
    if made_before then
      select (extract(epoch from min(l.at)) * 1000)::text, string_agg(l.version::text, ',' order by l.version)
        into at_ms, versions
        from (select l.version, l.at, l.commit_id from :schema.workspace_log l where l.ws = v_workspace.ws order by l.version desc limit 10000) as l
       where l.commit_id = v_id;
      if at_ms is null and v_id = any (v_workspace.repeats) then
        at_ms := (extract(epoch from v_workspace.changed_at) * 1000)::text;
      end if;
      if at_ms is not null then
        return next;
        continue;
      end if;
      made_before := false;
    end if;

    v_now := clock_timestamp();
    if jsonb_array_length(v_commit -> 'checks') > 0 then
      select string_agg(k.place::text, ',' order by k.place) into failed
        from jsonb_to_recordset(v_commit -> 'checks') as k (place integer, path bytea, key bytea, version bigint)
       where k.version <> coalesce((
               select i.version
                 from :schema.items i
                where i.ns = (select n.ns from :schema.item_namespaces n where n.path = k.path) and i.key = k.key
                  and (i.expires_at is null or i.expires_at > v_now)
             ), 0);
      if failed is not null then
        at_ms := null;
        versions := null;
        return next;
        continue;
      end if;
    end if;

    v_workspace.changed_at := greatest(date_trunc('milliseconds', v_now), v_workspace.changed_at);
    v_versions := '{}';
    for c in
      select *, v_now + make_interval(secs => r.ttl / 1000) as expires_at
        from jsonb_to_recordset(v_commit -> 'changes')
               as r (kind text, path bytea, key bytea, long bytea, fields jsonb, ttl double precision, start integer, length integer,
                     note integer, note_length integer)
    loop
      if c.path is distinct from v_path then
        v_path := c.path;
        select n.ns into v_ns from :schema.item_namespaces n where n.path = v_path;
        if not found then
          insert into :schema.item_namespaces (path) values (v_path) returning ns into v_ns;
        end if;
      end if;
      v_version := null;
      v_created := v_workspace.changed_at;
      if c.kind = 'p' then
        insert into :schema.items as i (ns, key, long_key, fields, created_at, updated_at, expires_at, value)
        values (v_ns, c.key, c.long, c.fields, v_created, v_created, c.expires_at,
                case when c.note_length is null then substring(p_contents from c.start for c.length) end)
            on conflict (ns, key) do update
           set version = default, fields = excluded.fields, updated_at = excluded.updated_at, expires_at = excluded.expires_at,
               value = excluded.value,
               created_at = case when i.expires_at <= v_now then excluded.created_at else i.created_at end
        returning i.version, i.created_at into v_version, v_created;
      elsif c.kind = 'd' then
        delete from :schema.items i where i.ns = v_ns and i.key = c.key;
      elsif c.kind = 't' then
        update :schema.items i set expires_at = c.expires_at
         where i.ns = v_ns and i.key = c.key and (i.expires_at is null or i.expires_at > v_now)
        returning i.version into v_version;
        update :schema.workspace_log l set expires_at = c.expires_at where l.ws = v_workspace.ws and l.version = v_version;
        v_version := null;
      end if;
      if c.note_length is not null then
        v_version := coalesce(v_version, :schema.next_version_1());
        insert into :schema.workspace_log (ws, version, kind, ns, key, long_key, commit_id, at, created_at, expires_at, note, value)
        values (v_workspace.ws, v_version, c.kind::"char", v_ns, c.key, c.long, v_id, v_workspace.changed_at, v_created, c.expires_at,
                substring(p_contents from c.note for c.note_length), substring(p_contents from c.start for c.length));
        v_workspace.version := v_version;
      end if;
      v_versions := v_versions || coalesce(v_version, 0);
    end loop;
    if p_again then v_workspace.repeats := (array[v_id] || v_workspace.repeats)[1:100]; end if;
    at_ms := (extract(epoch from v_workspace.changed_at) * 1000)::text;
    versions := array_to_string(v_versions, ',');
    return next;
  end loop;

  if v_workspace.changed_at is null then
    -- It was to begin, and no commit was made.
    delete from :schema.workspaces w where w.ws = v_workspace.ws;
  else
    update :schema.workspaces w
       set version = v_workspace.version, changed_at = v_workspace.changed_at, repeats = v_workspace.repeats
     where w.ws = v_workspace.ws;
  end if;
end
$$;

-- Looks at so many entries that a trim up to a version has not seen yet, and removes what it may. Answers how many it removed, and whether it
-- is done. An entry is removed when the change that follows it is seen, so what is kept needn't be looked at again.
create function :schema.trim_workspace_1(p_name bytea, p_version bigint, p_most integer)
returns table (removed integer, done boolean) language plpgsql set lock_timeout = '4s' as $$
declare
  v_workspace :schema.workspaces;
  v_seen integer;
  v_last bigint;
begin
  select * into v_workspace from :schema.workspaces w where w.name = p_name for update;
  with seen as materialized (
    select l.version, l.ns, l.key, l.kind, l.expires_at
      from :schema.workspace_log l
     where l.ws = v_workspace.ws and l.version > v_workspace.trimmed and l.version <= p_version
     order by l.version
     limit p_most
  ), old as (
    select s.version from seen s where s.kind <> 'p' or s.expires_at <= now()
    union
    select (select l.version from :schema.workspace_log l
             where l.ns = s.ns and l.key = s.key and l.version < s.version and l.kind <> 'm'
             order by l.version desc limit 1)
      from seen s where s.kind <> 'm'
  ), gone as (
    delete from :schema.workspace_log l using old o where l.ws = v_workspace.ws and l.version = o.version returning 1
  )
  select (select count(*) from gone), count(*), max(s.version) into removed, v_seen, v_last from seen s;
  done := v_seen < p_most;
  update :schema.workspaces w
     set trimmed = greatest(w.trimmed, case when done then least(p_version, w.version) else v_last end)
   where w.ws = v_workspace.ws;
  return next;
end
$$;

-- Deletes a workspace at a version: what it has is found by nothing any more, and is removed by purge_workspaces_1. p_again: it may have
-- been deleted by the call before.
create function :schema.delete_workspace_1(p_name bytea, p_version bigint, p_again boolean) returns boolean language plpgsql
set enable_seqscan = off set lock_timeout = '4s' as $$
declare
  v_workspace :schema.workspaces;
begin
  select * into v_workspace from :schema.workspaces w where w.name = p_name for update;
  if not found then return p_again; end if;
  if v_workspace.version <> p_version then return false; end if;
  update :schema.workspaces w set name = null where w.ws = v_workspace.ws;
  update :schema.item_namespaces n set path = null
   where n.path >= '\x00'::bytea || p_name || '\x00'::bytea and n.path < '\x00'::bytea || p_name || '\x01'::bytea;
  return true;
end
$$;

-- Removes what deleted workspaces had, at most so many rows of each table. Returns how many.
create function :schema.purge_workspaces_1(p_most integer) returns integer language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_items integer;
  v_entries integer;
  v_namespaces integer;
begin
  with old as (
    select i.ns, i.key from :schema.item_namespaces n join :schema.items i on i.ns = n.ns where n.path is null limit p_most for update of i skip locked
  )
  delete from :schema.items i using old o where i.ns = o.ns and i.key = o.key;
  get diagnostics v_items = row_count;
  with old as (
    select l.ws, l.version from :schema.workspaces w join :schema.workspace_log l on l.ws = w.ws where w.name is null limit p_most for update of l skip locked
  )
  delete from :schema.workspace_log l using old o where l.ws = o.ws and l.version = o.version;
  get diagnostics v_entries = row_count;
  with old as (
    select n.ns from :schema.item_namespaces n
     where n.path is null and not exists (select from :schema.items i where i.ns = n.ns) limit p_most for update skip locked
  )
  delete from :schema.item_namespaces n using old o where n.ns = o.ns;
  get diagnostics v_namespaces = row_count;
  delete from :schema.workspaces w where w.name is null and not exists (select from :schema.workspace_log l where l.ws = w.ws);
  return v_items + v_entries + v_namespaces;
end
$$;

-- As sweep_items_1, with the log's entries that a trim left because of these items.
create function :schema.sweep_items_2(most integer) returns bigint language plpgsql as $$
declare
  swept bigint;
begin
  with expired as (
    select i.ns, i.key from :schema.items i where i.expires_at <= now() order by i.expires_at limit most for update skip locked
  ), gone as (
    delete from :schema.items i using expired e where i.ns = e.ns and i.key = e.key returning i.ns, i.key, i.version, i.value is null as logged
  ), trimmed as (
    delete from :schema.workspace_log l using gone g, :schema.workspaces w
     where g.logged and l.ns = g.ns and l.key = g.key and l.version = g.version and w.ws = l.ws and l.version <= w.trimmed
  )
  select count(*) into swept from gone;
  return swept;
end
$$;

-- Reads items as read_items_1 does. Those that have a time to live get it anew, refresh in milliseconds, if at most nine tenths of that are
-- left: so an item that is read often is rarely written. Waits for nobody.
create function :schema.refresh_items_1(paths bytea[], keys bytea[], refresh double precision[])
returns table (place integer, key bytea, long_key bytea, version text, created_ms text, updated_ms text, value bytea, note bytea) language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
begin
  update :schema.items i
     set expires_at = now() + make_interval(secs => due.ms / 1000)
    from (select t.ns, t.key, c.ms
            from unnest(paths, keys, refresh) as c (path, key, ms)
            join :schema.item_namespaces n using (path)
            join :schema.items t on t.ns = n.ns and t.key = c.key
           where t.expires_at > now() and t.expires_at <= now() + make_interval(secs => 0.9 * c.ms / 1000)
             for update of t skip locked) due
   where i.ns = due.ns and i.key = due.key;
  return query select * from :schema.read_items_1(paths, keys);
end
$$;

-- Removes namespaces without items, apart from those of workspaces. Looks at so many, from a random one on: where there are many, each call
-- finds others.
--
-- A change may be about to put the first item of one. So this takes all locks that changes take, in their order, and looks again.
create function :schema.sweep_namespaces_1(most integer) returns bigint language plpgsql as $$
declare
  first_ns bigint := (select floor(random() * (max(n.ns) + 1)) from :schema.item_namespaces n);
  empty bigint[];
  swept bigint;
begin
  empty := array(
    select n.ns
      from ((select a.ns, a.path from :schema.item_namespaces a where a.ns >= first_ns order by a.ns limit most)
             union all
            (select b.ns, b.path from :schema.item_namespaces b where b.ns < first_ns order by b.ns limit most)
            limit most) n
     where not (n.path >= '\x00' and n.path < '\x01') and not exists (select from :schema.items i where i.ns = n.ns));
  if empty = '{}' then
    return 0;
  end if;
  perform pg_advisory_xact_lock(1769237861, s.lock) from generate_series(0, 255) as s (lock);
  delete from :schema.item_namespaces n
   where n.ns = any (empty) and not exists (select from :schema.items i where i.ns = n.ns);
  get diagnostics swept = row_count;
  return swept;
end
$$;

comment on table :schema.workspaces is 'Items with a log, which agents share.';
comment on table :schema.workspace_log is 'Changes and messages of workspaces, in their order.';
comment on column :schema.items.value is 'The encoded value; docs/format.md. Null: the entry of the log of this version has it.';
comment on column :schema.item_namespaces.path is 'Each label in UTF-8, and a NUL after it. Null: of a deleted workspace.';
comment on column :schema.workspaces.name is 'In UTF-8. Null: deleted.';
comment on column :schema.workspaces.version is 'Of the newest entry of the log.';
comment on column :schema.workspaces.trimmed is 'Up to this version the log only has what items were at this version.';
comment on column :schema.workspaces.changed_at is 'When the last commit was made.';
comment on column :schema.workspaces.repeats is 'The newest commits that were made by a repeated call.';
comment on column :schema.workspace_log.kind is 'p put, d delete, m message.';
comment on column :schema.workspace_log.ns is 'Number of the namespace.';
comment on column :schema.workspace_log.commit_id is 'The commit that made the change.';
comment on column :schema.workspace_log.created_at is 'When the item was created.';
comment on column :schema.workspace_log.note is 'Who made the change and why; docs/format.md.';
comment on column :schema.workspace_log.value is 'The encoded value; docs/format.md. Null: the item was deleted.';
comment on function :schema.next_version_1 is 'The next version of an item.';
comment on function :schema.commit_workspace_1 is 'Makes commits of a workspace.';
comment on function :schema.trim_workspace_1 is 'Removes old entries of a workspace''s log.';
comment on function :schema.delete_workspace_1 is 'Deletes a workspace.';
comment on function :schema.purge_workspaces_1 is 'Removes what deleted workspaces had.';
comment on function :schema.sweep_items_2 is 'Removes items whose time to live has passed.';
comment on function :schema.refresh_items_1 is 'Reads items of stores, and lets them stay longer.';
comment on function :schema.sweep_namespaces_1 is 'Removes namespaces without items.';
