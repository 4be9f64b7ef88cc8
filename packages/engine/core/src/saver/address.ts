import type { RunnableConfig } from "@langchain/core/runnables";
import { shown } from "../contract/checkOptions.ts";
import { InvalidAddressError } from "../contract/errors.ts";
import { isReserved } from "../contract/reservedNamespaces.ts";
import type { Address, MaybeAddress, Namespace } from "../contract/tier.ts";

/** Longest id that is stored, in UTF-16 units. */
export const maxIdLength = 65_536;

/** Names of ids in a config, under `configurable`. */
const inConfigs: ReadonlySet<string> = new Set(["thread_id", "checkpoint_ns", "checkpoint_id"]);

/** Checks an id. All ids in the repository are checked here. @throws InvalidAddressError */
export function validId(field: string, value: unknown, options: { empty?: boolean } = {}): string {
  if (typeof value !== "string") {
    const found = value === null ? "null" : Array.isArray(value) ? "an array" : typeof value;
    const example = inConfigs.has(field) ? `, for example { configurable: { ${field}: "..." } }` : "";
    throw new InvalidAddressError(field, found, `Pass a string${example}.`);
  }
  if (value === "" && options.empty !== true) {
    throw new InvalidAddressError(field, "an empty string", "Pass a string of at least one character.");
  }
  if (value.length > maxIdLength) {
    throw new InvalidAddressError(
      field,
      `${value.length} characters`,
      `Ids have at most ${maxIdLength}; hash or shorten it.`,
    );
  }
  if (!value.isWellFormed()) {
    throw new InvalidAddressError(
      field,
      "text with a lone surrogate",
      "It has no UTF-8 form; encode it (for example as base64) first.",
    );
  }
  return value;
}

/**
 * The id of a thread in a config. A whole number stands for its digits, as it does for LangGraph's PostgresSaver: users' ids are often
 * numbers, and a config's type allows them. @throws InvalidAddressError
 */
export function validThreadId(field: string, value: unknown): string {
  return validId(field, Number.isSafeInteger(value) ? String(value) : value);
}

/** The `configurable` of a config; an empty object if it has none. @throws InvalidAddressError if it isn't a config */
export function configurableOf(config: RunnableConfig, field = "config"): Readonly<Record<string, unknown>> {
  const advice = 'Pass a config such as { configurable: { thread_id: "..." } }.';
  if (typeof config !== "object" || config === null || Array.isArray(config))
    throw new InvalidAddressError(field, shown(config), advice);
  const configurable: unknown = config.configurable ?? {};
  if (typeof configurable !== "object" || Array.isArray(configurable))
    throw new InvalidAddressError(`${field}.configurable`, shown(configurable), advice);
  return configurable as Readonly<Record<string, unknown>>;
}

/**
 * As {@link configurableOf}, for calls where a config without a thread stands for no thread, or for all. There a config that
 * misspells `thread_id` would be taken for one without a thread, so it is refused. @throws InvalidAddressError
 */
export function maybeThreadOf(config: RunnableConfig): Readonly<Record<string, unknown>> {
  const configurable = configurableOf(config);
  if (configurable["thread_id"] !== undefined && configurable["thread_id"] !== null) return configurable;
  const misspelt = Object.keys(configurable).find(
    (name) => /^thread[-_ ]?id$/i.test(name) && name !== "thread_id",
  );
  if (misspelt === undefined) return configurable;
  throw new InvalidAddressError(
    `configurable.${misspelt}`,
    shown(configurable[misspelt]),
    'LangGraph calls it thread_id: { configurable: { thread_id: "..." } }.',
  );
}

/** The namespace that a config names. @throws InvalidAddressError */
export function namespaceOf(config: RunnableConfig): Namespace {
  const { thread_id, checkpoint_ns } = configurableOf(config);
  const namespace = validId("checkpoint_ns", checkpoint_ns ?? "", { empty: true });
  if (isReserved(namespace)) {
    throw new InvalidAddressError(
      "checkpoint_ns",
      shown(namespace),
      "Stratigraph keeps records of its own in namespaces that begin so. Name the graph's node otherwise.",
    );
  }
  return { threadId: validThreadId("thread_id", thread_id), namespace };
}

/**
 * The checkpoint id that a config names, or undefined. `thread_ts` is LangGraph's older name for it, which counts if the newer one is
 * absent. @throws InvalidAddressError
 */
export function checkpointIdOf(config: RunnableConfig, field = "config"): string | undefined {
  const { checkpoint_id, thread_ts } = configurableOf(config, field);
  const id = isGiven(checkpoint_id) ? checkpoint_id : thread_ts;
  return isGiven(id) ? validId("checkpoint_id", id) : undefined;
}

function isGiven(id: unknown): boolean {
  return id !== undefined && id !== null && id !== "";
}

/** The namespace that a config names, and its checkpoint if it names one. @throws InvalidAddressError */
export function addressOf(config: RunnableConfig): MaybeAddress {
  return { ...namespaceOf(config), checkpointId: checkpointIdOf(config) };
}

/** A config with exactly the three keys that LangGraph compares. */
export function configOf(at: Address): {
  configurable: { thread_id: string; checkpoint_ns: string; checkpoint_id: string };
} {
  return {
    configurable: { thread_id: at.threadId, checkpoint_ns: at.namespace, checkpoint_id: at.checkpointId },
  };
}
