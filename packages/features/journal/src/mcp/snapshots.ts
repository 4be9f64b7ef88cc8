import { emptyCheckpoint, uuid6, type CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { InvalidOptionError, StratigraphError, type TierSaver } from "@stratigraph/core";
import { canonical, describing } from "../identity/canonical.ts";

/** How often a checkpoint is tried at most, if other processes move the thread's head meanwhile. */
const attempts = 10;

/** The last snapshot of each thread that is being taken, so that those of one process don't race. */
const taking = new WeakMap<TierSaver, Map<string, Promise<unknown>>>();

/**
 * Stores a state as a checkpoint of a thread, unless the thread's last one has the same values.
 * @param about the call, for the checkpoint's metadata
 * @returns the id of the checkpoint that has the state
 * @throws InvalidOptionError; StratigraphError "SERIALIZATION"; CheckpointConflictError if other processes keep writing to the thread
 */
export async function snapshot(
  saver: TierSaver,
  threadId: string,
  state: () => object | Promise<object>,
  about: object,
): Promise<string> {
  const ofSaver = taking.get(saver) ?? new Map<string, Promise<unknown>>();
  taking.set(saver, ofSaver);
  const before = ofSaver.get(threadId);
  const taken = (async () => {
    await before?.catch(() => undefined);
    return await take(saver, threadId, state, about);
  })();
  ofSaver.set(threadId, taken);
  try {
    return await taken;
  } finally {
    if (ofSaver.get(threadId) === taken) ofSaver.delete(threadId);
  }
}

async function take(
  saver: TierSaver,
  threadId: string,
  state: () => object | Promise<object>,
  about: object,
): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const values = await state();
    if (typeof values !== "object" || values === null || Array.isArray(values))
      throw new InvalidOptionError("state", values, "Return an object, whose fields become channels.");
    const text = canonical(values);
    const head = await saver.getTuple({ configurable: { thread_id: threadId, checkpoint_ns: "" } });
    if (head !== undefined && describing(head.checkpoint.channel_values) === text) return head.checkpoint.id;
    const step = (head?.metadata?.step ?? -1) + 1;
    const version = saver.getNextVersion(undefined) + step;
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(step),
      // A copy: the server may change its state while it is stored.
      channel_values: JSON.parse(text) as Record<string, unknown>,
      channel_versions: Object.fromEntries(Object.keys(values).map((channel) => [channel, version])),
    };
    const metadata = { source: "update", step, parents: {}, ...about } as CheckpointMetadata;
    const parent = head === undefined ? {} : { checkpoint_id: head.checkpoint.id };
    const config = { configurable: { thread_id: threadId, checkpoint_ns: "", ...parent } };
    try {
      await saver.put(config, checkpoint, metadata);
      return checkpoint.id;
    } catch (error) {
      const hasMoved = StratigraphError.is(error, "CHECKPOINT_CONFLICT");
      if (!hasMoved || attempt === attempts) throw error;
    }
  }
}
