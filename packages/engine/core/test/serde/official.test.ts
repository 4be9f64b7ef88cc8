import { readFileSync } from "node:fs";
import { AIMessage, HumanMessage, isBaseMessage } from "@langchain/core/messages";
import { PromptTemplate } from "@langchain/core/prompts";
import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { findConversations } from "../../../../../test/bench/conversations.ts";
import { StratigraphSerializer } from "../../src/serde/index.ts";
import { officialCorpus } from "./corpus.ts";
import { difference } from "./difference.ts";

const official = new MemorySaver().serde;
const ours = new StratigraphSerializer();
const text = (data: Uint8Array): string => new TextDecoder().decode(data);

/** What an application sees of a value: LangChain's own loader drops undefined arguments, ours keeps them. */
function visible(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(visible);
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [visible(key), visible(item)]));
  if (value instanceof Set) return new Set([...value].map(visible));
  if (typeof value !== "object" || value === null) return value;
  if (isBaseMessage(value)) {
    const { lc_kwargs: _, ...shown } = value as unknown as Record<string, unknown>;
    return { class: value.constructor, ...(visible(shown) as object) };
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, visible(item)]));
}

/** What LangChain's own loader loses: it takes the field for one called `toolCallId`. */
const LOST = "a tool chunk";

describe.each(Object.entries(officialCorpus()))("%s", (name, value) => {
  it("is written as the official serializer writes it", async () => {
    const [type, data] = await official.dumpsTyped(value);
    const [ourType, ourData] = ours.dumps(value);
    expect(ourType).toBe(type);
    expect(text(ourData)).toBe(text(data));
  });

  it("is read as the official serializer reads it", async () => {
    const [type, data] = await official.dumpsTyped(value);
    const theirs: unknown = name === LOST ? value : await official.loadsTyped(type, data);
    expect(visible(ours.loads(type, data))).toStrictEqual(visible(theirs));
    expect(visible(await ours.loadsTyped(type, text(data)))).toStrictEqual(visible(theirs));
  });

  it("keeps its bytes when written again", () => {
    const [type, data] = ours.dumps(value);
    const [, again] = ours.dumps(ours.loads(type, data));
    expect(text(again)).toBe(text(data));
  });
});

