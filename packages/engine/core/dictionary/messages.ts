import {
  AIMessage,
  AIMessageChunk,
  FunctionMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { words } from "./words.ts";

const uuid = "7c0f4a5e-2b6d-4e8a-9f13-d0c1b2a39485";

/** What the serializer stores for messages: made by LangChain itself, so that the bytes are exactly its own. */
export const messages: readonly string[] = [
  new FunctionMessage({ content: "", name: "lookup" }),
  new RemoveMessage({ id: uuid }),
  new AIMessageChunk({
    content: "",
    id: `chatcmpl-${uuid}`,
    tool_call_chunks: [
      { name: "search", args: '{"query":"', index: 0, id: "call_", type: "tool_call_chunk" },
    ],
  }),
  new SystemMessage({ content: words.system, id: uuid }),
  new HumanMessage({
    content: [
      { type: "text", text: "" },
      { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo", detail: "auto" } },
      { type: "document", source: { type: "base64", media_type: "application/pdf", data: "JVBERi0xLj" } },
    ],
  }),
  new AIMessage({
    id: "msg_01",
    content: [
      { type: "thinking", thinking: "", signature: "" },
      { type: "text", text: "", annotations: [] },
      { type: "tool_use", id: "toolu_01", name: "search", input: { query: "" } },
    ],
    tool_calls: [{ name: "search", args: { query: "" }, id: "toolu_01", type: "tool_call" }],
    response_metadata: {
      model_provider: "anthropic",
      model: "claude-sonnet-4-5-20250929",
      stop_reason: "tool_use",
      stop_sequence: null,
      usage: {
        input_tokens: 1024,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
        output_tokens: 64,
        service_tier: "standard",
      },
    },
    usage_metadata: {
      input_tokens: 1024,
      output_tokens: 64,
      total_tokens: 1088,
      input_token_details: { cache_creation: 0, cache_read: 0 },
    },
  }),
  new AIMessage({
    id: `chatcmpl-${uuid}`,
    content: words.answer,
    additional_kwargs: {
      tool_calls: [
        { id: "call_", type: "function", function: { name: "search", arguments: '{"query":""}' } },
      ],
    },
    response_metadata: {
      tokenUsage: { promptTokens: 512, completionTokens: 32, totalTokens: 544 },
      finish_reason: "tool_calls",
      model_provider: "openai",
      model_name: "gpt-4.1-mini-2025-04-14",
      usage: {
        prompt_tokens: 512,
        completion_tokens: 32,
        total_tokens: 544,
        prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
        completion_tokens_details: {
          reasoning_tokens: 0,
          audio_tokens: 0,
          accepted_prediction_tokens: 0,
          rejected_prediction_tokens: 0,
        },
      },
      system_fingerprint: "fp_",
    },
    tool_calls: [],
    usage_metadata: {
      output_tokens: 32,
      input_tokens: 512,
      total_tokens: 544,
      input_token_details: { audio: 0, cache_read: 0 },
      output_token_details: { audio: 0, reasoning: 0 },
    },
  }),
  new ToolMessage({
    content: '{"error":"Error: Failed to fetch\\n Please fix your mistakes."}',
    tool_call_id: "toolu_01",
    name: "search",
    status: "error",
  }),
  new ToolMessage({
    content: words.json,
    id: uuid,
    tool_call_id: "call_",
    name: "search",
    status: "success",
    artifact: {},
  }),
  new HumanMessage({ content: words.question, id: uuid, name: "user" }),
  new AIMessage({
    content: "",
    id: uuid,
    tool_calls: [{ name: "get_", args: { id: "" }, id: "call_", type: "tool_call" }],
  }),
  new ToolMessage({ content: "[]", tool_call_id: "call_", name: "get_" }),
  new ToolMessage({ content: '{"id":1,"name":"', id: uuid, tool_call_id: "call_", name: "get_" }),
  new HumanMessage({ content: "", id: uuid }),
  new HumanMessage(""),
  new AIMessage({ content: "", tool_calls: [{ name: "", args: {}, id: "call_" }] }),
  new AIMessage({ content: "", id: uuid, tool_calls: [] }),
  new AIMessage(""),
].map((message) => JSON.stringify(message));
