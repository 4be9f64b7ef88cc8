// long file: the model and what is compared with it are read side by side
import { createHash } from "node:crypto";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  emptyCheckpoint,
  WRITES_IDX_MAP,
  type Checkpoint,
  type CheckpointMetadata,
  type CheckpointTuple,
  type SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { StratigraphSerializer, type TierSaver } from "@stratigraph/core";
import { expect } from "vitest";
import type { Command } from "./commands.ts";
import { channels, edited, scribbleOn } from "./edits.ts";

/** Length too: a short comparison of two long values. */
type Bytes = readonly [type: string, length: number, sha256: string];

/** What was put, by itself: nothing is shared with a saver. */
interface Kept {
  readonly id: string;
  readonly namespace: string;
  readonly parentId: string | undefined;
  readonly runId: string | undefined;
  readonly versions: Readonly<Record<string, number>>;
  readonly values: Readonly<Record<string, unknown>>;
  readonly bytes: Readonly<Record<string, Bytes>>;
  readonly metadata: CheckpointMetadata;
}

interface Write {
  readonly path: string;
  readonly index: number;
  readonly task: string;
  readonly channel: string;
  readonly bytes: Bytes;
}

interface Thread {
  readonly name: string;
  readonly checkpoints: Map<string, Kept>;
  readonly heads: Map<string, string>;
  readonly writes: Map<string, Map<string, Write>>;
}

type Put = Extract<Command, { do: "put" }>;

/** Channel that is set in one step and cleared in the next. */
const ephemeral = "branch:to:next";

/** A plain model of a checkpointer, and the savers that must agree with it. */
export class World {
  readonly #savers: readonly TierSaver[];
  readonly #serde: SerializerProtocol;
  readonly #threads: Thread[] = [];
  #ids = 0;
  #names = 0;
  /** How often each command found something to do. */
  readonly done = new Map<string, number>();

  /** @param savers over one storage, each as in a process of its own */
  constructor(savers: readonly TierSaver[], serde: SerializerProtocol = new StratigraphSerializer()) {
    this.#savers = savers;
    this.#serde = serde;
    this.#open();
  }

  async run(commands: readonly Command[]): Promise<void> {
    for (const command of commands) if (await this.#do(command)) this.#count(command.do);
  }

  /** Every kept checkpoint, by id and in listings, is what was put; nothing else is there. */
  async check(saver: TierSaver): Promise<void> {
    for (const thread of this.#threads) {
      const config = { configurable: { thread_id: thread.name } };
      const listed: string[] = [];
      for await (const tuple of saver.list(config)) {
        listed.push(tuple.checkpoint.id);
        await this.#same(thread, thread.checkpoints.get(tuple.checkpoint.id), tuple);
      }
      const ids = [...thread.checkpoints.keys()].sort().reverse();
      expect(listed).toEqual(ids);
      for (const kept of thread.checkpoints.values())
        await this.#same(thread, kept, await saver.getTuple(configOf(thread, kept.namespace, kept.id)));
      for (const namespace of ["", "sub"]) {
        const tuple = await saver.getTuple(configOf(thread, namespace));
        expect(tuple?.checkpoint.id).toBe(thread.heads.get(namespace));
      }
    }
  }

  async #do(command: Command): Promise<boolean> {
    const saver = this.#savers[command.saver % this.#savers.length]!;
    if (command.do === "deleteRun") return await this.#deleteRun(saver, `run ${command.run}`);
    const thread = this.#threads[command.thread % this.#threads.length]!;
    switch (command.do) {
      case "put":
        return await this.#put(saver, thread, command);
      case "write": {
        const kept = pick(thread, command.at);
        if (kept === undefined) return false;
        const values = command.writes.map(({ channel, seed, same }): [string, unknown] =>
          same ? [channel, kept.values[channel]] : [channel, edited(channel, kept.values[channel], seed)],
        );
        if (command.task === 2) values.push(["__resume__", values[0]![1]]);
        await this.#write(saver, thread, kept.namespace, kept.id, `task ${command.task}`, values);
        return true;
      }
      case "putAgain": {
        const kept = thread.checkpoints.get(thread.heads.get("") ?? "");
        if (kept === undefined) return false;
        const config = configOf(thread, "", kept.id);
        const again = (await saver.getTuple(config))!;
        await saver.put(config, checkpointOf(kept, again.checkpoint.ts), withRun(kept), {});
        return true;
      }
      case "scribble": {
        const kept = pick(thread, command.at);
        if (kept === undefined) return false;
        const config = configOf(thread, kept.namespace, kept.id);
        scribbleOn((await saver.getTuple(config))?.checkpoint.channel_values);
        await this.#same(thread, kept, await saver.getTuple(config));
        for await (const tuple of saver.list(config)) scribbleOn(tuple.checkpoint.channel_values);
        return true;
      }
      case "prune":
        await saver.prune([thread.name], { strategy: "keep_latest", keepLast: command.keepLast });
        return prune(thread, command.keepLast);
      case "copy": {
        const copy = this.#open();
        await saver.copyThread(thread.name, copy.name);
        for (const [id, kept] of thread.checkpoints) copy.checkpoints.set(id, kept);
        for (const [namespace, head] of thread.heads) copy.heads.set(namespace, head);
        if (thread.heads.size > 0)
          for (const [id, writes] of thread.writes) copy.writes.set(id, new Map(writes));
        return thread.checkpoints.size > 0;
      }
      case "deleteThread": {
        await saver.deleteThread(thread.name);
        const found = thread.checkpoints.size > 0;
        for (const part of [thread.checkpoints, thread.heads, thread.writes]) part.clear();
        return found;
      }
    }
  }

