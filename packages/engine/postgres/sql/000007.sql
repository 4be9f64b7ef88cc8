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
returns table (place integer, key bytea, long_key bytea, version text, created_ms text, updated_ms text, value bytea) language plpgsql stable
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
begin
  return query
  select c.place::integer, i.key, i.long_key, i.version::text, (extract(epoch from i.created_at) * 1000)::text,
         (extract(epoch from i.updated_at) * 1000)::text, i.value
    from unnest(paths, keys) with ordinality as c (path, key, place)
    join :schema.item_namespaces n using (path)
    join :schema.items i on i.ns = n.ns and i.key = c.key
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
-- ranges of paths. test: a jsonpath that the fields must meet. Only those after a similarity and version.
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
                  from :schema.items i
                  join :schema.item_namespaces n using (ns)
                  left join :schema.item_vectors v
                    on v.ns = i.ns and v.key = i.key and v.version = i.version and cardinality(v.vector) = cardinality($4)
                 where exists (select from unnest($1, $2) as r (low, high)
                                where n.path >= r.low and n.path < r.high
                                  and not (n.path >= r.low || '\x00' and n.path < r.low || '\x01'))
                   and i.fields @@ $3
                   and (i.expires_at is null or i.expires_at > now())
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
