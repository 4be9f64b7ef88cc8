import { duplicateCall, endedOrRenamed } from "../errors.ts";
import { fingerprintOfNamed } from "../identity/fingerprint.ts";
import type { Place, Relation } from "../langgraph/place.ts";
import type { Calls } from "../log/calls.ts";
import type { CallState } from "../log/callState.ts";
import type { CallRequest } from "./resolve.ts";

/**
 * Finds out which recorded call with the same name this call corresponds to. It is the one that its task made before, if there is one.
 * Otherwise it is a new call, numbered after the calls that the run has already moved past. Exception: if another branch has a call at the
 * same point with equal arguments, and no other task of this step has matched that call, it is that one.
 * @throws StratigraphError "DUPLICATE_CALL" if nobody can tell whether it is the call of an earlier attempt
 * @param madeByOthers calls that other tasks are making in this process
 */
export async function namedCall(
  threadId: string,
  calls: Calls,
  request: CallRequest,
  place: Pick<Place, "relationOf" | "behindEdits">,
  madeByOthers: ReadonlySet<string>,
): Promise<CallRequest> {
  const candidates: Candidate[] = [];
  const highest = calls.highest(request.previous);
  for (const state of calls.named(request.previous)) {
    const relation = madeByOthers.has(state.call) ? "beside" : await nearest(state, place);
    if (relation === "here") return numbered(request, state.nth, state.beside);
    candidates.push({ state, relation });
    // The usual case: the older calls needn't be checked.
    if (relation === "past" && state.nth === highest) break;
  }
  let [nth, atThisPoint] = atPoint(candidates);
  for (;;) {
    const found = freeOf(atThisPoint, request);
    if (found === undefined) break;
    const { where, nth: at, beside, visits = [] } = found.state;
    const relation = await nearest({ where, visits }, { relationOf: (there) => place.behindEdits(there) });
    if (relation === "elsewhere") return numbered(request, at, beside);
    found.relation = relation;
    [nth, atThisPoint] = atPoint(candidates);
  }
  const again = atThisPoint.find(
    ({ state, relation }) => relation === "again" && hasEqualArgs(state, request),
  );
  if (again !== undefined) throw duplicateCall(threadId, again.state);
  const unclear = atThisPoint.find(
    ({ state, relation }) => relation === "ended or renamed" && hasEqualArgs(state, request),
  );
  if (unclear !== undefined) throw endedOrRenamed(threadId, unclear.state);
  let beside = Math.max(-1, ...atThisPoint.map(({ state }) => state.beside ?? 0)) + 1;
  while (madeByOthers.has(fingerprintOfNamed(request.previous, nth, beside))) beside += 1;
  return numbered(request, nth, beside);
}

/** A recorded call of the same name. */
interface Candidate {
  readonly state: CallState;
  relation: Relation;
}

/** The number after those of the past calls, and the calls that have this number on other branches or in other tasks. */
function atPoint(candidates: readonly Candidate[]): [nth: number, calls: Candidate[]] {
  const past = candidates.filter(({ relation }) => relation === "past");
  const nth = Math.max(-1, ...past.map(({ state }) => state.nth)) + 1;
  return [nth, candidates.filter(({ state }) => state.nth === nth)];
}

/** The call of another branch that this one matches. Of several with equal arguments, that of the same node and Send is preferred. */
function freeOf(calls: readonly Candidate[], request: CallRequest): Candidate | undefined {
  const free = calls.filter(
    ({ state, relation }) => relation === "elsewhere" && hasEqualArgs(state, request),
  );
  const ofNode = free.filter(({ state }) => state.where.node === request.where.node);
  const ofSend = ofNode.find(({ state }) => state.where.send === request.where.send);
  return ofSend ?? ofNode.at(-1) ?? free.at(-1);
}

/** The request with these numbers and the fingerprint that follows from them. */
export function numbered(request: CallRequest, nth: number, beside = 0): CallRequest {
  const call = fingerprintOfNamed(request.previous, nth, beside);
  return { ...request, nth, ...(beside === 0 ? {} : { beside }), call };
}

/** A call's result may have been returned at several places. Returns the relation of the place that is nearest to the current one. */
async function nearest(
  { visits = [], where: { node } }: Pick<CallState, "visits" | "where">,
  place: Pick<Place, "relationOf">,
): Promise<Relation> {
  const order: readonly Relation[] = [
    "here",
    "beside",
    "again",
    "past",
    "ended or renamed",
    "elsewhere",
    "apart",
  ];
  const relations = new Set<Relation>();
  for (const visit of visits) relations.add(await place.relationOf({ ...visit, node }));
  return order.find((relation) => relations.has(relation)) ?? "elsewhere";
}

export function hasEqualArgs({ argsHash }: Pick<CallState, "argsHash">, request: CallRequest): boolean {
  return request.argsHash === argsHash || request.otherHashes?.includes(argsHash) === true;
}
