import type { Envelope } from "./envelope.ts";
import type { Address } from "../contract/tier.ts";
import { notEncoded } from "./valueErrors.ts";

/** Whose bytes a body or batch is: its checksum covers this, so that a row that ended up elsewhere is noticed. */
export function ownerOf(at: Address, more: string): string[] {
  return [at.namespace, at.checkpointId, more];
}

/** What encryption binds a body to; not the thread, so that a thread can be copied as bytes. */
export function bodyAddress(owner: readonly string[]): string {
  return JSON.stringify(owner);
}

/**
 * A body as it is stored; no promise where nothing has to be waited for.
 * @throws StratigraphError "KEY_UNAVAILABLE", "UNAVAILABLE"
 */
export function wrapBody(
  envelope: Envelope,
  at: Address,
  owner: readonly string[],
  content: Uint8Array,
): Uint8Array | Promise<Uint8Array> {
  const refuse = (cause: unknown): never => {
    throw notEncoded(at, undefined, cause);
  };
  try {
    const wrapped = envelope.wrap(content, bodyAddress(owner));
    return wrapped instanceof Promise ? wrapped.catch(refuse) : wrapped;
  } catch (cause) {
    return refuse(cause);
  }
}
