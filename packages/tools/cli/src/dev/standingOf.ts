import type { TierSaver } from "@stratigraph/core";
import { statesAt, type TaskStates } from "@stratigraph/core/internal";
import type { ApiState, ApiThread, Logger, Ops } from "./internals.ts";

/** How the head of a thread stands, whether or not its graph is known. Undefined if it can't be read. */
export async function standingOf(
  saver: TierSaver,
  threadId: string,
  logger: Logger,
): Promise<(TaskStates & { readonly isDue: boolean }) | undefined> {
  try {
    const { head } = await saver.tier.peek({ threadId, namespace: "" });
    const states = head === undefined ? undefined : await statesAt(saver, threadId, head);
    return states && { ...states, isDue: (await states.status()) !== "idle" };
  } catch (error) {
    logger.warn(`How thread ${threadId} stands can't be read: ${String(error)}`);
    return undefined;
  }
}

/** The state of a thread, if its graph is known and it can be read. */
export async function stateOf(
  ops: Ops,
  { thread_id, metadata }: ApiThread,
  logger: Logger,
): Promise<ApiState | undefined> {
  if (typeof metadata["graph_id"] !== "string") return undefined;
  try {
    return await ops.threads.state.get({ configurable: { thread_id } }, {}, undefined);
  } catch (error) {
    logger.warn(`The state of thread ${thread_id} can't be read: ${String(error)}`);
    return undefined;
  }
}
