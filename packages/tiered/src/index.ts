export { BoundedMemoryTier, memory, type BoundedMemoryOptions } from "./boundedMemoryTier.ts";
export type { HotCounters } from "./hotTier.ts";
export type { MaintenanceReport, MaintenanceStep } from "./maintenance.ts";
export type { MaintainOptions, MaintenanceOptions, StartMaintenanceOptions } from "./maintenanceOptions.ts";
export type { BreakerOptions, Consistency, QueueOptions, RestoreOn, TierStackOptions } from "./options.ts";
export { TieredSaver, type TieredSaverOptions } from "./tieredSaver.ts";
export { TierStack } from "./tierStack.ts";
