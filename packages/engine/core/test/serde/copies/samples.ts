import type { LangChain } from "./langChainCopies.ts";

const call = (id = "c") => ({
  id,
  name: "look",
  args: { n: 1, deep: [{ n: 1 }] },
  type: "tool_call" as const,
});
/** Typed loosely: LangChain's field types and exactOptionalPropertyTypes don't agree on optional usage. */
const usage = (): object => ({ usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } });
const piece = () => ({
  id: "c",
  name: "look",
  args: '{"n":1}',
  index: 0,
  type: "tool_call_chunk" as const,
});

type Sample = (copy: LangChain) => object;

/** Objects of every class, whose record every copy of LangChain writes alike. */
export const SAMPLES: Readonly<Record<string, Sample>> = {
  "a human message": ({ messages: { HumanMessage } }) =>
    new HumanMessage({ content: "hi ü", id: "1", name: "Ada", additional_kwargs: { a: { lc: 1 } } }),
  "a message from a string": ({ messages: { HumanMessage } }) => new HumanMessage("hi"),
  "a message of blocks": ({ messages: { HumanMessage } }) =>
    new HumanMessage({ content: [{ type: "text", text: "a" }] }),
  "an AI message": ({ messages: { AIMessage } }) =>
    new AIMessage({ id: "2", content: "", tool_calls: [call()], ...usage() }),
  "an AI message from a string": ({ messages: { AIMessage } }) => new AIMessage("x"),
  "an AI message with everything": ({ messages: { AIMessage } }) =>
    new AIMessage({
      content: [{ type: "text", text: "a" }],
      response_metadata: { model_name: "m", tokens: 1n },
      invalid_tool_calls: [{ id: "x", name: "y", args: "{", error: "bad", type: "invalid_tool_call" }],
      additional_kwargs: { refusal: null, at: new Date(0) },
    }),
  "an AI message of content blocks": ({ messages: { AIMessage } }) =>
    new AIMessage({ contentBlocks: [{ type: "text", text: "a" }, call()] }),
  "an AI message in the v1 format": ({ messages: { AIMessage } }) =>
    new AIMessage({ content: [{ type: "text", text: "a" }], response_metadata: { output_version: "v1" } }),
  "an AI chunk": ({ messages: { AIMessageChunk } }) =>
    new AIMessageChunk({ content: "p", id: "3", ...usage() }),
  "a system message": ({ messages: { SystemMessage } }) => new SystemMessage("be kind"),
  "a chat message": ({ messages: { ChatMessage } }) => new ChatMessage({ content: "x", role: "critic" }),
  "a function message": ({ messages: { FunctionMessage } }) =>
    new FunctionMessage({ content: "1", name: "f" }),
  "a tool message": ({ messages: { ToolMessage } }) =>
    new ToolMessage({
      content: "42",
      tool_call_id: "c",
      name: "look",
      status: "error",
      artifact: { rows: [1, new Map([["a", 1]])] },
      metadata: { a: 1 },
    }),
  "a removal": ({ messages: { RemoveMessage } }) => new RemoveMessage({ id: "4" }),
  "a human chunk": ({ messages: { HumanMessageChunk } }) => new HumanMessageChunk("x"),
  "a system chunk": ({ messages: { SystemMessageChunk } }) => new SystemMessageChunk("x"),
  "a chat chunk": ({ messages: { ChatMessageChunk } }) => new ChatMessageChunk("x", "r"),
  "a function chunk": ({ messages: { FunctionMessageChunk } }) =>
    new FunctionMessageChunk({ content: "1", name: "f" }),
  "a tool chunk": ({ messages: { ToolMessageChunk } }) =>
    new ToolMessageChunk({ content: "4", tool_call_id: "call_1" }),
  "a text prompt": ({ promptValues: { StringPromptValue } }) => new StringPromptValue("text"),
  "a chat prompt": ({ promptValues: { ChatPromptValue }, messages: { HumanMessage } }) =>
    new ChatPromptValue([new HumanMessage("h")]),
  "an image prompt": ({ promptValues: { ImagePromptValue } }) =>
    new ImagePromptValue({ url: "http://a/b.png", detail: "low" }),
  "a Document": ({ documents: { Document } }) => new Document({ pageContent: "p", metadata: { a: [1] } }),
  "a Document with an id": ({ documents: { Document } }) => new Document({ pageContent: "p", id: "d" }),
};