  async #put(saver: TierSaver, thread: Thread, command: Put): Promise<boolean> {
    const { namespace } = command;
    const own = [...thread.checkpoints.values()].filter((kept) => kept.namespace === namespace);
    const head = thread.checkpoints.get(thread.heads.get(namespace) ?? "");
    const parent = command.from <= 5 ? head : (own[(command.from * 7) % Math.max(1, own.length)] ?? head);
    // Every put is by someone who read its parent: what is not that is a race, which others test.
    const tuple = await saver.getTuple(configOf(thread, namespace, parent?.id));
    expect(tuple?.checkpoint.id).toBe(parent?.id);
    this.#ids += 1;
    const id = `1f000000-0000-6000-8000-${this.#ids.toString(16).padStart(12, "0")}`;
    const versions: Record<string, number> = { ...parent?.versions };
    const values: Record<string, unknown> = { ...parent?.values };
    const version = 1 + Math.max(0, ...Object.values(versions));
    const edits = parent === undefined ? channels.map((channel, seed) => ({ channel, seed })) : command.edits;
    const newVersions: Record<string, number> = {};
    for (const { channel, seed } of edits) {
      values[channel] = edited(channel, values[channel], seed);
      versions[channel] = newVersions[channel] = version;
    }
    if (Object.hasOwn(values, ephemeral)) delete values[ephemeral];
    else values[ephemeral] = null;
    versions[ephemeral] = newVersions[ephemeral] = version;
    const bytes: Record<string, Bytes> = {};
    for (const [channel, value] of Object.entries(values)) bytes[channel] = await this.#bytesOf(value);
    const kept: Kept = {
      id,
      namespace,
      parentId: parent?.id,
      runId: command.run === 0 ? undefined : `run ${command.run}`,
      versions,
      values,
      bytes,
      metadata: { source: "loop", step: this.#ids, parents: {} },
    };
    if (command.early) {
      const writes: [string, unknown][] = [
        ["text", values["text"]],
        ["messages", values["messages"]],
      ];
      await this.#write(saver, thread, namespace, id, "early", writes);
    }
    const checkpoint = checkpointOf(kept, new Date(this.#ids).toISOString());
    await saver.put(
      configOf(thread, namespace, parent?.id),
      checkpoint,
      withRun(kept),
      command.generous ? versions : newVersions,
    );
    thread.checkpoints.set(id, kept);
    thread.heads.set(namespace, id);
    return true;
  }

  async #write(
    saver: TierSaver,
    thread: Thread,
    namespace: string,
    id: string,
    task: string,
    values: [string, unknown][],
  ): Promise<void> {
    // As the tasks of a step are: most have a path, and the ids sort otherwise than the paths.
    const path = task === "early" ? "" : `~path ${9 - Number(task.slice(-1))}`;
    await saver.putWrites(configOf(thread, namespace, id), values, task, path);
    const writes = thread.writes.get(id) ?? new Map<string, Write>();
    for (const [position, [channel, value]] of values.entries()) {
      const special = WRITES_IDX_MAP[channel];
      const key = `${special ?? position} ${task}`;
      if (special !== undefined || !writes.has(key))
        writes.set(key, {
          path,
          index: special ?? position,
          task,
          channel,
          bytes: await this.#bytesOf(value),
        });
    }
    thread.writes.set(id, writes);
  }

  async #deleteRun(saver: TierSaver, runId: string): Promise<boolean> {
    await saver.deleteForRuns([runId]);
    let found = false;
    for (const thread of this.#threads) {
      const goes = [...thread.checkpoints.values()].filter((kept) => kept.runId === runId);
      if (goes.length === 0) continue;
      found = true;
      const heads = [...thread.heads].map(
        ([namespace, head]) => [namespace, thread.checkpoints.get(head)!] as const,
      );
      const before = new Map(thread.checkpoints);
      remove(thread, goes);
      for (const [namespace, head] of heads) {
        let at: Kept | undefined = head;
        while (at !== undefined && !thread.checkpoints.has(at.id)) at = before.get(at.parentId ?? "");
        const newest = [...thread.checkpoints.values()]
          .filter((kept) => kept.namespace === namespace)
          .sort((a, b) => (a.id < b.id ? 1 : -1))[0];
        const to = at ?? newest;
        if (to === undefined) thread.heads.delete(namespace);
        else thread.heads.set(namespace, to.id);
      }
    }
    return found;
  }

