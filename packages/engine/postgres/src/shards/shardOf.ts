/** MurmurHash3's last step: every bit of the number depends on all of them. */
function mixed(number: number): number {
  let mix = number ^ (number >>> 16);
  mix = Math.imul(mix, 0x85ebca6b);
  mix ^= mix >>> 13;
  mix = Math.imul(mix, 0xc2b2ae35);
  return (mix ^ (mix >>> 16)) >>> 0;
}

/** FNV-1a over the UTF-16 code units. */
function hashOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i += 1) {
    const unit = id.charCodeAt(i);
    hash = Math.imul(hash ^ (unit & 255), 0x01000193);
    hash = Math.imul(hash ^ (unit >>> 8), 0x01000193);
  }
  return hash;
}

/**
 * The number of the shard that has a thread, from 0. Rendezvous hashing: if a shard is added, only the threads of the new shard move.
 * Stored threads are found by this function, so it must never change.
 */
export function shardOf(threadId: string, shards: number): number {
  const hash = hashOf(threadId);
  let [found, highest] = [0, -1];
  for (let shard = 0; shard < shards; shard += 1) {
    const score = mixed(hash ^ mixed(shard + 1));
    if (score > highest) [found, highest] = [shard, score];
  }
  return found;
}
