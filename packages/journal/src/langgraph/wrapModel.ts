import { digestOf } from "../identity/fingerprint.ts";
import { loadConvertTool } from "./langgraph.ts";
import { standIn } from "./standIn.ts";

/** What a wrapped chat model has to have. Those of langchain do. */
export interface ModelLike {
  invoke(input: never, options?: never): Promise<unknown>;
}

/** What is to be recognised of a question to a model: digests. */
export interface ModelQuestion {
  readonly tool: string;
  readonly args: { readonly messages: string; readonly settings: string; readonly tools: string };
}

/** Asks a model: with what is to be recognised, and the config of whoever asks. Gives its answer. */
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

/** What a model would be asked with, whatever it is asked: its own parameters, and what was bound to it. */
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

/** What langchain makes of a model and what is bound to it. */
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

/** Fields of a config that don't tell a model what to answer: those of langchain and LangGraph. */
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

/** What a call asks of a model beside its messages. */
function callOptionsOf(options: unknown): Record<string, unknown> {
  const entries = Object.entries(Object(options) as Record<string, unknown>);
  // Tools are looked at by themselves: langchain makes new objects of them.
  return Object.fromEntries(entries.filter(([name]) => !configFields.has(name) && name !== "tools"));
}

/** Tools as a model is told of them: with their schemas. */
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
