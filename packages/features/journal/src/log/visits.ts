import type { Where } from "./entry.ts";

/**
 * How often calls of a name were made, or answered with a recorded result: in all, and in the step of the last visit. Also the step before
 * that one, and the highest number of a call.
 */
export interface Visits {
  readonly all: number;
  readonly step: string;
  readonly inStep: number;
  readonly before: string;
  readonly highest: number;
}

export const noVisits: Visits = { all: 0, step: "", inStep: 0, before: "", highest: -1 };

export function withVisit(visits: Visits, where: Where, nth: number): Visits {
  const now = stepOf(where);
  const isSame = now === visits.step;
  return {
    all: visits.all + 1,
    step: now,
    inStep: isSame ? visits.inStep + 1 : 1,
    before: isSame ? visits.before : visits.step,
    highest: Math.max(visits.highest, nth),
  };
}

export function stepOf({ thread, checkpoint, namespace, issuer }: Where): string {
  return JSON.stringify([thread, checkpoint, namespace, issuer]);
}

/** The part of a call's place that distinguishes its visits. */
export function visitOf(where: Where): Where {
  const { step: _step, run: _run, toolCallId: _id, node: _node, send: _send, ...place } = where;
  return place;
}

/** Whether two places are the same task of the same step. */
export function isSamePlace(one: Where, other: Where): boolean {
  return one.task === other.task && stepOf(one) === stepOf(other);
}

/** Whether two places are different tasks of one step. */
export function isBeside(one: Where, other: Where): boolean {
  return one.task !== other.task && stepOf(one) === stepOf(other);
}

/** Whether another task of the step of a place made a call, and the task of that place didn't. */
export function isOfAnotherTask(
  { visits = [] }: { readonly visits?: readonly Where[] | undefined },
  where: Where,
): boolean {
  const beside = visits.filter((visit) => stepOf(visit) === stepOf(where));
  return beside.length > 0 && beside.every(({ task }) => task !== where.task);
}
