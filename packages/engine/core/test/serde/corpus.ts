import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
} from "@langchain/core/messages";
import { ChatPromptValue, ImagePromptValue } from "@langchain/core/prompt_values";
import { DeltaSnapshot } from "@langchain/langgraph-checkpoint";

const toolCall = {
  id: "call_1",
  name: "search",
  args: { query: "größer", limit: 3 },
  type: "tool_call" as const,
};
/** Typed loosely: LangChain's field types and exactOptionalPropertyTypes don't agree on optional usage. */
const usage: object = {
  usage_metadata: {
    input_tokens: 10,
    output_tokens: 5,
    total_tokens: 15,
    input_token_details: { cache_read: 2 },
  },
};

/**
 * Values that LangGraph's own format can hold, so that both serializers must write the same bytes. New ones each time: a test
 * changes its own in place.
 */
export const officialCorpus = (): Readonly<Record<string, unknown>> => ({
  null: null,
  "a string": "ünïcode \u2028 \ud83d\ude00 \ud800 \u0000",
  "an empty string": "",
  "nested plain data": { a: [1, 2.5, true, null, { b: "c" }], d: { e: {} }, "": [] },
  "undefined in places": { a: undefined, b: [1, undefined], c: { d: undefined } },
  undefined,
  "a Map": new Map<unknown, unknown>([
    ["a", new Map([["b", 1]])],
    [{ key: true }, [1]],
  ]),
  "a Set": new Set<unknown>([1, "a", { b: new Set([2]) }]),
  "a RegExp": { pattern: /a(b)+\/\n/giu },
  "plain data with another lc": { lc: 3, type: "x", inner: [{ lc: "1" }] },
  "a plain lc:1 that is no constructor": { lc: 1, type: "not_implemented", id: ["a"] },
  "a DeltaSnapshot": { messages: new DeltaSnapshot([new HumanMessage("hi"), 1]) },
  "a message from a string": new HumanMessage("hi"),
  "a human message": new HumanMessage({
    id: "1",
    content: "hi",
    name: "Ada",
    additional_kwargs: { a: { b: [1] } },
  }),
  "a human message with an undefined id": new HumanMessage({ content: "hi", id: undefined as never }),
  "a multimodal message": new HumanMessage({
    content: [
      { type: "text", text: "what is this?" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "low" } },
    ],
  }),
  "a message with unknown keys": new HumanMessage({
    content: "a",
    fooBar: 1,
    snake_key: 2,
    HTTPServer: 3,
  } as never),
  "a message with escaped kwargs": new HumanMessage({
    content: "a",
    additional_kwargs: { user: { lc: 5, deep: { a: 1 } }, twice: { __lc_escaped__: { a: 1 } } },
  }),
  "a system message": new SystemMessage("be kind"),
  "a chat message": new ChatMessage({ content: "x", role: "critic" }),
  "a function message": new FunctionMessage({ content: "1", name: "f" }),
  "an AI message": new AIMessage({ id: "2", content: "", tool_calls: [toolCall], ...usage }),
  "an AI message from a string": new AIMessage("hello"),
  "an AI message with everything": new AIMessage({
    content: [{ type: "text", text: "thinking" }],
    response_metadata: { model_name: "m", tokenUsage: { promptTokens: 1 }, finish_reason: "stop" },
    invalid_tool_calls: [{ id: "x", name: "y", args: "{", error: "bad", type: "invalid_tool_call" }],
    additional_kwargs: { refusal: null },
  }),
  "an AI message of content blocks": new AIMessage({
    contentBlocks: [
      { type: "text", text: "a" },
      { type: "tool_call", id: "c", name: "n", args: { a: 1 } },
    ],
  }),
  "an AI chunk": new AIMessageChunk({ content: "par", id: "3" }),
  "an AI chunk with tool call chunks": new AIMessageChunk({
    content: "",
    tool_call_chunks: [{ id: "c", name: "n", args: '{"a":', index: 0, type: "tool_call_chunk" }],
    ...usage,
  }),
  "a human chunk": new HumanMessageChunk("x"),
  "a system chunk": new SystemMessageChunk("x"),
  "a tool message": new ToolMessage({
    content: "42",
    tool_call_id: "call_1",
    name: "search",
    status: "error",
    artifact: { rows: [{ a: 1 }], nested: [new HumanMessage("in the artifact")] },
    metadata: { a: 1 },
  }),
  "a tool chunk": new ToolMessageChunk({ content: "4", tool_call_id: "call_1" }),
  "a removal": new RemoveMessage({ id: "4" }),
  "a chat prompt": new ChatPromptValue([new SystemMessage("s"), new HumanMessage("h")]),
  "an image prompt": new ImagePromptValue({ url: "http://a/b.png", detail: "low" }),
  "messages in odd places": {
    map: new Map([["m", new HumanMessage("x")]]),
    list: [
      [new AIMessage({ content: "y", tool_calls: [toolCall] })],
      { a: { b: new ToolMessage("z", "id", "n") } },
    ],
  },
});
