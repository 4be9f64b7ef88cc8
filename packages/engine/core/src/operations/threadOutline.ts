import { isReserved, reservedNamespaces } from "../contract/reservedNamespaces.ts";
import { RunsUnderWay } from "../saver/runsUnderWay.ts";
import { rewindMark } from "./rewindMark.ts";
import {
  type CheckpointRecord,
  type StoredCheckpoint,
  type StoredWriteBatch,
  type Tier,
} from "../contract/tier.ts";
import { forksThreads } from "../contract/tierExtensions.ts";

/** A checkpoint without its values. `writes`: all its batches; see {@link currentWrites} for those that count. */
export interface Node {
  readonly record: CheckpointRecord;
  readonly writes: readonly StoredWriteBatch[];
}

/** The checkpoints of one namespace by id, newest first. */
export type Nodes = ReadonlyMap<string, Node>;

/** What a fork needs to know of a thread: the heads of its namespaces, and all checkpoints of those namespaces that are asked for. */
export interface Outline {
  /** Revision of the thread; undefined if its tier can't fork it. */
  readonly revision: number | undefined;
  /** The root checkpoint that the fork begins at; absent if it isn't here. */
  readonly root: Node | undefined;
  /** Head of the root namespace. */
  readonly head: string | undefined;
  /** Whether the root checkpoint's step went on: checkpoints were made from it since it was last wound back. */
  readonly continued: boolean;
  /** Heads of the namespaces of subgraphs. */
  readonly heads: ReadonlyMap<string, Node>;
  /** The last of the thread's tool calls. */
  readonly lastCall: Node | undefined;
  /** The thread's metadata; see `threadRecord.ts`. */
  readonly metadata: CheckpointRecord | undefined;
  nodes(namespace: string): Promise<Nodes>;
}

/** The outline of a thread: one round trip if the tier can, otherwise a listing of the whole thread without values. */
export async function outlineOf(tier: Tier, threadId: string, rootId?: string): Promise<Outline> {
  await RunsUnderWay.of(tier).othersEnded({}, threadId);
  const found = forksThreads(tier) ? await tier.outline(threadId, rootId) : undefined;
  if (found !== undefined) {
    const listed = new Map<string, Promise<Nodes>>();
    const nodes = (namespace: string): Promise<Nodes> => {
      const known = listed.get(namespace) ?? listNamespace(tier, threadId, namespace);
      listed.set(namespace, known);
      return known;
    };
    const head = found.heads.find(({ record }) => record.namespace === "")?.record.checkpointId;
    const { revision, checkpoint: root, continued } = found;
    const isMarked = root?.writes.some(({ taskId }) => rewindMark(taskId) !== undefined) === true;
    const wentOn = continued && isMarked ? childrenOf(await nodes(""), root!).length > 0 : continued;
    const headIn = (namespace: string) => found.heads.find(({ record }) => record.namespace === namespace);
    return {
      revision,
      root,
      head,
      continued: wentOn,
      heads: others(found.heads),
      lastCall: headIn(reservedNamespaces.calls),
      metadata: headIn(reservedNamespaces.thread)?.record,
      nodes,
    };
  }
  const all = new Map<string, Map<string, Node>>();
  const heads = new Map<string, Node>();
  for await (const listed of tier.list({ threadId, recordsOnly: true })) {
    const { namespace, checkpointId } = listed.record;
    const nodes = all.get(namespace) ?? new Map<string, Node>();
    all.set(namespace, nodes.set(checkpointId, listed));
    if (listed.head === checkpointId) heads.set(namespace, listed);
  }
  const roots = all.get("") ?? new Map<string, Node>();
  const head = heads.get("")?.record.checkpointId;
  const id = rootId ?? head;
  const root = id === undefined ? undefined : roots.get(id);
  return {
    revision: undefined,
    root,
    head,
    continued: root !== undefined && childrenOf(roots, root).length > 0,
    heads: others([...heads.values()]),
    lastCall: heads.get(reservedNamespaces.calls),
    metadata: heads.get(reservedNamespaces.thread)?.record,
    nodes: async (namespace) => all.get(namespace) ?? new Map<string, Node>(),
  };
}

async function listNamespace(tier: Tier, threadId: string, namespace: string): Promise<Nodes> {
  const nodes = new Map<string, Node>();
  for await (const listed of tier.list({ threadId, namespace, recordsOnly: true }))
    nodes.set(listed.record.checkpointId, listed);
  return nodes;
}

function others(heads: readonly (Node | StoredCheckpoint)[]): Map<string, Node> {
  const found = new Map<string, Node>();
  for (const node of heads) {
    const { namespace } = node.record;
    if (namespace !== "" && !isReserved(namespace)) found.set(namespace, node);
  }
  return found;
}

/** Ids of the checkpoints that were made from this one, without those from before it was last wound back. */
export function childrenOf(nodes: Nodes, { record, writes }: Node): string[] {
  const known = new Set(writes.flatMap(({ taskId }) => rewindMark(taskId)?.made ?? []));
  return [...nodes.values()]
    .filter((node) => node.record.parentId === record.checkpointId && !known.has(node.record.checkpointId))
    .map((node) => node.record.checkpointId);
}
