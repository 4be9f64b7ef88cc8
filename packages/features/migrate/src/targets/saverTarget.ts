// long file: what a saver can hold of a thread, and the writing of it
import { WRITES_IDX_MAP } from "@langchain/langgraph-checkpoint";
import type { BaseCheckpointSaver, ChannelVersions, PendingWrite } from "@langchain/langgraph-checkpoint";
import { StratigraphError, type TierSaver } from "@stratigraph/core";
import { batchesOfChild, mergeWrites } from "@stratigraph/core/internal";
import { isReserved, reservedNamespaces } from "@stratigraph/core/tier";
import { isOurs } from "../copy/checkArguments.ts";
import { deletedInSource } from "../copy/callsLeftOut.ts";
import { importThread } from "../copy/importThread.ts";
import { entryKey, lineOf, ofGraph, parentKey } from "../contract/outline.ts";
import type {
  OutlineEntry,
  SourceBatch,
  SourceCheckpoint,
  SourceThread,
  SourceWrite,
  ThreadSource,
} from "../contract/source.ts";
import type { ThreadTarget, WriteOptions, WrittenThread } from "../contract/target.ts";
import { Digests, missingIn, type CheckpointDigest } from "../copy/digest.ts";
import { saverSource } from "../sources/saverSource.ts";
import { throughSaver } from "../sources/sourceError.ts";

/** Options of {@link saverTarget}. */
export interface SaverTargetOptions {
  /** Reads back what the saver stores. Default: a source that uses the saver's own public methods. */
  readonly source?: ThreadSource | undefined;
  /**
   * Whether the saver stores each checkpoint's values with it, so that branches can't be mixed up (SqliteSaver, MongoDBSaver,
   * MemorySaver). Default false: only each namespace's head and its ancestors are written, as PostgresSaver and RedisSaver store
   * values under version numbers, which branches share.
   */
  readonly branches?: boolean | undefined;
  /** Closes what was opened with the saver. Default: closes nothing, as the saver belongs to the caller. */
  readonly close?: (() => Promise<void>) | undefined;
}

/**
 * Makes a target of any saver. One of Stratigraph gets the whole thread. For others it uses the saver's own `put` and `putWrites`, so it
 * needn't know the saver's format. Such a saver can't hold calls, events and tags: the report counts them, and a thread isn't written if
 * a call's outcome isn't known, or if a step that hasn't ended would make its calls again.
 */
export function saverTarget(saver: BaseCheckpointSaver, options: SaverTargetOptions = {}): ThreadTarget {
  if (isOurs(saver)) return ownTarget(saver, options);
  const { source = saverSource(saver), branches = false, close = async () => undefined } = options;
  return {
    name: saver.constructor.name,
    resumable: true,
    write: (thread, how) => new Writing(saver, source, thread, how, branches).run(),
    finish: async () => undefined,
    close,
  };
}

function ownTarget(saver: TierSaver, { close = async () => undefined }: SaverTargetOptions): ThreadTarget {
  return {
    name: saver.constructor.name,
    resumable: true,
    write: async (thread, { verify }) => {
      const how = { verify, takeLacking: true, brought: () => undefined };
      const done = await importThread(saver, thread, how);
      const { checkpoints, writes, diverged, erased } = done;
      const skipped = thread.outline.length - checkpoints;
      const calls = (await thread.elsewhere?.())?.get(thread.threadId);
      const differences = [
        ...done.differences.map(({ checkpointId = "", what }) => `checkpoint ${checkpointId}: ${what}`),
        ...(diverged ? ["it went on in the target; nothing of it was written"] : []),
        ...(done.unsettled ? ["it was written to while it was read; export it again"] : []),
        ...(await deletedInSource(saver, thread.threadId, calls)).map(({ what }) => what),
      ];
      return { checkpoints, writes, skipped, leftOut: 0, erased, differences };
    },
    finish: async () => undefined,
    close,
  };
}

