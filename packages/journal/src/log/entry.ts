// long file: the format of entries, which is read as one piece
import type { Digest } from "../identity/fingerprint.ts";

/** What may be known, and done, about a repetition of a call. */
export type Effects =
  /** It changes nothing outside: it may run again. */
  | "none"
  /** It takes an idempotency key: it may be repeated with the same key. */
  | "idempotent"
  /** It must not act twice. */
  | "once";

/** Where in a graph a call was made. What isn't known is absent. */
export interface Where {
  /** The thread whose run made the call, where it isn't the journal's own. */
  readonly thread?: string | undefined;
  /** The checkpoint of the root graph from which the step with the call began. */
  readonly checkpoint?: string | undefined;
  /** The namespace of the task's subgraph, and the checkpoint in it from which the step began; absent in the root graph. */
  readonly namespace?: string | undefined;
  readonly issuer?: string | undefined;
  /** The checkpoints of the graphs between the root graph and the subgraph, from which their steps began; absent where there are none. */
  readonly via?: readonly string[] | undefined;
  readonly task?: string | undefined;
  readonly node?: string | undefined;
  /** Which of its step's `Send`s the task is, from 0 on; absent for other tasks. */
  readonly send?: number | undefined;
  readonly step?: number | undefined;
  readonly run?: string | undefined;
  readonly toolCallId?: string | undefined;
}

/** An error as an entry keeps it. */
export interface KeptError {
  readonly name: string;
  readonly message: string;
}

/** Name of the key by which the calls of a journal are known; null where fingerprints are stored as they are. */
export type KnownBy = string | null;

/** A process that makes calls, so that others can tell whether it is still alive. */
export interface SessionEvent {
  readonly type: "session";
  /** Which machine, container and boot; equal for two processes that see each other's ids. */
  readonly machine: string;
  readonly pid: number;
  /** The thread in which it makes them. What stands before it under another name was made in a thread that was forked, or merged. */
  readonly thread: string;
  /** The key by which the journal's calls are known, as long as it lives: that of its first entry. Absent where fingerprints are as they are. */
  readonly knownBy?: string | undefined;
}

/** What a claim, a read and a denial tell of a call. */
export interface Call {
  readonly call: Digest;
  readonly tool: string;
  readonly version?: string | undefined;
  readonly effects: Effects;
  /** The head of the chain before it; of a call that code named, what its name makes of it. */
  readonly previous: string;
  /** How many equal calls stand before it; of a call that code named, how many of that name its branch had passed. */
  readonly nth: number;
  /** Whether code named it. The name isn't kept: it may tell what is to be erased later. */
  readonly named?: true | undefined;
  /** How many calls of that name other tasks of its step had made before; absent for none. */
  readonly beside?: number | undefined;
  /** Hash of the canonical arguments; keyed, where the journal signs. The arguments stand beside the entry and can be erased. */
  readonly argsHash: string;
  readonly where: Where;
}

/** The right to run a call, taken before it runs. */
export interface ClaimedEvent extends Call {
  readonly type: "claimed";
  /** 1 for the first one. */
  readonly attempt: number;
  /** What the tool passes on to a service that takes idempotency keys. The same in all attempts. */
  readonly key: string;
  /** Fingerprint of the call whose key that is, where it is a repetition of one whose outcome wasn't known. */
  readonly of?: Digest | undefined;
}

/** A call ended well. */
export interface SucceededEvent {
  readonly type: "succeeded";
  readonly call: Digest;
  /** Number of the claim's entry; absent for a call that needs no claim. */
  readonly claim?: number | undefined;
  /** Hash of the serialised result. */
  readonly resultHash: string;
  /** Whether the result stands beside the entry. */
  readonly kept: boolean;
  /** How long the call took, in milliseconds. */
  readonly ms: number;
  readonly interrupts?: Interrupts | undefined;
}

/** The tool's own interrupts that were answered, which a task that is repeated has to pass over where the tool doesn't run again. */
export interface Interrupts {
  readonly task: string;
  readonly times: number;
}

/** A call without a claim, as it may run again, with its outcome. */
export interface ReadEvent extends Call {
  readonly type: "read";
  readonly ms: number;
  /** Absent where it failed. */
  readonly resultHash?: string | undefined;
  readonly kept: boolean;
  readonly error?: KeptError | undefined;
  readonly interrupts?: Interrupts | undefined;
}

/** A call failed, and certainly changed nothing. */
export interface FailedEvent {
  readonly type: "failed";
  readonly call: Digest;
  readonly claim: number;
  readonly error: KeptError;
  /** Where the tool itself gave a message that tells of the failure. */
  readonly resultHash?: string | undefined;
  readonly kept: boolean;
}

/** Nobody knows whether the call acted. */
export interface UnknownEvent {
  readonly type: "unknown";
  readonly call: Digest;
  readonly claim: number;
  readonly reason: "error" | "aborted" | "died";
  readonly error?: KeptError | undefined;
}

/** The tool interrupted the graph. When it is resumed it runs again from its beginning, whatever it had done by then. */
export interface SuspendedEvent {
  readonly type: "suspended";
  readonly call: Digest;
  readonly claim: number;
}

/** The policy, or a person whom it asked, refused the call. */
export interface DeniedEvent extends Call {
  readonly type: "denied";
  readonly by: "policy" | "person";
  readonly reason: string;
}

