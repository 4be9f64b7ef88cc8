import { digestOf } from "../identity/fingerprint.ts";

/** What a wrapped chat model has to have. Those of langchain do. */
export interface ModelLike {
  invoke(input: never, options?: never): Promise<unknown>;
}

/** Asks a model: with what is to be recognised, and the config of whoever asks. Gives its answer. */
export type AskModel = (
  question: { readonly tool: string; readonly args: { readonly messages: string; readonly tools: string } },
  config: unknown,
  work: () => Promise<unknown>,
) => Promise<unknown>;

/** A chat model whose `invoke` goes through the journal, also after `bindTools`. Everything else is the model's own. */
export function wrapModel<M extends ModelLike>(model: M, ask: AskModel, tools: unknown = []): M {
  const name = `model:${nameOf(model)}`;
  const invoke = async (input: unknown, options?: unknown): Promise<unknown> => {
    const args = { messages: digestOf(input), tools: digestOf(namesOf(tools)) };
    return await ask({ tool: name, args }, options, () => model.invoke(input as never, options as never));
  };
  const bindTools = (bound: unknown, ...rest: unknown[]): unknown => {
    const { bindTools: bind } = model as { bindTools?: (...given: unknown[]) => ModelLike };
    if (bind === undefined) throw new TypeError(`The model ${name} has no bindTools().`);
    return wrapModel(bind.call(model, bound, ...rest), ask, bound);
  };
  const own = (value: unknown): PropertyDescriptor => ({ value, writable: true, configurable: true });
  return Object.create(model, {
    invoke: own(invoke),
    ...("bindTools" in model ? { bindTools: own(bindTools) } : {}),
  }) as M;
}

function nameOf(model: object): string {
  const { model: name, modelName, bound, constructor } = model as Record<string, unknown>;
  if (typeof bound === "object" && bound !== null) return nameOf(bound);
  if (typeof name === "string") return name;
  return typeof modelName === "string" ? modelName : (constructor as { name: string }).name;
}

function namesOf(tools: unknown): unknown[] {
  const list: unknown[] = Array.isArray(tools) ? tools : [tools];
  return list.map((tool) => (Object(tool) as { name?: unknown }).name ?? tool);
}
