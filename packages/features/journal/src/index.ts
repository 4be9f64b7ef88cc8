export { createJournal, type Journal } from "./journal.ts";
export type { PlainCall, PlainCallContext } from "./callFront.ts";
export { currentCall, type CurrentCall } from "./calls/currentCall.ts";
export { AmbiguousOutcomeError, CallDeniedError } from "./errors.ts";
export type { Digest } from "./identity/fingerprint.ts";
export type {
  AmbiguousAnswer,
  AmbiguousQuestion,
  ApprovalAnswer,
  ApprovalQuestion,
  Question,
} from "./calls/questions.ts";
export type { Effects, Entry, JournalEvent, KeptError, Where } from "./log/entry.ts";
export type { SignOptions } from "./log/sealing.ts";
export type {
  CallOptions,
  JournalOptions,
  Policy,
  PolicyAnswer,
  PolicyCall,
  Reconciled,
  ToolOptions,
  UnknownCall,
} from "./options.ts";
export type { ChainState } from "./langgraph/chain.ts";
export type { ChainChannel } from "./langgraph/chainChannel.ts";
export type { CheckpointConfig, Moment } from "./trail/at.ts";
export type { SeenCall, SeenMessage } from "./trail/findMessage.ts";
export type { Decision, ExplainedCall, Provenance } from "./trail/why.ts";
export type { VerifyOptions } from "./trail/checkArguments.ts";
export type { Cut, CutOptions } from "./trail/cut.ts";
export type { Erased, EraseOptions } from "./trail/erase.ts";
export type { TrailTarget } from "./trail/exportTrail.ts";
export type { ForgetOptions, ResolveOptions, UnresolvedCall } from "./trail/operator.ts";
export type { RecordedCall } from "./trail/recordedCalls.ts";
export type { TrailEntry, TrailOptions } from "./trail/trail.ts";
export type { Verification } from "./trail/trailCheck.ts";
export { verifyTrail, type VerifyTrailOptions } from "./trail/verifyTrail.ts";
export { readTrail, type ReadTrailOptions, type TrailFile } from "./trail/readTrail.ts";
export type { TrailHead, TrailHeader } from "./trail/line.ts";
export type { TrailSource } from "./trail/lines.ts";
export { replayTrail, type ReplayTrailOptions } from "./replay/replayTrail.ts";
export { ReplayDivergedError, type Replay, type ReplayedCall, type ReplayOptions } from "./replay/replay.ts";
export type { Judgement } from "./replay/judge.ts";
export type { ComparedCall, ComparedRow, RunComparison, RunTotals } from "./replay/compareRuns.ts";
export {
  transaction,
  transactions,
  type Transaction,
  type TransactionOptions,
  type TransactionResult,
} from "./transaction/transaction.ts";
export type {
  Committed,
  MergeOnConflict,
  OpenTransaction,
  Savepoint,
} from "./transaction/openTransaction.ts";
export { RolledBackError, TransactionConflictError } from "./transaction/errors.ts";
export type { KeptCall, RollbackReport, TransactionCall } from "./transaction/report.ts";
export type { TransactionStatus } from "./transaction/transactionRecord.ts";
export { batch, type BatchItemContext, type BatchOptions } from "./batch/batch.ts";
export type { BatchProgress, BatchResult, UndoneItem } from "./batch/tally.ts";
export { events } from "./events/events.ts";
export { type EventStore, VersionConflictError } from "./events/eventStore.ts";
export type { AppendedEvent, EventsOptions, Projection } from "./events/projection.ts";
export type { StoredEvent } from "./events/eventRecords.ts";
