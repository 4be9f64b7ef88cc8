import type { Point } from "@stratigraph/branch";
import {
  EvictedError,
  InvalidAddressError,
  NotFoundError,
  type StratigraphError,
  type TierSaver,
} from "@stratigraph/core";
import {
  headlessOrEvicted,
  inspectsThreads,
  isArchivedElsewhere,
  ownersOf,
  refusePart,
  validId,
} from "@stratigraph/core/internal";
import type { CheckpointRecord, Namespace } from "@stratigraph/core/tier";

/** How an operation's input names a checkpoint; see `fields`. */
export interface AddressInput {
  readonly at: string;
  readonly namespace?: string | undefined;
  readonly checkpoint?: string | undefined;
}

/** A point whose parts are all known. */
export interface ResolvedPoint extends Point {
  readonly namespace: string;
  readonly checkpointId: string;
}

const forms = "head, head~3, step:12, lost:1, or the beginning of a checkpoint's id";

/**
 * Finds what an address means. `ada` is the head of the thread ada. After the last @, it names one of the thread's checkpoints:
 * `ada@head~3` (three steps back from the head), `ada@step:12` (on the main line), `ada@lost:1` (the newest side branch),
 * `ada@1ef4f79` (the beginning of an id that no other checkpoint has). If there is a thread whose id is the whole text, that one is
 * meant.
 * @throws InvalidAddressError; NotFoundError if there is no such thread or checkpoint; EvictedError if it may be in an archive that isn't open;
 * StratigraphError "CORRUPT" if its head is lost
 */
export async function resolvePoint(saver: TierSaver, input: AddressInput): Promise<ResolvedPoint> {
  const { at, namespace = "", checkpoint } = input;
  const threadId = validId("thread", at);
  if (checkpoint !== undefined)
    return { threadId, namespace, checkpointId: validId("checkpoint", checkpoint) };
  const whole = await saver.tier.peek({ threadId, namespace });
  if (whole.head !== undefined) return { threadId, namespace, checkpointId: whole.head };
  const split = at.lastIndexOf("@");
  if (split <= 0 || whole.headless === true) throw await noHead(saver, { threadId, namespace });
  const [thread, reference] = [at.slice(0, split), at.slice(split + 1)];
  const { head, headless } = await saver.tier.peek({ threadId: thread, namespace });
  const where = { threadId: thread, namespace };
  // Without a head, single checkpoints are found by their ids.
  if (head === undefined && (headless !== true || !/^[0-9a-f-]{6,}$/.test(reference)))
    throw await noHead(saver, where);
  const found =
    head === undefined
      ? await byPrefix(saver, where, reference)
      : await referred(saver, { ...where, head }, reference);
  if (found === undefined) {
    await refusePart(saver.tier, { threadId: thread, namespace });
    const message = `Thread ${JSON.stringify(thread)} has no checkpoint ${JSON.stringify(reference)}. Write ${forms}.`;
    throw new NotFoundError(message, { threadId: thread, namespace, checkpointId: reference });
  }
  return { threadId: thread, namespace, checkpointId: found };
}

/** The thread that an address begins with, whether or not it names a checkpoint. @throws as {@link resolvePoint} */
export async function resolveThread(saver: TierSaver, at: string): Promise<string> {
  return (await resolvePoint(saver, { at })).threadId;
}

interface Where {
  readonly threadId: string;
  readonly namespace: string;
  readonly head: string;
}

async function referred(saver: TierSaver, where: Where, reference: string): Promise<string | undefined> {
  const back = /^head(?:~(\d+))?$/.exec(reference);
  if (back !== null) return await stepsBack(saver, where, Number(back[1] ?? 0));
  const step = /^step:(-?\d+)$/.exec(reference);
  if (step !== null) return await atStep(saver, where, Number(step[1]));
  const lost = /^lost:([1-9]\d*)$/.exec(reference);
  if (lost !== null) {
    const branches = (await saver.conflicts(where.threadId)).filter(
      (each) => each.namespace === where.namespace,
    );
    return branches[Number(lost[1]) - 1]?.checkpointId;
  }
  return await byPrefix(saver, where, reference);
}

/** The main line, newest first: the head and its ancestors. */
export async function* mainLine(
  saver: TierSaver,
  { threadId, namespace, head }: Where,
): AsyncGenerator<CheckpointRecord> {
  let wanted = head;
  // A parent nearly always follows in the listing, because ids grow with time. If a clock was set back, it came earlier. So side branches
  // and other passed records are kept until it is known that nothing leads to them.
  const passed = new Map<string, CheckpointRecord>();
  for await (const { record } of saver.tier.list({ threadId, namespace, recordsOnly: true })) {
    passed.set(record.checkpointId, record);
    for (let next = passed.get(wanted); next !== undefined; next = passed.get(wanted)) {
      passed.delete(wanted);
      yield next;
      if (next.parentId === undefined) return;
      wanted = next.parentId;
    }
  }
}

async function stepsBack(saver: TierSaver, where: Where, steps: number): Promise<string | undefined> {
  let left = steps;
  for await (const { checkpointId } of mainLine(saver, where)) {
    if (left === 0) return checkpointId;
    left -= 1;
  }
  return undefined;
}

async function atStep(saver: TierSaver, where: Where, step: number): Promise<string | undefined> {
  for await (const record of mainLine(saver, where)) {
    const metadata = await saver.coder.metadata(record, await saver.coder.decodeBody(record));
    if (metadata.step === step) return record.checkpointId;
  }
  return undefined;
}

async function byPrefix(saver: TierSaver, where: Namespace, prefix: string): Promise<string | undefined> {
  if (prefix === "") return undefined;
  const { threadId, namespace } = where;
  const found: string[] = [];
  for await (const { record } of saver.tier.list({ threadId, namespace, recordsOnly: true })) {
    if (record.checkpointId === prefix) return prefix;
    if (record.checkpointId.startsWith(prefix)) found.push(record.checkpointId);
  }
  if (found.length <= 1) return found[0];
  const examples = found.slice(0, 3).join(", ");
  throw new InvalidAddressError(
    "checkpoint",
    `${JSON.stringify(prefix)}, with which ${found.length} ids begin`,
    `Write more of it: ${examples}${found.length > 3 ? ", …" : ""}.`,
  );
}

/** The error for a namespace without a head. */
async function noHead({ tier }: TierSaver, at: Namespace): Promise<StratigraphError> {
  const { threadId, namespace } = at;
  const { headless, revision } = await tier.peek(at);
  if (headless === true) return await headlessOrEvicted(tier, at);
  if (await isArchivedElsewhere(tier, threadId)) return new EvictedError(tier.name, at);
  const [owner] = ownersOf(tier);
  const inspector = owner?.of ?? owner;
  const looksIn =
    revision > 0 && inspector !== undefined && inspectsThreads(inspector) ? inspector : undefined;
  const isDeleted = (await looksIn?.inspect(threadId))?.deleted === true;
  const where = namespace === "" ? "" : `, namespace ${JSON.stringify(namespace)},`;
  const what = isDeleted ? "was deleted" : "has no checkpoints";
  const message = `Thread ${JSON.stringify(threadId)}${where} ${what}. "stratigraph threads" lists threads.`;
  return new NotFoundError(message, { threadId, namespace });
}
