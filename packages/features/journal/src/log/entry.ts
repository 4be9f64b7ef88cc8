// long file: the format of entries, which is read as one piece
import type { Digest } from "../identity/fingerprint.ts";

/** Whether a call may be repeated. */
export type Effects =
  /** It changes nothing outside: it may run again. */
  | "none"
  /** It takes an idempotency key: it may be repeated with the same key. */
  | "idempotent"
  /** It must not act twice. */
  | "once";

/** Where in a graph a call was made. Unknown fields are absent. */
export interface Where {
  /** The thread whose run made the call, if it isn't the journal's own thread. */
  readonly thread?: string | undefined;
  /** The checkpoint of the root graph from which the step with the call began. */
  readonly checkpoint?: string | undefined;
  /** The namespace of the task's subgraph, and the checkpoint in it from which the step began; absent in the root graph. */
  readonly namespace?: string | undefined;
  readonly issuer?: string | undefined;
  /** The checkpoints of the graphs between the root graph and the subgraph, from which their steps began; absent if there are none. */
  readonly via?: readonly string[] | undefined;
  readonly task?: string | undefined;
  readonly node?: string | undefined;
  /** Which of its step's `Send`s the task is, from 0 on; absent for other tasks. */
  readonly send?: number | undefined;
  readonly step?: number | undefined;
  readonly run?: string | undefined;
  readonly toolCallId?: string | undefined;
}

/** An error in the form in which entries store it. */
export interface KeptError {
  readonly name: string;
  readonly message: string;
}

/** Name of the key with which a journal's fingerprints are hashed; null if they are stored without a key. */
export type KnownBy = string | null;

/** A process that makes calls, so that others can tell whether it is still alive. */
export interface SessionEvent {
  readonly type: "session";
  /** Identifies machine, container and boot; equal for two processes that see each other's ids. */
  readonly machine: string;
  readonly pid: number;
  /** The thread in which it makes the calls. Entries before it under another name were made in a thread that was forked, or merged. */
  readonly thread: string;
  /** The key with which fingerprints are hashed: that of the journal's first entry, for its whole life. Absent if there is none. */
  readonly knownBy?: string | undefined;
}

/** The description of a call in claims, reads and denials. */
export interface Call {
  readonly call: Digest;
  readonly tool: string;
  readonly version?: string | undefined;
  readonly effects: Effects;
  /** The head of the chain before it; for a call that code named, the digest of its name. */
  readonly previous: string;
  /** How many equal calls precede it; for a call that code named, how many calls of that name its branch had passed. */
  readonly nth: number;
  /** Whether code named it. The name isn't kept: it may contain data that is to be erased later. */
  readonly named?: true | undefined;
  /** How many calls of that name other tasks of its step had made before; absent for none. */
  readonly beside?: number | undefined;
  /** Hash of the canonical arguments, keyed if the journal signs. The arguments are in the entry's payload and can be erased. */
  readonly argsHash: string;
  readonly where: Where;
}

/** The right to run a call, taken before it runs. */
export interface ClaimedEvent extends Call {
  readonly type: "claimed";
  /** 1 for the first one. */
  readonly attempt: number;
  /** The idempotency key, which the tool passes on to a service that takes one. The same in all attempts. */
  readonly key: string;
  /** Fingerprint of the call to which the key belongs, if this call repeats one whose outcome wasn't known. */
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
  /** Whether the result is in the entry's payload. */
  readonly kept: boolean;
  /** Why it isn't; absent if it is. */
  readonly notKept?: string | undefined;
  /** How long the call took, in milliseconds. */
  readonly ms: number;
  readonly interrupts?: Interrupts | undefined;
}

/** The tool's own interrupts that were answered. A repeated task has to skip them if the tool doesn't run again. */
export interface Interrupts {
  readonly task: string;
  readonly times: number;
}

/** A call with its outcome. It has no claim, because it may run again. */
export interface ReadEvent extends Call {
  readonly type: "read";
  readonly ms: number;
  /** Absent if it failed. */
  readonly resultHash?: string | undefined;
  readonly kept: boolean;
  readonly notKept?: string | undefined;
  readonly error?: KeptError | undefined;
  readonly interrupts?: Interrupts | undefined;
}

/** A call failed, and certainly changed nothing. */
export interface FailedEvent {
  readonly type: "failed";
  readonly call: Digest;
  readonly claim: number;
  readonly error: KeptError;
  /** Present if the tool itself returned a message that reports the failure. */
  readonly resultHash?: string | undefined;
  readonly kept: boolean;
  readonly notKept?: string | undefined;
}

