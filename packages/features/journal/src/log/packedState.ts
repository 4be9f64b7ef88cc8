import type { CallState } from "./callState.ts";
import type { Where } from "./entry.ts";
import { isSamePlace, visitOf } from "./visits.ts";

/** Names of fields in the order in which they are packed. Each must be there, so that none is lost. */
type Order<T> = Readonly<Record<keyof T, number>>;

function namesOf<T>(order: Order<T>): readonly (keyof T & string)[] {
  return Object.keys(order) as (keyof T & string)[];
}

const whereNames = namesOf<Required<Where>>({
  checkpoint: 0,
  task: 1,
  node: 2,
  step: 3,
  run: 4,
  toolCallId: 5,
  namespace: 6,
  issuer: 7,
  via: 8,
  thread: 9,
  send: 10,
});

type Claim = NonNullable<CallState["claim"]>;
type Result = NonNullable<CallState["result"]>;

const claimNames = namesOf<Claim>({ seq: 0, session: 1, at: 2 });
const resultNames = namesOf<Required<Result>>({ seq: 0, hash: 1, kept: 2, notKept: 3 });

const stateNames = namesOf<Required<Omit<CallState, "call">>>({
  tool: 0,
  argsHash: 1,
  effects: 2,
  nth: 3,
  status: 4,
  attempts: 5,
  where: 6,
  claim: 7,
  result: 8,
  key: 9,
  named: 10,
  visits: 11,
  previous: 12,
  beside: 13,
  repeats: 14,
  approved: 15,
  deniedBy: 16,
  interrupts: 17,
  error: 18,
});

/** The state of a call as a short line of JSON, without its fingerprint, and without `previous` if code named it. */
export function packedState(state: CallState): string {
  const { named, visits, where, claim, result, previous } = state;
  const isVisitedOnce = visits?.length === 1 && isSamePlace(visits[0]!, where);
  return JSON.stringify(
    packed(stateNames, {
      ...state,
      previous: named === true ? undefined : previous,
      where: packed(whereNames, where),
      claim: claim && packed(claimNames, claim),
      result: result && packed(resultNames, result),
      visits: isVisitedOnce ? 1 : visits?.map((visit) => packed(whereNames, visit)),
    }),
  );
}

/** Reads {@link packedState}. @param name the call's name if code named it */
export function unpackedState(call: string, name: string | undefined, text: string): CallState {
  const { where, claim, result, visits, ...rest } = unpacked(stateNames, JSON.parse(text) as unknown[]);
  const at = unpacked(whereNames, where as unknown[]) as Where;
  return {
    call,
    ...(name === undefined ? {} : { previous: name }),
    ...rest,
    where: at,
    ...(claim === undefined ? {} : { claim: unpacked(claimNames, claim as unknown[]) }),
    ...(result === undefined ? {} : { result: unpacked(resultNames, result as unknown[]) }),
    ...(visits === undefined
      ? {}
      : {
          visits:
            visits === 1
              ? [visitOf(at)]
              : (visits as unknown[][]).map((visit) => unpacked(whereNames, visit)),
        }),
  } as unknown as CallState;
}

function packed(names: readonly string[], value: object): unknown[] {
  const fields = names.map((name) => (value as Record<string, unknown>)[name] ?? null);
  return fields.slice(0, fields.findLastIndex((field) => field !== null) + 1);
}

function unpacked(names: readonly string[], fields: readonly unknown[]): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const [n, field] of fields.entries()) if (field !== null) found[names[n]!] = field;
  return found;
}
