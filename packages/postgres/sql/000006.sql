-- A shorter way for the appends of one thread. Since 000007 append_2 is there for processes of older versions alone.

-- append_1 for requests of one thread, each a round of its own, as a run's pending writes and the checkpoint made of them are.
-- Row by row, which takes half the time of sets where there is but one thread. What is out of the ordinary (another head, a thread
-- that was deleted, pruned or evicted, long ids, several heads) is left to append_1.
create function :schema.append_2(
  p_rounds integer[], p_seen bigint[], p_flags integer[],
  p_records integer[], p_tags text[], p_places integer[], p_blobs integer[], p_writes integer[], p_long_ids integer[],
  p_heads integer[], p_head_at integer[], p_expected integer[], p_starts integer[], p_lengths integer[], p_data bytea
)
returns table (status text, revision bigint, head bytea, moved boolean)
language plpgsql set plan_cache_mode = force_generic_plan set lock_timeout = '4s' as $$
declare
  x bytea[] := array(select case when l >= 0 then substring(p_data from s for l) end from unnest(p_starts, p_lengths) as u (s, l));
  n integer := cardinality(p_seen);
  r integer := 2 * n;
  b integer := r + 7 * cardinality(p_records);
  w integer := b + 3 * cardinality(p_blobs);
  h integer := p_head_at[1];
  v_thread bigint;
  v_revision bigint;
  v_head bytea;
  v_plain boolean := cardinality(p_rounds) = n and cardinality(p_records) <= 1 and cardinality(p_heads) <= 1 and cardinality(p_long_ids) = 0;
begin
  if v_plain then
    select t.thread, t.revision,
           not t.evicted and (t.live or t.deleted_at = 0) and (t.deleted_at <= all (p_seen)) is not false
             and (t.removed_at = 0 or (t.removed_at <= all (p_seen)) is true)
      into v_thread, v_revision, v_plain
      from :schema.threads t where t.key = x[1] for no key update;
    if not found then
      insert into :schema.threads as t (key, long_id, revision, live, written_at)
      values (x[1], x[2], n, h is not null, date_trunc('minute', now()))
      on conflict do nothing returning t.thread, 0 into v_thread, v_revision;
      v_plain := found;
    elsif v_plain then
      -- A statement of its own: one that waited for the lock would see the head from before.
      select e.id into v_head from :schema.heads e where e.thread = v_thread and e.ns = x[h + 1];
      v_plain := v_head is null or p_expected[1] < 0 or v_head = x[h + 2] or v_head = any (x[h + 3 : h + 2 + p_expected[1]]);
      if v_plain then
        update :schema.threads t
           set revision = t.revision + n, live = t.live or h is not null, written_at = date_trunc('minute', now())
         where t.thread = v_thread;
      end if;
    end if;
  end if;
  if v_plain is not true then
    -- Nothing was written yet.
    return query select * from :schema.append_1(
      p_rounds, p_seen, p_flags, p_records, p_tags, p_places, p_blobs, p_writes, p_long_ids, p_heads, p_head_at, p_expected,
      p_starts, p_lengths, p_data
    );
    return;
  end if;

  for i in 1 .. cardinality(p_blobs) loop
    insert into :schema.blobs (thread, hash, base, bytes) values (v_thread, x[b + 1], x[b + 2], x[b + 3]) on conflict do nothing;
    b := b + 3;
  end loop;
  if cardinality(p_records) = 1 then
    insert into :schema.checkpoints as c (thread, id, ns, parent, lost_to, run, tags, blobs, body)
    values (v_thread, x[r + 1], x[r + 2], x[r + 3], x[r + 4], x[r + 5], p_tags[1]::integer[], x[r + 6], x[r + 7])
    on conflict (thread, id, ns) do update
      set parent = excluded.parent, lost_to = excluded.lost_to, run = excluded.run, tags = excluded.tags, blobs = excluded.blobs,
          body = excluded.body;
  end if;
  for i in 1 .. cardinality(p_writes) loop
    insert into :schema.writes (thread, id, ns, seq, part, task, blobs, body)
    values (v_thread, x[w + 1], x[w + 2], v_revision + p_writes[i], i, x[w + 3], x[w + 4], x[w + 5]);
    w := w + 5;
  end loop;
  if v_head is null and h is not null then
    insert into :schema.heads (thread, ns, id) values (v_thread, x[h + 1], x[h + 2]);
  elsif v_head <> x[h + 2] then
    update :schema.heads e set id = x[h + 2] where e.thread = v_thread and e.ns = x[h + 1];
  end if;

  status := 'ok';
  for g in 1 .. n loop
    revision := v_revision + g;
    moved := case when g = p_heads[1] then true end;
    return next;
  end loop;
end
$$;

comment on function :schema.append_2 is 'Records, blobs, pending writes and a head move of one thread: put, putWrites.';
