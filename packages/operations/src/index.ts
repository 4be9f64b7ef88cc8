export { columns, shown } from "./render/columns.ts";
export { bytesText, timeText } from "./render/units.ts";
export { resolvePoint, resolveThread, type AddressInput, type ResolvedPoint } from "./table/address.ts";
export type { Context, Progress } from "./table/context.ts";
export { operation, type Effect, type Group, type Operation } from "./table/operation.ts";
export { operations } from "./table/operations.ts";
export { InvalidInputError, runOperation } from "./table/runOperation.ts";
export type { RepairOutcome, RepairResult } from "./verify/repairOutcome.ts";
export type { Finding, Report } from "./verify/report.ts";
