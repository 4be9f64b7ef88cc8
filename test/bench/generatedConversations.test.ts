import { existsSync, readFileSync } from "node:fs";
import { deflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { RECORDED } from "./conversations.ts";
import { generateConversations } from "./generatedConversations.ts";
import type { RecordedConversation } from "./recording.ts";

/** What a bench's figures depend on. Sizes in bytes of UTF-8; compression as a share of the size. */
interface Shape {
  readonly conversations: number;
  readonly messages: number;
  /** Of the first 20 conversations, as the replay section counts them: every system and user message begins a turn. */
  readonly turnsOfTwenty: number;
  readonly messagesOfTwenty: number;
  /** All texts. */
  readonly bytes: number;
  /** Deflated message by message. */
  readonly compressedAlone: number;
  /** Deflated conversation by conversation. */
  readonly compressedTogether: number;
}

/** The recorded conversations', so that they can be compared with where the recording is absent. */
const RECORDED_SHAPE: Shape = {
  conversations: 60,
  messages: 1700,
  turnsOfTwenty: 202,
  messagesOfTwenty: 610,
  bytes: 842_732,
  compressedAlone: 0.45,
  compressedTogether: 0.28,
};

test.skipIf(!existsSync(RECORDED))("the recording's shape is the one that is written down here", () => {
  const recorded = shapeOf(JSON.parse(readFileSync(RECORDED, "utf8")) as RecordedConversation[]);
  expect(recorded).toEqual(RECORDED_SHAPE);
});

test("generated conversations have the recording's counts, and its sizes and compressibility within a tenth", () => {
  const { bytes, compressedAlone, compressedTogether, ...counts } = shapeOf(generateConversations());
  expect(RECORDED_SHAPE).toMatchObject(counts);
  expect(Math.abs(bytes / RECORDED_SHAPE.bytes - 1)).toBeLessThan(0.1);
  expect(Math.abs(compressedAlone / RECORDED_SHAPE.compressedAlone - 1)).toBeLessThan(0.1);
  expect(Math.abs(compressedTogether / RECORDED_SHAPE.compressedTogether - 1)).toBeLessThan(0.1);
});

test("they are the same every time", () => {
  expect(generateConversations()).toEqual(generateConversations());
});

function shapeOf(conversations: readonly RecordedConversation[]): Shape {
  const twenty = conversations.slice(0, 20).flatMap(({ traj }) => traj);
  const texts = conversations.map(({ traj }) => traj.map(textOf));
  const bytes = sum(texts.flat().map((text) => Buffer.byteLength(text)));
  const deflated = (parts: readonly string[]): number =>
    Number((sum(parts.map((part) => deflateSync(part).length)) / bytes).toFixed(2));
  return {
    conversations: conversations.length,
    messages: texts.flat().length,
    turnsOfTwenty: twenty.filter(({ role }) => role === "system" || role === "user").length,
    messagesOfTwenty: twenty.length,
    bytes,
    compressedAlone: deflated(texts.flat()),
    compressedTogether: deflated(texts.map((messages) => messages.join("\n"))),
  };
}

function textOf({ content, tool_calls }: RecordedConversation["traj"][number]): string {
  return `${content ?? ""}${tool_calls?.[0]?.function.arguments ?? ""}`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
