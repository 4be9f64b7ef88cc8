-- What is read of the official PostgresSaver's tables, always in pages. Every statement of one thread runs in one transaction, which
-- is READ ONLY and sees one snapshot (REPEATABLE READ), so that a process that goes on writing doesn't tear a thread apart.

-- name: pgBegin
begin isolation level repeatable read read only

-- name: pgEnd
commit

-- name: pgPlan
-- Sizes are those of the tables with their indexes: nothing has to be read for them.
select (select count(*) from (select 1 from :schema.checkpoints group by thread_id) each_thread)::text as threads,
       (select count(*) from :schema.checkpoints)::text as checkpoints,
       (select sum(pg_total_relation_size(name::regclass)) from unnest($1::text[]) as name)::text as bytes

-- name: pgThreads
select thread_id from :schema.checkpoints where $1::text is null or thread_id > $1 group by thread_id order by thread_id limit $2

-- name: pgOutline
-- In the database's own order, by which the official saver finds the newest checkpoint.
select checkpoint_ns, checkpoint_id, parent_checkpoint_id from :schema.checkpoints
 where thread_id = $1 and ($2::text is null or (checkpoint_ns, checkpoint_id) > ($2, $3))
 order by checkpoint_ns, checkpoint_id limit $4

-- name: pgVersions
select checkpoint_id, checkpoint -> 'channel_versions' as versions, metadata ->> 'source' as source from :schema.checkpoints
 where thread_id = $1 and checkpoint_ns = $2 and checkpoint_id = any($3::text[])

-- name: pgCheckpoints
select checkpoint_id, checkpoint::text as checkpoint, metadata::text as metadata from :schema.checkpoints
 where thread_id = $1 and checkpoint_ns = $2 and checkpoint_id = any($3::text[])

-- name: pgValues
select channel, version, type, blob from :schema.checkpoint_blobs
 where thread_id = $1 and checkpoint_ns = $2 and (channel, version) in (select * from unnest($3::text[], $4::text[]))

-- name: pgWrites
select checkpoint_id, task_id, idx, channel, type, blob from :schema.checkpoint_writes
 where thread_id = $1 and checkpoint_ns = $2 and checkpoint_id = any($3::text[]) order by checkpoint_id, task_id, idx
