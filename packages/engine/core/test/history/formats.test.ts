import { MemoryTier, type StratigraphError, TierSaver, type SaverOptions } from "@stratigraph/core";
import { pack } from "@stratigraph/core/internal";
import type { Reading, StoredCheckpoint } from "@stratigraph/core/tier";
import { describe, expect, test } from "vitest";
import { replacing, text } from "../contract/support.ts";
import { configOf, idOf, put } from "./chain.ts";

const encryption = {
  keys: { one: new Uint8Array(32).fill(1) },
  activeKey: "one",
  hashKey: new Uint8Array(32).fill(2),
};

/** What reading says where blob and record were replaced. */
async function refusal(
  change: (stored: StoredCheckpoint) => StoredCheckpoint,
  options: SaverOptions = {},
): Promise<StratigraphError> {
  const tier = new MemoryTier();
  await put(new TierSaver(tier, options), 1, { log: text("log", 4) });
  const read = async (...args: Parameters<MemoryTier["read"]>): Promise<Reading> => {
    const { checkpoint, ...state } = await tier.read(...args);
    return { ...state, ...(checkpoint === undefined ? {} : { checkpoint: change(checkpoint) }) };
  };
  const saver = new TierSaver(replacing(tier, { read }), options);
  const error: unknown = await saver.getTuple(configOf()).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "NEWER_FORMAT", retryable: false });
  return error as StratigraphError;
}

/** The only blob replaced by these bytes. */
function blobOf(bytes: Uint8Array): (stored: StoredCheckpoint) => StoredCheckpoint {
  return (stored) => ({
    ...stored,
    blobs: new Map([...stored.blobs].map(([hash, blob]) => [hash, { ...blob, bytes }])),
  });
}

/** Some bytes of every blob replaced. */
function edit(at: number, byte: number): (stored: StoredCheckpoint) => StoredCheckpoint {
  return (stored) => {
    const [blob] = stored.blobs.values();
    const bytes = Uint8Array.from(blob!.bytes);
    bytes[at] = byte;
    return blobOf(bytes)(stored);
  };
}

const where = { threadId: "t", checkpointId: idOf(1), channel: "log" };
const messageOf = ({ message }: StratigraphError): string => message;

describe("what a newer version may have written is a clear error", () => {
  test("an unknown codec tag", async () => {
    const error = await refusal(edit(0, 9));
    expect(error.data).toMatchObject(where);
    expect(error.cause).toMatchObject({ name: "CodecError", reason: "unknown-tag" });
    expect(messageOf(error)).toMatch(/tag 9 .*newer version/);
  });

  test("an unknown dictionary", async () => {
    const error = await refusal(edit(1, 77));
    expect(error.data).toMatchObject(where);
    expect(error.cause).toMatchObject({ name: "CodecError", reason: "unknown-dictionary" });
    expect(messageOf(error)).toMatch(/77/);
  });

  test("an unknown kind of blob", async () => {
    const error = await refusal(blobOf(await pack(new Uint8Array([200, 1, 2, 3]))));
    expect(error.data).toMatchObject(where);
    expect(messageOf(error)).toMatch(/kind 200.*newer version/);
  });

  test("an unknown cipher tag", async () => {
    const error = await refusal(edit(0, 0x4e), { encryption });
    expect(error.data).toMatchObject(where);
    expect(error.cause).toMatchObject({ name: "CodecError", reason: "unknown-tag" });
    expect(messageOf(error)).toMatch(/Cipher tag 78.*newer version/);
  });

  test("a record with an unknown codec tag", async () => {
    const error = await refusal((stored) => {
      const body = Uint8Array.from(stored.record.body);
      body[0] = 9;
      return { ...stored, record: { ...stored.record, body } };
    });
    expect(error.data).toMatchObject({ threadId: "t", checkpointId: idOf(1) });
    expect(error.cause).toMatchObject({ reason: "unknown-tag" });
  });
});

describe("maxValueSize", () => {
  test("a value that wouldn't be read back isn't stored, and what was there goes on", async () => {
    const tier = new MemoryTier();
    const saver = new TierSaver(tier, { maxValueSize: "20kb" });
    const list = Array.from({ length: 12 }, (_, n) => `${n}`.repeat(500));
    await put(saver, 1, { list, log: "short" });
    const refused = { code: "SERIALIZATION", data: { threadId: "t", checkpointId: idOf(2), channel: "log" } };
    await expect(put(saver, 2, { list, log: "long".repeat(6000) })).rejects.toMatchObject(refused);
    await expect(put(saver, 2, { list, log: "long".repeat(6000) })).rejects.toThrow(
      /24002 bytes serialised; at most 20480 are read back\. Raise maxValueSize/,
    );
    const grown = [...list, "more".repeat(4000)];
    await expect(put(saver, 2, { list: grown, log: "short" })).rejects.toThrow(/"list": the value can't be/);
    await expect(saver.putWrites(configOf(idOf(1)), [["log", "long".repeat(6000)]], "task")).rejects.toThrow(
      /maxValueSize/,
    );
    await put(saver, 2, { list: [...list, "more"], log: "short" });
    const tuple = await new TierSaver(tier).getTuple(configOf());
    expect(tuple?.checkpoint.channel_values).toEqual({ list: [...list, "more"], log: "short" });
    expect(tuple?.pendingWrites).toEqual([]);
  });

  test("a value that claims more is refused before it is made, and named", async () => {
    const tier = new MemoryTier();
    await put(new TierSaver(tier), 1, { log: "a".repeat(3_000_000), other: 1 });
    const [blob] = await tier.blobs("t");
    expect(blob!.size).toBeLessThan(1000);
    const saver = new TierSaver(tier, { maxValueSize: "1mb" });
    const error: unknown = await saver.getTuple(configOf()).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "CORRUPT", data: where, cause: { reason: "too-large" } });
    expect(error).toMatchObject({ message: expect.stringContaining("raise maxValueSize") });
    expect((await new TierSaver(tier, { maxValueSize: "4mb" }).getTuple(configOf()))?.checkpoint.id).toBe(
      idOf(1),
    );
  });

  test("a patch that copies its base over and over is refused as well", async () => {
    const tier = new MemoryTier();
    const saver = new TierSaver(tier);
    const part = text("part", 64);
    await put(saver, 1, { log: part });
    await put(saver, 2, { log: part + part.slice(1) + part.slice(2) });
    const patch = (await tier.blobs("t")).find(({ base }) => base !== undefined);
    expect(patch!.size).toBeLessThan(1000);
    const strict = new TierSaver(tier, { maxValueSize: "100kb" });
    await expect(strict.getTuple(configOf())).rejects.toMatchObject({
      code: "CORRUPT",
      data: { channel: "log" },
    });
    expect((await strict.getTuple(configOf(idOf(1))))?.checkpoint.channel_values["log"]).toBe(part);
  });
});