/** Nobody knows whether the call acted. */
export interface UnknownEvent {
  readonly type: "unknown";
  readonly call: Digest;
  readonly claim: number;
  /** "not kept": it is known that it acted. Its result was asked for, and isn't kept. */
  readonly reason: "error" | "aborted" | "died" | "not kept";
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
  /** The `reason` that the person gave along with the answer, such as a name. */
  readonly said?: string | undefined;
  /** The thread in which it was allowed. In a fork, the person is asked again. */
  readonly thread?: string | undefined;
  /** When the approval expires, in ISO 8601; absent for never. */
  readonly until?: string | undefined;
}

/**
 * A call equals one whose outcome isn't known, so it counts as a repetition of that one: models try again when they see an error. What is
 * found out about the first call holds for this one too.
 */
export interface RepeatsEvent extends Call {
  readonly type: "repeats";
  /** Fingerprint of the first one. */
  readonly of: Digest;
}

/** Somebody found out whether a call with an unknown outcome happened. */
export interface ResolvedEvent {
  readonly type: "resolved";
  readonly call: Digest;
  readonly claim: number;
  readonly by: "reconcile" | "person" | "operator";
  readonly happened: boolean;
  readonly resultHash?: string | undefined;
  readonly kept: boolean;
  readonly notKept?: string | undefined;
}

/** A call ended, but somebody else had taken over its claim meanwhile. */
export interface LateEvent {
  readonly type: "late";
  readonly call: Digest;
  readonly claim: number;
  readonly outcome: "succeeded" | "failed";
  readonly resultHash?: string | undefined;
  readonly kept: boolean;
  readonly notKept?: string | undefined;
  readonly error?: KeptError | undefined;
}

/**
 * A recorded result was given to another call. Written along with the next entry, so the last ones may be missing. If the call is found in
 * another step than the one in which it was made, this is written before the result is given.
 */
export interface ReturnedEvent {
  readonly type: "returned";
  readonly call: Digest;
  readonly where: Where;
  /** No other task of the step gets the result. Absent for calls that code named, as that always holds for them. */
  readonly taken?: true | undefined;
}

/** Somebody allowed a call to run again as if it had never been made. */
export interface ForgottenEvent {
  readonly type: "forgotten";
  readonly call: Digest;
  readonly reason: string;
}

/** A note by a transaction, a batch or an application. */
export interface NoteEvent {
  readonly type: "note";
  readonly about: string;
  readonly text: string;
}

/** Arguments and results of entries were erased. Written before the erasure, so that a reader who finds them gone knows why. */
export interface ErasedEvent {
  readonly type: "erased";
  /** Number of the last entry whose arguments and result were erased. */
  readonly upTo: number;
  /** Fingerprint of the only call whose arguments and results were erased; absent for all calls. */
  readonly of?: Digest | undefined;
  /** Only entries that were made before this time, in ISO 8601; absent for all. */
  readonly before?: string | undefined;
}

/** Entries were cut off. Keeps the states of their calls, so that these aren't run again. */
export interface CutEvent {
  readonly type: "cut";
  /** Number and hash of the last entry that was cut off. */
  readonly last: number;
  readonly lastHash: string;
  /** Hash of the canonical states of all calls, which are in the entry's payload. */
  readonly callsHash: string;
  /** The thread in which they were cut off. */
  readonly thread: string;
  /** As in {@link SessionEvent}. */
  readonly knownBy?: string | undefined;
}

/**
 * The state after all entries so far is in this entry's payload, so that a process that opens the journal needn't read all of them. If it
 * is missing, they are read.
 */
export interface FoldedEvent {
  readonly type: "folded";
  /** Its level: several folds of one level are merged into one of the next. */
  readonly level: number;
  /** The folds that it builds on, with the names of their records, oldest first. It holds the calls that changed since the last of them. */
  readonly layers: readonly {
    readonly seq: number;
    readonly record: string;
    readonly hash: string;
    readonly level: number;
  }[];
  /** Hash of the fold in the entry's payload. */
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

/** The fields of every entry besides its event. */
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
  /** Hash of the previous entry; `""` for the first one. */
  readonly prev: string;
  /** Which key the hash is made with; absent for plain SHA-256. */
  readonly keyId?: string | undefined;
}

/** One line of the journal, chained to the one before by its hash. */
export type Entry = EntryHeader & { readonly event: JournalEvent; readonly hash: string };

/** The values stored with an entry. The entry's hash covers only their hashes, so that they can be erased. */
export interface Payload {
  /** Canonical JSON of the arguments. */
  readonly args?: string | undefined;
  /** As {@link KeptResult}. */
  readonly result?: unknown;
  /** The states of the calls that were cut off, for {@link CutEvent}. */
  readonly calls?: unknown;
  /** The state after the entries so far, for {@link FoldedEvent}. */
  readonly fold?: Uint8Array | undefined;
}