  async #same(thread: Thread, kept: Kept | undefined, tuple: CheckpointTuple | undefined): Promise<void> {
    if (kept === undefined || tuple === undefined)
      throw new Error(`${kept?.id} became ${tuple?.checkpoint.id}`);
    const { checkpoint } = tuple;
    expect(checkpoint.id).toBe(kept.id);
    expect(tuple.config).toEqual(configOf(thread, kept.namespace, kept.id));
    expect(tuple.parentConfig).toEqual(
      kept.parentId === undefined ? undefined : configOf(thread, kept.namespace, kept.parentId),
    );
    expect(tuple.metadata).toEqual(kept.metadata);
    expect(checkpoint.channel_versions).toEqual(kept.versions);
    const bytes: Record<string, Bytes> = {};
    for (const [channel, value] of Object.entries(checkpoint.channel_values))
      bytes[channel] = await this.#bytesOf(value);
    for (const channel of new Set([...Object.keys(bytes), ...Object.keys(kept.bytes)])) {
      if (String(bytes[channel]) === String(kept.bytes[channel])) continue;
      throw new Error(`${kept.id}: channel ${channel} isn't what was put`);
    }
    expect(
      Object.is(checkpoint.channel_values["small"], kept.values["small"]) ||
        typeof kept.values["small"] === "object",
    ).toBe(true);
    expect(checkpoint.channel_values["typed"]).toEqual(kept.values["typed"]);
    expect(checkpoint.channel_values["messages"]).toEqual(kept.values["messages"]);
    expect(checkpoint.channel_values["bytes"]).toEqual(kept.values["bytes"]);
    const writes: Pick<Write, "task" | "channel" | "bytes">[] = [];
    for (const [task, channel, value] of tuple.pendingWrites ?? [])
      writes.push({ task, channel, bytes: await this.#bytesOf(value) });
    const expected = [...(thread.writes.get(kept.id)?.values() ?? [])]
      .sort((a, b) => (a.path === b.path ? a.index - b.index : a.path < b.path ? -1 : 1))
      .map(({ task, channel, bytes }) => ({ task, channel, bytes }));
    expect(writes).toEqual(expected);
  }

  async #bytesOf(value: unknown): Promise<Bytes> {
    const [type, bytes] = await this.#serde.dumpsTyped(value);
    return [type, bytes.length, createHash("sha256").update(bytes).digest("hex")];
  }

  #open(): Thread {
    this.#names += 1;
    const thread: Thread = {
      name: `thread ${this.#names}`,
      checkpoints: new Map(),
      heads: new Map(),
      writes: new Map(),
    };
    this.#threads.push(thread);
    return thread;
  }

  #count(name: string): void {
    this.done.set(name, (this.done.get(name) ?? 0) + 1);
  }
}

function pick(thread: Thread, at: number): Kept | undefined {
  const all = [...thread.checkpoints.values()];
  return all[at % Math.max(1, all.length)];
}

function checkpointOf(kept: Kept, ts: string): Checkpoint {
  return {
    ...emptyCheckpoint(),
    id: kept.id,
    ts,
    channel_values: { ...kept.values },
    channel_versions: { ...kept.versions },
    versions_seen: { node: { ...kept.versions } },
  };
}

function withRun({ metadata, runId }: Kept): CheckpointMetadata {
  return runId === undefined ? metadata : ({ ...metadata, run_id: runId } as CheckpointMetadata);
}

function configOf(thread: Thread, namespace: string, id?: string): RunnableConfig {
  const checkpoint_id = id === undefined ? {} : { checkpoint_id: id };
  return { configurable: { thread_id: thread.name, checkpoint_ns: namespace, ...checkpoint_id } };
}

function remove(thread: Thread, goes: readonly Kept[]): void {
  for (const { id } of goes) {
    thread.checkpoints.delete(id);
    thread.writes.delete(id);
  }
}

function prune(thread: Thread, keepLast: number): boolean {
  const stays = new Set<string>();
  for (const head of thread.heads.values()) {
    let id: string | undefined = head;
    for (let n = 0; n < keepLast && id !== undefined && thread.checkpoints.has(id); n += 1) {
      stays.add(id);
      id = thread.checkpoints.get(id)!.parentId;
    }
  }
  const goes = [...thread.checkpoints.values()].filter(({ id }) => !stays.has(id));
  remove(thread, goes);
  return goes.length > 0;
}
