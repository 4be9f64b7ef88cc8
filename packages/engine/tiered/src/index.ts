export { BoundedMemoryTier, boundedMemory, type BoundedMemoryOptions } from "./boundedMemoryTier.ts";
export type { HotCounters } from "./hotTier.ts";
export type { ArchivingOptions } from "./archivingOptions.ts";
export type { BreakerOptions, Consistency, QueueOptions, RestoreOn, TierStackOptions } from "./options.ts";
export { TieredSaver, type TieredSaverOptions } from "./tieredSaver.ts";
export { TierStack } from "./tierStack.ts";
