export { columns, shown, table } from "./render/columns.ts";
export { bytesText, timeText } from "./render/units.ts";
export type { DifferingText } from "./read/differing.ts";
export type { RunnableGraph, StateLike, TaskSnapshot } from "./run/runnableGraph.ts";
export { resolvePoint, resolveThread, type AddressInput, type ResolvedPoint } from "./table/address.ts";
export type { Context, Progress } from "./table/context.ts";
export type { RunEvent } from "./table/events.ts";
export { operation, type Effect, type Group, type Operation } from "./table/operation.ts";
export { operations, type InputOf, type OperationName, type OutputOf } from "./table/operations.ts";
export { checkedInput, InvalidInputError, runOperation } from "./table/runOperation.ts";
export { staysDry } from "./table/staysDry.ts";
export { cut, isCut, type CutRecord } from "./values/cut.ts";
export { edited } from "./values/edit.ts";
export { ParsedValues } from "./values/parsedValues.ts";
export { formatPath, parsePath, type Path, type Segment, type Slice } from "./values/path.ts";
export { isRedacted, Redaction, redactedRecord } from "./values/redaction.ts";
export { replaced, resolve, type Found } from "./values/resolve.ts";
export { State, type ChannelState } from "./values/state.ts";
export { inlineText, valueLines } from "./values/text.ts";
export {
  jsonOf,
  shownValue,
  valueView,
  viewOf,
  type ParsedValue,
  type Shown,
  type ValueView,
} from "./values/view.ts";
export type { RepairOutcome, RepairResult } from "./verify/repairOutcome.ts";
export type { Finding, Report } from "./verify/report.ts";
