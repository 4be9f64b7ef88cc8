import type { Address } from "./tier.ts";

/** Whose bytes a body or batch is: its checksum covers this, so that a row that ended up elsewhere is noticed. */
export function ownerOf(at: Address, more: string): string[] {
  return [at.namespace, at.checkpointId, more];
}

/** What encryption binds a body to; not the thread, so that a thread can be copied as bytes. */
export function bodyAddress(owner: readonly string[]): string {
  return JSON.stringify(owner);
}