/** One thread that is being written. */
class Writing {
  readonly #saver: BaseCheckpointSaver;
  readonly #source: ThreadSource;
  readonly #thread: SourceThread;
  readonly #how: WriteOptions;
  readonly #branches: boolean;
  readonly #versions = new Map<string, ChannelVersions>();
  /** Versions of channels that came without a value. */
  readonly #empty = new Set<string>();
  readonly #digests: Digests;
  readonly #originals = new Map<string, CheckpointDigest>();
  /** Batches by checkpoint, if branches are written. */
  readonly #parents = new Map<string, readonly SourceBatch[]>();

  constructor(
    saver: BaseCheckpointSaver,
    source: ThreadSource,
    thread: SourceThread,
    how: WriteOptions,
    branches: boolean,
  ) {
    this.#saver = saver;
    this.#source = source;
    this.#thread = thread;
    this.#how = how;
    this.#branches = branches;
    const { serde } = saver;
    // If the saver's serializer loses something, such as the type of a Date, that is no failure of the copy.
    this.#digests = new Digests(async (value) => {
      const [type, bytes] = await serde.dumpsTyped(value);
      return (await serde.loadsTyped(type, bytes)) as unknown;
    });
  }

  async run(): Promise<WrittenThread> {
    const { heads } = this.#thread;
    refuseOpenCalls(this.#thread);
    // Before anything is written: a part of a thread would be read as the whole one.
    refuseVersion(this.#thread.threadId, this.#thread.newestState);
    const outline = ofGraph(this.#thread.outline);
    const kept = keptEntries(this.#thread, this.#branches);
    const there = await this.#there();
    const ours = new Set(outline.map(entryKey));
    const notHeld = beside(this.#thread);
    const done = { checkpoints: 0, writes: 0, skipped: 0, leftOut: outline.length - kept.size, notHeld };
    if ([...there].some((key) => !ours.has(key)))
      return { ...done, differences: ["it went on in the target; nothing of it was written"] };
    for await (const each of this.#thread.checkpoints()) {
      const key = entryKey(each);
      if (!kept.has(key)) continue;
      if (!this.#isMadeOfWrites(each, kept)) {
        kept.delete(key);
        done.leftOut += 1;
        continue;
      }
      if (this.#how.verify) this.#originals.set(key, await this.#digests.of(this.#held(each)));
      this.#noteEmpty(each);
      const isThere = there.has(key);
      if (!isThere) {
        await this.#put(each);
        done.checkpoints += 1;
      } else done.skipped += 1;
      this.#versions.set(key, each.checkpoint.channel_versions);
      // A head may have got further writes since an earlier export. Savers ignore writes that they already have.
      if (!isThere || heads.get(each.namespace) === each.checkpointId) {
        await this.#putWrites(each);
        if (!isThere) done.writes += each.writes.length;
      }
      this.#how.wrote(each);
    }
    return { ...done, differences: this.#how.verify ? await this.#verify() : [] };
  }

  /**
   * Whether a checkpoint's DeltaChannels are rebuilt as before from all writes of its parent, which is what the saver does. Those of a side
   * branch were made from others, if its run wrote something else.
   */
  #isMadeOfWrites(each: SourceCheckpoint, kept: ReadonlySet<string>): boolean {
    const { batches, consumed, checkpointId, checkpoint } = each;
    const parentId = parentKey(each);
    const parent = parentId === undefined ? undefined : this.#parents.get(parentId);
    if (batches !== undefined && this.#branches) this.#parents.set(entryKey(each), batches);
    if (parentId === undefined || parent === undefined) return true;
    if (!kept.has(parentId)) return false;
    const isRebuilt = ({ channel }: SourceWrite): boolean =>
      Object.hasOwn(checkpoint.channel_versions, channel) && checkpoint.channel_values[channel] === undefined;
    const shown = (chosen: readonly SourceBatch[]): string =>
      JSON.stringify(
        mergeWrites(
          chosen.map((batch) => ({ ...batch, writes: batch.writes.map((write) => ({ ...write, batch })) })),
        )
          .filter(isRebuilt)
          .map(({ batch, index }) => [batch.name, index]),
      );
    return (
      shown(batchesOfChild(parent, { checkpointId, consumed })) ===
      shown(parent.filter(({ counts }) => counts))
    );
  }

  /**
   * The part of a checkpoint that a saver can hold if it stores values under their versions. Such a saver loses values without a version
   * (LangGraph's own `__pregel_tasks` sometimes has one), and values whose version came without a value before.
   */
  #held(each: SourceCheckpoint): SourceCheckpoint {
    if (this.#branches) return each;
    const { channel_versions, channel_values } = each.checkpoint;
    const held = Object.entries(channel_values).filter(([channel]) => {
      const version = channel_versions[channel];
      return version !== undefined && !this.#empty.has(JSON.stringify([each.namespace, channel, version]));
    });
    return { ...each, checkpoint: { ...each.checkpoint, channel_values: Object.fromEntries(held) } };
  }

  /** Notes the versions that came without a value. */
  #noteEmpty({ namespace, checkpoint }: SourceCheckpoint): void {
    for (const [channel, version] of Object.entries(checkpoint.channel_versions))
      if (checkpoint.channel_values[channel] === undefined)
        this.#empty.add(JSON.stringify([namespace, channel, version]));
  }

  async #there(): Promise<Set<string>> {
    const thread = await this.#source.thread?.(this.#thread.threadId);
    await thread?.close();
    return new Set(thread?.outline.map(entryKey));
  }

  async #put(each: SourceCheckpoint): Promise<void> {
    refuseVersion(this.#thread.threadId, newestStateOf(each));
    const { checkpoint, runId } = each;
    const metadata = runId === undefined ? each.metadata : { ...each.metadata, run_id: runId };
    const config = this.#config(each, each.parentId);
    const versions = this.#newVersions(each);
    await throughSaver(this.#saver, () => this.#saver.put(config, checkpoint, metadata, versions));
  }

  /** The versions that changed since the parent. Savers don't store the other values again. */
  #newVersions(each: SourceCheckpoint): ChannelVersions {
    const parent = parentKey(each);
    const before = parent === undefined ? undefined : this.#versions.get(parent);
    const all = Object.entries(each.checkpoint.channel_versions);
    return Object.fromEntries(all.filter(([channel, version]) => before?.[channel] !== version));
  }

  async #putWrites(each: SourceCheckpoint): Promise<void> {
    refuseVersion(this.#thread.threadId, newestStateOf(each));
    const config = this.#config(each, each.checkpointId);
    // Savers before LangGraph 1.5 don't accept a path.
    const saver: {
      putWrites(...call: [...Parameters<BaseCheckpointSaver["putWrites"]>, path?: string]): Promise<void>;
    } = this.#saver;
    for (const taskId of new Set(each.writes.map((write) => write.taskId))) {
      const ofTask = each.writes.filter((write) => write.taskId === taskId);
      // Savers number regular writes by their place in the call.
      const [special, regular] = [ofTask.filter(isSpecial), ofTask.filter((write) => !isSpecial(write))];
      // The path decides the order in which the writes of tasks are applied.
      const path = ofTask[0]?.taskPath;
      for (const writes of [regular.sort((a, b) => (a.index ?? 0) - (b.index ?? 0)), special])
        if (writes.length > 0)
          await throughSaver(this.#saver, () => saver.putWrites(config, writes.map(pairOf), taskId, path));
    }
  }

  #config({ namespace }: OutlineEntry, checkpointId: string | undefined) {
    const place = { thread_id: this.#thread.threadId, checkpoint_ns: namespace };
    return {
      configurable: checkpointId === undefined ? place : { ...place, checkpoint_id: checkpointId },
    };
  }

  async #verify(): Promise<string[]> {
    const thread = await this.#source.thread?.(this.#thread.threadId);
    if (thread === undefined) return this.#originals.size === 0 ? [] : ["it can't be read back"];
    const left = new Map(this.#originals);
    const differences: string[] = [];
    try {
      for await (const each of thread.checkpoints()) {
        const original = left.get(entryKey(each));
        if (original === undefined) continue;
        left.delete(entryKey(each));
        for (const what of missingIn(await this.#digests.of(this.#held(each)), original))
          differences.push(`checkpoint ${each.checkpointId}: ${what}`);
      }
    } finally {
      await thread.close();
    }
    for (const key of left.keys()) differences.push(`checkpoint ${String(JSON.parse(key)[1])} is missing`);
    return differences;
  }
}

/** Whether a write is to one of LangGraph's special channels. Each of these has one position, below zero. */
function isSpecial({ channel }: SourceWrite): boolean {
  return Object.hasOwn(WRITES_IDX_MAP, channel);
}

function pairOf({ channel, value }: SourceWrite): PendingWrite {
  return [channel, value];
}

/**
 * The keys of the checkpoints that are written. A saver takes the checkpoint with the greatest id for the head, so checkpoints after
 * the head are left out.
 */
function keptEntries(thread: SourceThread, branches: boolean): Set<string> {
  const outline = ofGraph(thread.outline);
  const heads = new Map([...thread.heads].filter(([namespace]) => !isReserved(namespace)));
  const byKey = new Map(outline.map((entry) => [entryKey(entry), entry]));
  const kept = new Set<string>();
  for (const [namespace, checkpointId] of heads)
    lineOf(byKey, byKey.get(entryKey({ namespace, checkpointId })), kept);
  if (branches)
    for (const entry of outline)
      if (entry.checkpointId < (heads.get(entry.namespace) ?? "")) kept.add(entryKey(entry));
  return kept;
}

/** What a thread has beside its checkpoints, counted. */
function beside({ outline, tags = [] }: SourceThread): string[] {
  const counts = new Map<string, number>();
  for (const { namespace } of outline)
    if (isReserved(namespace)) counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  const named = Object.entries(besides).flatMap(([namespace, [one, many]]) => {
    const n = counts.get(namespace) ?? 0;
    counts.delete(namespace);
    return n === 0 ? [] : [n === 1 ? one : `${n} ${many}`];
  });
  const others = [...counts].map(([namespace, n]) => `${n} records of ${namespace}`);
  const tagged = tags.length === 0 ? [] : [tags.length === 1 ? "1 tag" : `${tags.length} tags`];
  return [...named, ...others, ...tagged];
}

const besides: Readonly<Record<string, readonly [one: string, many: string]>> = {
  [reservedNamespaces.calls]: ["1 entry of its journal", "entries of its journal"],
  [reservedNamespaces.events]: ["1 event", "events"],
  [reservedNamespaces.reflog]: ["its reflog", "records of its reflog"],
  [reservedNamespaces.thread]: [
    "its metadata of LangGraph's API",
    "records of its metadata of LangGraph's API",
  ],
};

/** How many calls an error names. */
const mostNamed = 5;

/** @throws StratigraphError "AMBIGUOUS_OUTCOME" if a copy without the journal would make calls again, or never ask about them */
function refuseOpenCalls({ threadId, openCalls = [] }: SourceThread): void {
  if (openCalls.length === 0) return;
  const more = openCalls.length > mostNamed ? `, and ${openCalls.length - mostNamed} more` : "";
  const what =
    `${openCalls.slice(0, mostNamed).join("; ")}${more}. The target can't hold the journal, so they would be made again there. ` +
    "Continue the thread or resolve the calls first, or copy it to a storage of Stratigraph or to a file";
  throw new StratigraphError("AMBIGUOUS_OUTCOME", `Thread ${JSON.stringify(threadId)}: ${what}.`, {
    threadId,
    calls: openCalls,
    what,
  });
}

/**
 * Savers keep no version of the state, and one value for each version of a channel.
 * @throws StratigraphError "STATE_VERSION" if state isn't of version 1, as which it would be read
 */
function refuseVersion(threadId: string, found = 1): void {
  if (found === 1) return;
  const what =
    `it has state of version ${found}, and the saver it would be copied to keeps no versions. ` +
    `Copy it to a saver of Stratigraph or to a file, or copy what graph.getState() answers`;
  const data = { threadId, found, current: 1, what };
  throw new StratigraphError("STATE_VERSION", `Thread ${JSON.stringify(threadId)}: ${what}.`, data);
}

function newestStateOf({ stateVersion = 1, writes }: SourceCheckpoint): number {
  return Math.max(stateVersion, ...writes.map((write) => write.stateVersion ?? 1));
}