/** Chunks with pieces of tool calls, which 1.4 computes late and writes in another order than 1.2. */
export const PIECES: Readonly<Record<string, Sample>> = {
  "an AI chunk with pieces of tool calls": ({ messages: { AIMessageChunk } }) =>
    new AIMessageChunk({
      content: "",
      tool_call_chunks: [piece(), { ...piece(), id: "d", args: '{"n":', index: 1 }],
    }),
  "two AI chunks in one": ({ messages: { AIMessageChunk } }) =>
    new AIMessageChunk({ content: "a", tool_call_chunks: [{ ...piece(), args: '{"n"' }] }).concat(
      new AIMessageChunk({
        content: "b",
        tool_call_chunks: [{ index: 0, args: ":1}", type: "tool_call_chunk" }],
      }),
    ),
};

/** Changes of a message in place, after which LangChain's own `toJSON` or loader would lose something. */
export const CHANGED: Readonly<Record<string, Sample>> = {
  "a tool call of a chunk": ({ messages: { AIMessageChunk } }) => {
    const chunk = new AIMessageChunk({ content: "", tool_call_chunks: [piece()] });
    chunk.tool_calls![0]!.args["n"] = 2;
    return chunk;
  },
  "all tool calls of a chunk": ({ messages: { AIMessageChunk } }) =>
    Object.assign(new AIMessageChunk({ content: "", tool_call_chunks: [piece()] }), {
      tool_calls: [call("new")],
    }),
  "a piece of a chunk": ({ messages: { AIMessageChunk } }) => {
    const chunk = new AIMessageChunk({ content: "", tool_call_chunks: [piece()] });
    void chunk.tool_calls;
    chunk.tool_call_chunks!.push({ ...piece(), id: "e", index: 3 });
    return chunk;
  },
  "invalid tool calls of a chunk": ({ messages: { AIMessageChunk } }) =>
    Object.assign(new AIMessageChunk({ content: "x" }), {
      invalid_tool_calls: [{ id: "c", name: "n", args: "{" }],
    }),
  "content of blocks": ({ messages: { AIMessage } }) =>
    Object.assign(new AIMessage({ contentBlocks: [{ type: "text", text: "a" }] }), { content: "x" }),
  "a block taken out": ({ messages: { AIMessage } }) => {
    const message = new AIMessage({ contentBlocks: [{ type: "text", text: "a" }, call()] });
    (message.content as unknown[]).pop();
    return message;
  },
  "blocks that LangChain shows as others": ({ messages: { HumanMessage } }) =>
    new HumanMessage({
      contentBlocks: [{ type: "image_url", image_url: { url: "http://a/b.png" } }] as never,
    }),
  "a late id of a tool call": ({ messages: { ToolMessage } }) =>
    Object.assign(new ToolMessage({ content: "x" } as never), { tool_call_id: "late" }),
  "a late role": ({ messages: { ChatMessage } }) =>
    Object.assign(new ChatMessage({ content: "x" } as never), { role: "late" }),
  "a late name, id and usage": ({ messages: { AIMessage } }) =>
    Object.assign(new AIMessage("x"), { name: "n", id: "i", ...usage() }),
  "a late artifact and status": ({ messages: { ToolMessage } }) =>
    Object.assign(new ToolMessage("x", "c"), { artifact: { a: 1 }, status: "error", metadata: { b: 1 } }),
  "the content of a removal": ({ messages: { RemoveMessage } }) =>
    Object.assign(new RemoveMessage({ id: "1" }), { content: "x" }),
  "fields taken away": ({ messages: { AIMessage } }) =>
    Object.assign(new AIMessage("x"), { tool_calls: undefined, additional_kwargs: undefined, content: null }),
};
