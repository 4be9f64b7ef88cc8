// Generated from the .sql and .lua files of this package by `pnpm embed`. Do not edit.

/** By file name, or by the names inside a file. */
export const sql = {
  "pgBegin": `begin isolation level repeatable read read only`,
  "pgEnd": `commit`,
  "pgPlan": `select (select count(*) from (select 1 from :schema.checkpoints group by thread_id) each_thread)::text as threads,
       (select count(*) from :schema.checkpoints)::text as checkpoints,
       (select sum(pg_total_relation_size(name::regclass)) from unnest($1::text[]) as name)::text as bytes`,
  "pgThreads": `select thread_id from :schema.checkpoints where $1::text is null or thread_id > $1 group by thread_id order by thread_id limit $2`,
  "pgOutline": `select checkpoint_ns, checkpoint_id, parent_checkpoint_id from :schema.checkpoints
 where thread_id = $1 and ($2::text is null or (checkpoint_ns, checkpoint_id) > ($2, $3))
 order by checkpoint_ns, checkpoint_id limit $4`,
  "pgVersions": `select checkpoint_id, checkpoint -> 'channel_versions' as versions, metadata ->> 'source' as source from :schema.checkpoints
 where thread_id = $1 and checkpoint_ns = $2 and checkpoint_id = any($3::text[])`,
  "pgCheckpoints": `select checkpoint_id, checkpoint::text as checkpoint, metadata::text as metadata from :schema.checkpoints
 where thread_id = $1 and checkpoint_ns = $2 and checkpoint_id = any($3::text[])`,
  "pgValues": `select channel, version, type, blob from :schema.checkpoint_blobs
 where thread_id = $1 and checkpoint_ns = $2 and (channel, version) in (select * from unnest($3::text[], $4::text[]))`,
  "pgWrites": `select checkpoint_id, task_id, idx, channel, type, blob from :schema.checkpoint_writes
 where thread_id = $1 and checkpoint_ns = $2 and checkpoint_id = any($3::text[]) order by checkpoint_id, task_id, idx`,
  "liteBegin": `begin`,
  "liteEnd": `commit`,
  "litePlan": `select (select count(distinct thread_id) from checkpoints) as threads,
       (select count(*) from checkpoints) as checkpoints,
       (select page_count from pragma_page_count()) * (select page_size from pragma_page_size()) as bytes`,
  "liteThreads": `select thread_id from checkpoints where ? is null or thread_id > ? group by thread_id order by thread_id limit ?`,
  "liteOutline": `select checkpoint_ns, checkpoint_id, parent_checkpoint_id from checkpoints where thread_id = ? order by checkpoint_ns, checkpoint_id`,
  "liteCheckpoint": `select type, checkpoint, metadata from checkpoints where thread_id = ? and checkpoint_ns = ? and checkpoint_id = ?`,
  "liteWrites": `select task_id, idx, channel, type, value from writes
 where thread_id = ? and checkpoint_ns = ? and checkpoint_id = ? order by task_id, idx`,
} as const;
