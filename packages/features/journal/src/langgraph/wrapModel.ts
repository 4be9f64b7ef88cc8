import { digestOf } from "../identity/fingerprint.ts";
import { loadConvertTool } from "./langgraph.ts";
import { standIn } from "./standIn.ts";

/** What a wrapped chat model must have. Those of langchain have it. */
export interface ModelLike {
  invoke(input: never, options?: never): Promise<unknown>;
}

/** The data by which a question to a model is recognised: digests. */
export interface ModelQuestion {
  readonly tool: string;
  readonly args: { readonly messages: string; readonly settings: string; readonly tools: string };
}

/** Asks a model, with the data that identifies the question and the caller's config. Returns its answer. */
export type AskModel = (
  question: ModelQuestion,
  config: unknown,
  work: () => Promise<unknown>,
) => Promise<unknown>;

/** A chat model whose `invoke` goes through the journal, also after `bindTools`. Everything else is the model's own. */
export function wrapModel<M extends ModelLike>(model: M, ask: AskModel, bound: readonly unknown[] = []): M {
  const name = `model:${nameOf(model)}`;
  const invoke = async (input: unknown, options?: unknown): Promise<unknown> => {
    const [given, ...more] = bound;
    const { tools = [] } = Object(options) as { tools?: unknown };
    const args = {
      messages: digestOf(input),
      settings: digestOf([settingsOf(model), more, callOptionsOf(options)]),
      tools: digestOf(await toolsOf([given, ...toolsWithin(model), tools].flat())),
    };
    return await ask({ tool: name, args }, options, () => model.invoke(input as never, options as never));
  };
  const bindTools = (...given: unknown[]): unknown => {
    const { bindTools: bind } = model as { bindTools?: (...given: unknown[]) => ModelLike };
    if (bind === undefined) throw new TypeError(`The model ${name} has no bindTools().`);
    return wrapModel(bind.apply(model, given), ask, given);
  };
  return standIn(model, { invoke, ...("bindTools" in model ? { bindTools } : {}) });
}

function nameOf(model: object): string {
  const { model: name, modelName, bound, constructor } = model as Record<string, unknown>;
  if (typeof bound === "object" && bound !== null) return nameOf(bound);
  if (typeof name === "string") return name;
  return typeof modelName === "string" ? modelName : (constructor as { name: string }).name;
}

/** Settings that chat models of langchain have in common. */
const commonSettings = [
  "model",
  "modelName",
  "temperature",
  "topP",
  "topK",
  "maxTokens",
  "maxOutputTokens",
  "stop",
  "stopSequences",
  "seed",
  "frequencyPenalty",
  "presencePenalty",
  "reasoning",
  "reasoningEffort",
  "thinking",
] as const;

/** The settings of every question to a model: its own parameters, and what was bound to it. */
function settingsOf(model: object): unknown {
  const { bound, config, kwargs, invocationParams } = model as Binding & {
    invocationParams?: (options: object) => unknown;
  };
  if (bound !== undefined) return [callOptionsOf(config), callOptionsOf(kwargs), settingsOf(bound)];
  const fields = model as Record<string, unknown>;
  const common = Object.fromEntries(commonSettings.map((name) => [name, fields[name] ?? null]));
  try {
    return [common, invocationParams?.call(model, {}) ?? null];
  } catch {
    return [common, null];
  }
}

/** The object that langchain makes of a model and what is bound to it. */
interface Binding {
  readonly bound?: object;
  readonly config?: { readonly tools?: unknown };
  readonly kwargs?: { readonly tools?: unknown };
}

/** The tools that are bound within a model. */
function toolsWithin(model: object): unknown[] {
  const { bound, config, kwargs } = model as Binding;
  return bound === undefined ? [] : [config?.tools, kwargs?.tools, ...toolsWithin(bound)].flat();
}

/** Fields of a config that don't affect a model's answer: those of langchain and LangGraph. */
const configFields = new Set([
  "callbacks",
  "tags",
  "metadata",
  "runName",
  "runId",
  "configurable",
  "recursionLimit",
  "maxConcurrency",
  "timeout",
  "signal",
  "store",
  "cache",
  "state",
  "context",
  "writer",
  "interrupt",
  "control",
  "runtime",
  "heartbeat",
  "executionInfo",
  "serverInfo",
  "streamMode",
  "durability",
  "checkpointDuring",
  "toolCallId",
  "toolCall",
]);

/** The options of a call to a model, besides its messages. */
function callOptionsOf(options: unknown): Record<string, unknown> {
  const entries = Object.entries(Object(options) as Record<string, unknown>);
  // Tools are compared separately: langchain makes new objects of them.
  return Object.fromEntries(entries.filter(([name]) => !configFields.has(name) && name !== "tools"));
}

/** Tools in the form in which a model sees them: with their schemas. */
async function toolsOf(tools: readonly unknown[]): Promise<unknown[]> {
  const convert = await loadConvertTool();
  return tools.flatMap((tool) => {
    if (tool === undefined) return [];
    const { schema, name } = Object(tool) as { schema?: unknown; name?: unknown };
    if (schema === undefined) return [tool];
    try {
      return [convert(tool)];
    } catch {
      return [name];
    }
  });
}
