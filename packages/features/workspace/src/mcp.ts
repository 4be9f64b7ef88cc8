export type { MemoryClient } from "./memory/remoteMemory.ts";
export type { MemoryConflict, MemoryFailure, SyncedMemory } from "./memory/syncedMemory.ts";
export { syncMemory, type CacheWorkspace, type SyncMemoryOptions } from "./memory/syncMemory.ts";
