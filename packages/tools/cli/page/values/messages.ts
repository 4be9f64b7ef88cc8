import { isGap, itemsOf, type Gap } from "./items.ts";
import {
  contentOf,
  formatPath,
  isCut,
  isLangChain,
  isObject,
  isRedacted,
  type JsonObject,
  type Step,
} from "./records.ts";

export type Role = "human" | "ai" | "system" | "tool" | "remove" | "other";

/** A piece of a message's content. */
export type Block =
  | {
      readonly kind: "text" | "reasoning";
      readonly text: string;
      /** The whole text's size as JSON, in bytes, if the text was cut. */
      readonly cutBytes?: number | undefined;
      readonly path: readonly Step[];
    }
  | {
      /** An image, a file, audio, …: described, never loaded. */
      readonly kind: "media";
      readonly name: string;
      readonly about: string;
      readonly path: readonly Step[];
    }
  | { readonly kind: "redacted" }
  | { readonly kind: "data"; readonly name: string; readonly value: unknown; readonly path: readonly Step[] };

export interface ToolCall {
  readonly name: string;
  readonly id: string | undefined;
  readonly args: unknown;
  readonly path: readonly Step[];
  /** The error, if the model wrote arguments that can't be read. */
  readonly error?: string | undefined;
}

export interface Usage {
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly total: number | undefined;
}

/** A message as it is shown. */
export interface Message {
  readonly role: Role;
  /** The name of the speaker: "human", "ai", the role of a ChatMessage, a class's name. */
  readonly speaker: string;
  readonly name: string | undefined;
  readonly id: string | undefined;
  readonly blocks: readonly Block[];
  readonly calls: readonly ToolCall[];
  /** The id of the call that a tool's result answers. */
  readonly callId: string | undefined;
  readonly failed: boolean;
  readonly usage: Usage | undefined;
  readonly model: string | undefined;
  readonly finish: string | undefined;
  /** The message's position in the list. */
  readonly index: number;
  readonly path: readonly Step[];
}

const roles: Readonly<Record<string, Role>> = {
  human: "human",
  user: "human",
  ai: "ai",
  assistant: "ai",
  system: "system",
  developer: "system",
  tool: "tool",
  function: "tool",
  remove: "remove",
};

/** The fields and the speaker of a message; undefined if the value isn't a message. */
export function messageFields(
  value: unknown,
): { readonly speaker: string; readonly fields: JsonObject } | undefined {
  if (isLangChain(value)) {
    const found = /^(.+?)Message(?:Chunk)?$/.exec(String(value.id.at(-1)));
    if (found === null) return undefined;
    const { role } = value.kwargs;
    const isChat = found[1] === "Chat" && typeof role === "string";
    return { speaker: isChat ? role : found[1]!.toLowerCase(), fields: value.kwargs };
  }
  if (!isObject(value)) return undefined;
  const { type, data, role, content } = value;
  // The form of messages in diffs.
  if (typeof type === "string" && isObject(data) && "content" in data) return { speaker: type, fields: data };
  // As OpenAI's API has them.
  const isKnown = typeof role === "string" && Object.hasOwn(roles, role);
  if (
    isKnown &&
    (content === null || typeof content === "string" || Array.isArray(content) || isCut(content))
  )
    return { speaker: role, fields: value };
  return undefined;
}

/** Whether a value is a list of messages. Some of them may have been left out. */
export function isConversation(value: unknown): boolean {
  const list = contentOf(value);
  if (!Array.isArray(list)) return false;
  let messages = 0;
  for (const item of list as unknown[]) {
    if (messageFields(item) !== undefined) messages += 1;
    else if (!isCut(item) && !isRedacted(item)) return false;
  }
  return messages > 0;
}

/** Reads one message. @param path of it, within its channel */
export function messageOf(value: unknown, index: number, path: readonly Step[]): Message | undefined {
  const found = messageFields(value);
  if (found === undefined) return undefined;
  const { speaker, fields } = found;
  const meta = isObject(fields["response_metadata"]) ? fields["response_metadata"] : {};
  const content = blocksOf(fields["content"], [...path, "content"]);
  const thought = isObject(fields["additional_kwargs"])
    ? fields["additional_kwargs"]["reasoning_content"]
    : undefined;
  const blocks =
    typeof thought === "string"
      ? [
          {
            kind: "reasoning",
            text: thought,
            path: [...path, "additional_kwargs", "reasoning_content"],
          } as const,
          ...content,
        ]
      : content;
  return {
    role: roles[speaker] ?? "other",
    speaker,
    name: textIn(fields, "name"),
    id: textIn(fields, "id"),
    blocks,
    calls: callsOf(fields, path),
    callId: textIn(fields, "tool_call_id"),
    failed: fields["status"] === "error",
    usage: usageOf(fields["usage_metadata"]),
    model: textIn(meta, "model_name") ?? textIn(meta, "model"),
    finish: textIn(meta, "finish_reason") ?? textIn(meta, "stop_reason"),
    index,
    path,
  };
}

