import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { InvalidOptionError, type TierSaver } from "@stratigraph/core";
import type { Sealing } from "../log/sealing.ts";
import { hashOfHeader, lineOf, type TrailHead, type TrailHeader } from "./line.ts";
import { recordedEntries, trailHead } from "./walk.ts";

/** Where a trail is exported to: a stream, which is ended, or the path of a file, which is overwritten. */
export type TrailTarget = NodeJS.WritableStream | string | URL;

/** Writes a journal as lines of JSON, the header first. Returns the head of what was written. */
export async function exportTrail(
  saver: TierSaver,
  threadId: string,
  sealing: Sealing,
  target: TrailTarget,
): Promise<TrailHead> {
  const isPath = typeof target === "string" || target instanceof URL;
  if (!isPath && typeof (Object(target) as Partial<NodeJS.WritableStream>).write !== "function")
    throw new InvalidOptionError("target", target, "Pass a path, or a stream that can be written to.");
  const head = await trailHead(saver, threadId);
  const writable = isPath ? createWriteStream(target) : target;
  await pipeline(Readable.from(exportedLines(saver, threadId, sealing, head)), writable);
  return head;
}

async function* exportedLines(
  saver: TierSaver,
  threadId: string,
  sealing: Sealing,
  head: TrailHead,
): AsyncGenerator<string> {
  yield `${JSON.stringify(headerOf(threadId, sealing, head))}\n`;
  if (head.seq === 0) return;
  for await (const line of recordedEntries(saver, threadId, head.seq)) yield `${lineOf(line)}\n`;
}

/** The first line of an exported trail. */
export function headerOf(threadId: string, sealing: Sealing, head: TrailHead): TrailHeader {
  const keyId = sealing.activeKey;
  const fields = {
    stratigraphJournal: 1 as const,
    threadId,
    head,
    exportedAt: new Date().toISOString(),
    ...(keyId === undefined ? {} : { keyId }),
  };
  return { ...fields, hash: hashOfHeader(sealing, fields) };
}