describe("official data of other shapes", () => {
  const read = async (json: string): Promise<void> => {
    const theirs: unknown = await official.loadsTyped("json", json);
    expect(difference(ours.loads("json", json), theirs)).toBeUndefined();
  };

  it("reads bytes, as bytes and as a record of numbers", async () => {
    const value = new Uint8Array([0, 1, 255]);
    const [type, data] = await official.dumpsTyped(value);
    expect(ours.loads(type, data)).toStrictEqual(value);
    expect(ours.loads("bytes", "text")).toStrictEqual(await official.loadsTyped("bytes", "text"));
    const [, nested] = await official.dumpsTyped({ value });
    expect(ours.loads("json", nested)).toStrictEqual({ value });
  });

  it("reads Errors with their message", async () => {
    const [, data] = await official.dumpsTyped({ error: new TypeError("broken") });
    const { error } = ours.loads("json", data) as { error: Error };
    expect(error).toBeInstanceOf(Error);
    expect(error.message).toBe("broken");
  });

  it.each([
    '{"lc":2,"type":"constructor","id":["Function"],"method":null,"args":["return 1"],"kwargs":{}}',
    '{"lc":2,"type":"constructor","id":["Set"],"method":"from","args":[[1]],"kwargs":{}}',
    '{"lc":2,"type":"constructor","id":["Set"],"args":[1]}',
    '{"lc":2,"type":"constructor","id":["Map"],"args":[[[1]]]}',
    '{"lc":2,"type":"constructor","id":["RegExp"],"args":["(",""]}',
    '{"lc":2,"type":"constructor","id":["RegExp"],"args":["a"]}',
    '{"lc":2,"type":"constructor","id":["Uint8Array"],"method":"from","args":[[256]]}',
    '{"lc":2,"type":"constructor","id":["Uint8Array"],"method":"of","args":[[1]]}',
    '{"lc":2,"type":"constructor","id":["Error"],"args":[1]}',
    '{"lc":2,"type":"constructor","id":"Set","args":[[1]]}',
    '{"lc":2,"type":"constructor"}',
    '{"lc":2,"type":"delta_snapshot"}',
    '{"lc":2,"type":"other","a":{"lc":2,"type":"undefined"}}',
    '{"lc":1,"type":"secret","id":["KEY"]}',
    '{"lc":1,"type":"not_implemented","id":["a","b"]}',
    '{"lc":1,"type":"constructor","id":"no list"}',
    '{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"]}',
    '{"lc":1}',
    '{"lc":null,"x":[{"lc":2}]}',
  ])("keeps %s as the plain data that the official one keeps", read);

  it("reads the longer class paths that Python and older versions write", () => {
    const json =
      '{"lc":1,"type":"constructor","id":["langchain_core","messages","ai","AIMessage"],"kwargs":{"content":"x"}}';
    expect(ours.loads("json", json)).toBeInstanceOf(AIMessage);
  });

  it("refuses an unknown class by name, or keeps it inert", async () => {
    const [, data] = await official.dumpsTyped({ prompt: PromptTemplate.fromTemplate("hi {name}") });
    expect(() => ours.loads("json", data)).toThrow(
      "Cannot read back prompt: found the LangChain object langchain_core/prompts/prompt/PromptTemplate",
    );
    const inert = new StratigraphSerializer({ unknownTypes: "inert" });
    const kept = inert.loads("json", data);
    expect(kept).toMatchObject({ prompt: { lc: 1, type: "constructor", kwargs: { template: "hi {name}" } } });
    expect(inert.loads(...inert.dumps(kept))).toStrictEqual(kept);
  });

  it("reads and writes a LangChain class that the user registers", async () => {
    const serde = new StratigraphSerializer();
    serde.register({ id: ["langchain_core", "prompts", "prompt", "PromptTemplate"], class: PromptTemplate });
    const prompt = PromptTemplate.fromTemplate("hi {name}");
    const [, data] = await official.dumpsTyped({ prompt });
    expect(text(serde.dumps({ prompt })[1])).toBe(text(data));
    const loaded = serde.loads("json", data) as { prompt: PromptTemplate };
    expect(await loaded.prompt.format({ name: "Ada" })).toBe("hi Ada");
  });
});

describe("what the official serializer reads of ours", () => {
  it("reads Errors, Maps and Sets with extensions inside", async () => {
    const [type, data] = ours.dumps({ error: new TypeError("broken"), set: new Set([new Date(0), 1]) });
    const theirs = (await official.loadsTyped(type, data)) as { error: Error; set: Set<unknown> };
    expect(theirs.error.message).toBe("broken");
    expect([...theirs.set][1]).toBe(1);
  });

  it("keeps fields set after a message was built, which toJSON forgets", async () => {
    const message = new HumanMessage("hi");
    message.id = "late";
    message.name = "Ada";
    const [type, data] = ours.dumps(message);
    for (const loaded of [await official.loadsTyped(type, data), ours.loads(type, data)] as HumanMessage[]) {
      expect(loaded.id).toBe("late");
      expect(loaded.name).toBe("Ada");
    }
  });
});

const { file, origin } = findConversations();

it(`writes and reads ${origin} conversations alike`, async () => {
  const conversations = JSON.parse(readFileSync(file, "utf8")) as {
    traj: { role: string; content: string | null }[];
  }[];
  const messages = conversations
    .flatMap((conversation) => conversation.traj)
    .map(({ role, content, ...rest }) =>
      role === "user"
        ? new HumanMessage(content ?? "")
        : new AIMessage({
            content: content ?? "",
            additional_kwargs: { role, ...rest, tool_calls: undefined as never },
          }),
    );
  const [type, data] = await official.dumpsTyped(messages);
  expect(Buffer.compare(ours.dumps(messages)[1], data)).toBe(0);
  expect(visible(ours.loads(type, data))).toEqual(visible(await official.loadsTyped(type, data)));
});
