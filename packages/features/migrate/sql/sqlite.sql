-- What is read of the official SqliteSaver's file. Values are taken as the bytes that they are: the official saver casts pending
-- writes to text, which breaks binary ones.

-- name: liteBegin
begin

-- name: liteEnd
commit

-- name: litePlan
select (select count(distinct thread_id) from checkpoints) as threads,
       (select count(*) from checkpoints) as checkpoints,
       (select page_count from pragma_page_count()) * (select page_size from pragma_page_size()) as bytes

-- name: liteThreads
select thread_id from checkpoints where ? is null or thread_id > ? group by thread_id order by thread_id limit ?

-- name: liteOutline
select checkpoint_ns, checkpoint_id, parent_checkpoint_id from checkpoints where thread_id = ? order by checkpoint_ns, checkpoint_id

-- name: liteCheckpoint
select type, checkpoint, metadata from checkpoints where thread_id = ? and checkpoint_ns = ? and checkpoint_id = ?

-- name: liteWrites
select task_id, idx, channel, type, value from writes
 where thread_id = ? and checkpoint_ns = ? and checkpoint_id = ? order by task_id, idx
