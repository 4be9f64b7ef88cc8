import type { Digest } from "../identity/fingerprint.ts";
import type { CallState } from "../log/callState.ts";
import { hasEqualArgs, numbered } from "./namedCall.ts";
import type { CallRequest } from "./resolve.ts";

/** The recorded calls, reduced to what is asked of them here. */
interface Recorded {
  get(call: Digest): CallState | undefined;
  all(): Iterable<CallState>;
  named(name: Digest): Iterable<CallState>;
  /** The highest number of a call of a name; -1 if there was none. */
  highest(name: Digest): number;
}

/**
 * The request for the call that was made at its place while its tool had another name, if there is one: it is the same call. Otherwise the
 * given request.
 */
export function asFormer(calls: Recorded, request: CallRequest): CallRequest {
  const { call, previous, nth, former, named } = request;
  if (former === undefined) return request;
  if (named === true) {
    if (former.previous === undefined || calls.highest(previous) >= 0) return request;
    const name = lastOf(former.previous.map((names) => names.filter((each) => calls.highest(each) >= 0)));
    if (name === undefined) return request;
    const [{ tool } = request] = calls.named(name);
    return numbered({ ...request, tool, previous: name }, nth);
  }
  if (calls.get(call) !== undefined) return request;
  const equal = [...calls.all()].filter(
    (state) =>
      state.named !== true &&
      state.previous === previous &&
      former.names.includes(state.tool) &&
      hasEqualArgs(state, request),
  );
  const found = lastOf(Array.from({ length: nth + 1 }, (_, n) => equal.filter((state) => state.nth === n)));
  return found === undefined ? request : { ...request, call: found.call, tool: found.tool, nth: found.nth };
}

/**
 * Of equal calls of one message, each has its own number, but calls of two tools that became one may have the same: then the next one gets
 * what remains.
 * @param all what has the first number, the second one, and so on
 */
function lastOf<T>(all: readonly (readonly T[])[]): T | undefined {
  const free: T[] = [];
  let found: T | undefined;
  for (const each of all) {
    free.push(...each);
    found = free.shift();
  }
  return found;
}