/** A person whom the policy asked allowed the call. */
export interface ApprovedEvent extends Call {
  readonly type: "approved";
  /** Why the policy asked. */
  readonly reason: string;
  /** What the person said along with the answer: its `reason`, such as a name. */
  readonly said?: string | undefined;
  /** The thread in which it was allowed: in a fork it is asked again. */
  readonly thread?: string | undefined;
  /** Until when it counts, in ISO 8601; absent for always. */
  readonly until?: string | undefined;
}

/**
 * A call equals one whose outcome isn't known, so it is taken for a repetition of that one: models try again when they are told of an
 * error. What is found out about the first one holds for this one too.
 */
export interface RepeatsEvent extends Call {
  readonly type: "repeats";
  /** Fingerprint of the first one. */
  readonly of: Digest;
}

/** Somebody found out whether a call happened whose outcome was unknown. */
export interface ResolvedEvent {
  readonly type: "resolved";
  readonly call: Digest;
  readonly claim: number;
  readonly by: "reconcile" | "person" | "operator";
  readonly happened: boolean;
  readonly resultHash?: string | undefined;
  readonly kept: boolean;
}

/** A call ended whose claim somebody else had taken over meanwhile. */
export interface LateEvent {
  readonly type: "late";
  readonly call: Digest;
  readonly claim: number;
  readonly outcome: "succeeded" | "failed";
  readonly resultHash?: string | undefined;
  readonly kept: boolean;
  readonly error?: KeptError | undefined;
}

/**
 * A recorded result was given to another call. Written along with the next entry, so the last ones may be missing; but before it is given
 * where the call is found in another step than the one in which it was made.
 */
export interface ReturnedEvent {
  readonly type: "returned";
  readonly call: Digest;
  readonly where: Where;
  /** No other task of the step is given it. Absent of calls that code named, where that is always so. */
  readonly taken?: true | undefined;
}

/** Somebody allowed a call to run again as if it had never been made. */
export interface ForgottenEvent {
  readonly type: "forgotten";
  readonly call: Digest;
  readonly reason: string;
}

/** A transaction, a batch or an application notes something. */
export interface NoteEvent {
  readonly type: "note";
  readonly about: string;
  readonly text: string;
}

/** Arguments and results of entries were erased. It is written before they are, so that whoever finds them gone knows why. */
export interface ErasedEvent {
  readonly type: "erased";
  /** Number of the last entry of which they were erased. */
  readonly upTo: number;
  /** Fingerprint of the one call of which they were erased; absent for all calls. */
  readonly of?: Digest | undefined;
  /** Only of entries that were made before this time, in ISO 8601; absent for all. */
  readonly before?: string | undefined;
}

/** What had happened in entries that were cut off, so that their calls aren't run again. */
export interface CutEvent {
  readonly type: "cut";
  /** Number and hash of the last entry that was cut off. */
  readonly last: number;
  readonly lastHash: string;
  /** Hash of the canonical states of all calls, which stand beside the entry. */
  readonly callsHash: string;
  /** The thread in which they were cut off. */
  readonly thread: string;
  /** As in {@link SessionEvent}. */
  readonly knownBy?: string | undefined;
}

/**
 * What the entries so far come to is stored beside this one, so that a process that opens the journal need not read all of them. It
 * may be missing: then they are read.
 */
export interface FoldedEvent {
  readonly type: "folded";
  /** How many of these were put together into it, as a power. */
  readonly level: number;
  /** The ones that it builds on, with the names of their records, oldest first: it tells of calls that changed since the last of them. */
  readonly layers: readonly {
    readonly seq: number;
    readonly record: string;
    readonly hash: string;
    readonly level: number;
  }[];
  /** Hash of what stands beside the entry. */
  readonly foldHash: string;
  /** Whether the entry is signed, and some before it aren't. */
  readonly unsigned?: true | undefined;
  /** The thread in which the last entries were made. */
  readonly thread: string;
  /** As in {@link SessionEvent}. */
  readonly knownBy?: string | undefined;
}

/** What happened. */
export type JournalEvent =
  | SessionEvent
  | ClaimedEvent
  | SucceededEvent
  | ReadEvent
  | FailedEvent
  | UnknownEvent
  | SuspendedEvent
  | DeniedEvent
  | ApprovedEvent
  | ResolvedEvent
  | RepeatsEvent
  | LateEvent
  | ReturnedEvent
  | ForgottenEvent
  | NoteEvent
  | ErasedEvent
  | FoldedEvent
  | CutEvent;

/** What every entry says beside its event. */
export interface EntryHeader {
  /** Version of the format. */
  readonly v: 1;
  /** 1 for the first one. */
  readonly seq: number;
  /** When it was made, by the clock of the process that made it, in ISO 8601. */
  readonly at: string;
  /** The process that made it. */
  readonly session: string;
  /** Who made it, as the application names them. */
  readonly author?: string | undefined;
  /** Hash of the entry before; `""` for the first one. */
  readonly prev: string;
  /** Which key the hash is made with; absent for plain SHA-256. */
  readonly keyId?: string | undefined;
}

/** One line of the journal, chained to the one before by its hash. */
export type Entry = EntryHeader & { readonly event: JournalEvent; readonly hash: string };

/** The values beside an entry. They aren't part of its hash, only their own hashes are, so that they can be erased. */
export interface Payload {
  /** Canonical JSON of the arguments. */
  readonly args?: string | undefined;
  /** As {@link KeptResult}. */
  readonly result?: unknown;
  /** What was cut off, for {@link CutEvent}. */
  readonly calls?: unknown;
  /** What the entries come to, for {@link FoldedEvent}. */
  readonly fold?: Uint8Array | undefined;
}
