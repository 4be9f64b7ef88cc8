import type { Address, Namespace } from "./tier.ts";

/** Names a checkpoint within its thread, as the key of a map. */
export function checkpointKey({ namespace, checkpointId }: Omit<Address, "threadId">): string {
  return JSON.stringify([namespace, checkpointId]);
}

/** Names a checkpoint of a namespace among those of all threads, as the key of a map. */
export function addressKey({ threadId, namespace }: Namespace, checkpointId: string): string {
  return JSON.stringify([threadId, namespace, checkpointId]);
}

/** Names a namespace among those of all threads, as the key of a map. */
export function namespaceKey({ threadId, namespace }: Namespace): string {
  return JSON.stringify([threadId, namespace]);
}

/** The prefix of every {@link addressKey} and {@link namespaceKey} of a thread, and of no other thread's. */
export function threadPrefix(threadId: string): string {
  return `${JSON.stringify([threadId]).slice(0, -1)},`;
}