function textIn(fields: JsonObject, key: string): string | undefined {
  const value = fields[key];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function numberIn(fields: JsonObject, key: string): number | undefined {
  const value = fields[key];
  return typeof value === "number" ? value : undefined;
}

function usageOf(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  const [input, output] = [numberIn(value, "input_tokens"), numberIn(value, "output_tokens")];
  const total = numberIn(value, "total_tokens");
  return input === undefined && output === undefined && total === undefined
    ? undefined
    : { input, output, total };
}

function blocksOf(content: unknown, path: readonly Step[]): Block[] {
  if (typeof content === "string") return content === "" ? [] : [{ kind: "text", text: content, path }];
  if (content === null || content === undefined) return [];
  if (isRedacted(content)) return [{ kind: "redacted" }];
  if (isCut(content) && content.begins !== undefined)
    return [{ kind: "text", text: content.begins, cutBytes: content.bytes, path }];
  if (!Array.isArray(content)) return [{ kind: "data", name: "content", value: content, path }];
  return itemsOf(content, formatPath(path)).flatMap((part): Block[] =>
    isGap(part)
      ? [{ kind: "data", name: `${part.to - part.from} more blocks`, value: content, path }]
      : blockOf(part.value, [...path, part.index]),
  );
}

function blockOf(block: unknown, path: readonly Step[]): Block[] {
  if (!isObject(block) || isCut(block) || isRedacted(block)) return blocksOf(block, path);
  const type = typeof block["type"] === "string" ? block["type"] : "block";
  for (const key of ["text", "reasoning", "thinking", "refusal"]) {
    if (block[key] === undefined) continue;
    const kind = key === "text" || key === "refusal" ? "text" : "reasoning";
    return blocksOf(block[key], [...path, key]).map((found) =>
      found.kind === "text" ? { ...found, kind } : found,
    );
  }
  // Calls are shown from the message's list of calls.
  if (/^(tool_use|tool_call|function_call|input_json_delta)$/.test(type)) return [];
  if (/image|audio|video|file|document|media/.test(type))
    return [{ kind: "media", name: type.replaceAll("_", " "), about: mediaText(block), path }];
  return [{ kind: "data", name: type, value: block, path }];
}

/** Describes an image or a file, without its bytes. */
function mediaText(block: JsonObject): string {
  const about: string[] = [];
  const source = block["image_url"] ?? block["source"] ?? block["file"] ?? block["input_audio"] ?? block;
  const fields = isObject(source) && !isCut(source) ? source : {};
  for (const key of ["filename", "title", "mime_type", "media_type", "format", "detail", "id", "file_id"])
    if (typeof fields[key] === "string") about.push(fields[key]);
  const data =
    typeof source === "string" || isCut(source)
      ? source
      : (fields["url"] ?? fields["data"] ?? fields["file_data"]);
  const text = isCut(data) ? (data.begins ?? "") : typeof data === "string" ? data : "";
  const inData = /^data:([^;,]*)/.exec(text);
  if (inData !== null) about.push(inData[1]!);
  else if (/^[a-z]+:\/\//i.test(text)) about.push(text.slice(0, 200));
  const size = isCut(data) ? data.bytes : text.length;
  if (size > 0 && (inData !== null || !text.includes("://")))
    about.push(`${Math.ceil((size * 3) / 4000)} kB`);
  return about.join(" · ");
}

function callsOf(fields: JsonObject, path: readonly Step[]): ToolCall[] {
  const calls = listIn(fields, "tool_calls").map((call, n): ToolCall => {
    const { name, id, args } = Object(contentOf(call)) as JsonObject;
    const raw = Object(contentOf(call)) as JsonObject;
    // As OpenAI's API has them.
    const inner = isObject(raw["function"]) ? raw["function"] : undefined;
    return {
      name: String(name ?? inner?.["name"] ?? "tool"),
      id: typeof id === "string" ? id : undefined,
      args: args ?? inner?.["arguments"],
      path: [...path, "tool_calls", n, args === undefined ? "function" : "args"],
    };
  });
  const invalid = listIn(fields, "invalid_tool_calls").map((call, n): ToolCall => {
    const { name, id, args, error } = Object(contentOf(call)) as JsonObject;
    return {
      name: String(name ?? "tool"),
      id: typeof id === "string" ? id : undefined,
      args,
      path: [...path, "invalid_tool_calls", n, "args"],
      error: typeof error === "string" ? error : "The arguments can't be read.",
    };
  });
  return [...calls, ...invalid];
}

function listIn(fields: JsonObject, key: string): unknown[] {
  const list = contentOf(fields[key]);
  return Array.isArray(list) ? list.filter((item) => isObject(item) && !isCut(item)) : [];
}

/** A tool call and its result. */
export interface JoinedCall extends ToolCall {
  readonly result: Message | undefined;
}

/** A line of a conversation. */
export type Turn =
  | { readonly kind: "message"; readonly message: Message; readonly calls: readonly JoinedCall[] }
  | { readonly kind: "gap"; readonly gap: Gap }
  | { readonly kind: "hidden"; readonly index: number };

/** The turns of a conversation. Tool results are put beneath the calls that they answer, wherever in the list they are. */
export function turnsOf(value: unknown, path: readonly Step[]): Turn[] {
  const found = itemsOf(contentOf(value), formatPath(path)).map((part): Turn => {
    if (isGap(part)) return { kind: "gap", gap: part };
    const message = messageOf(part.value, part.index, [...path, part.index]);
    return message === undefined
      ? { kind: "hidden", index: part.index }
      : { kind: "message", message, calls: [] };
  });
  const results = new Map<string, Message>();
  for (const turn of found) {
    if (turn.kind !== "message" || turn.message.role !== "tool") continue;
    const { callId } = turn.message;
    if (callId !== undefined && !results.has(callId)) results.set(callId, turn.message);
  }
  const joined = new Set<Message>();
  const turns = found.map((turn): Turn => {
    if (turn.kind !== "message") return turn;
    const calls = turn.message.calls.map((call): JoinedCall => {
      const result = call.id === undefined ? undefined : results.get(call.id);
      // A result belongs to one call, and comes after it.
      if (result === undefined || joined.has(result) || result.index < turn.message.index)
        return { ...call, result: undefined };
      joined.add(result);
      return { ...call, result };
    });
    return { ...turn, calls };
  });
  return turns.filter((turn) => turn.kind !== "message" || !joined.has(turn.message));
}
