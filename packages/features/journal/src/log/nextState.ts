import type { CallState } from "./callState.ts";
import type { Call, Entry, JournalEvent, ReadEvent } from "./entry.ts";
import type { Digest } from "../identity/fingerprint.ts";
import { isSamePlace, visitOf } from "./visits.ts";

export type CallEvent = Extract<JournalEvent, { call: Digest }>;

/** The state of a call after an event; undefined if the event doesn't change it. */
export function nextState(
  before: CallState | undefined,
  event: CallEvent,
  { seq, session, at }: Entry,
): CallState | undefined {
  switch (event.type) {
    case "claimed": {
      const { of = before?.key === event.key ? before.repeats : undefined } = event;
      return {
        ...described(event),
        status: "claimed",
        attempts: event.attempt,
        key: event.key,
        claim: { seq, session, at },
        ...(of === undefined ? {} : { repeats: of }),
        ...approvedIn(before),
      };
    }
    case "read":
      return {
        ...described(event),
        status: event.error === undefined ? "succeeded" : "failed",
        attempts: (before?.attempts ?? 0) + 1,
        ...approvedIn(before),
        ...(event.error === undefined
          ? {
              result: resultIn(event, seq),
              interrupts: event.interrupts,
            }
          : { error: event.error }),
      };
    case "denied":
      return {
        ...described(event),
        status: "denied",
        deniedBy: event.by,
        attempts: before?.attempts ?? 0,
        error: { name: "Denied", message: event.reason },
      };
    case "repeats":
      return {
        ...described(event),
        status: "repeats",
        repeats: event.of,
        attempts: before?.attempts ?? 0,
        ...approvedIn(before),
      };
    case "approved":
      return {
        ...described(event),
        status: "suspended",
        attempts: before?.attempts ?? 0,
        key: before?.key,
        approved: {
          reason: event.reason,
          thread: event.thread,
          until: event.until,
          argsHash: event.argsHash,
          seq,
        },
      };
    case "succeeded":
      return (
        before && {
          ...before,
          status: "succeeded",
          result: resultIn(event, seq),
          interrupts: event.interrupts,
        }
      );
    case "failed":
      return (
        before && {
          ...before,
          status: "failed",
          error: event.error,
          ...(event.resultHash === undefined
            ? {}
            : { result: { seq, hash: event.resultHash, kept: event.kept } }),
        }
      );
    case "suspended":
      return before && { ...before, status: "suspended" };
    case "unknown":
      return before && { ...before, status: "unknown", error: event.error };
    case "resolved": {
      if (before === undefined) return undefined;
      if (!event.happened) return { ...before, status: "failed" };
      return { ...before, status: "succeeded", result: resultIn(event, seq) };
    }
    case "returned":
      return before?.named === true || event.taken === true ? before : undefined;
    case "late":
    case "forgotten":
      return undefined;
  }
}

function resultIn(
  { resultHash: hash = "", kept, notKept }: Pick<ReadEvent, "resultHash" | "kept" | "notKept">,
  seq: number,
): CallState["result"] {
  return { seq, hash, kept, ...(notKept === undefined ? {} : { notKept }) };
}

function approvedIn(before: CallState | undefined): Pick<CallState, "approved"> {
  return before?.approved === undefined ? {} : { approved: before.approved };
}

type Described = Pick<
  CallState,
  "call" | "tool" | "argsHash" | "effects" | "previous" | "nth" | "named" | "beside" | "where"
>;

function described({ call, tool, argsHash, effects, previous, nth, named, beside, where }: Call): Described {
  const ofName = named === undefined ? {} : { named, ...(beside === undefined ? {} : { beside }) };
  return { call, tool, argsHash, effects, previous, nth, ...ofName, where };
}

/** A state with the place of an event that returned its result or, if code named the call, made it. */
export function visited(state: CallState, before: CallState | undefined, event: CallEvent): CallState {
  if (!("where" in event) || (state.named !== true && event.type !== "returned")) return state;
  const { visits = [] } = before ?? {};
  const place = visitOf(event.where);
  return {
    ...state,
    visits: visits.some((visit) => isSamePlace(visit, place)) ? visits : [...visits, place],
  };
}
