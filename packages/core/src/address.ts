import type { RunnableConfig } from "@langchain/core/runnables";
import { InvalidAddressError } from "./errors.ts";
import type { Address, MaybeAddress, Namespace } from "./tier.ts";

/** Longest id that is stored, in UTF-16 units. */
export const maxIdLength = 65_536;

/** What an id may be; the only id validation in the repository. @throws InvalidAddressError */
export function validId(field: string, value: unknown, options: { empty?: boolean } = {}): string {
  if (typeof value !== "string") {
    const found = value === null ? "null" : Array.isArray(value) ? "an array" : typeof value;
    throw new InvalidAddressError(
      field,
      found,
      `Pass a string, for example { configurable: { ${field}: "..." } }.`,
    );
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

/** The namespace a config names. @throws InvalidAddressError */
export function namespaceOf(config: RunnableConfig): Namespace {
  const { thread_id, checkpoint_ns } = config.configurable ?? {};
  return {
    threadId: validId("thread_id", thread_id),
    namespace: validId("checkpoint_ns", checkpoint_ns ?? "", { empty: true }),
  };
}

/** The checkpoint id a config names, or undefined. `thread_ts` is LangGraph's older name for it. */
export function checkpointIdOf(config: RunnableConfig): string | undefined {
  const id: unknown = config.configurable?.["checkpoint_id"] ?? config.configurable?.["thread_ts"];
  if (id === undefined || id === null || id === "") return undefined;
  return validId("checkpoint_id", id);
}

/** Namespace and, where given, checkpoint. @throws InvalidAddressError */
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
