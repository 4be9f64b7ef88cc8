import { randomBytes } from "node:crypto";

/**
 * A key for a service that takes idempotency keys. It reveals nothing about the call, and equal calls of two threads have different keys.
 * It is recorded with the call's first claim, and kept for all attempts.
 */
export function newIdempotencyKey(): string {
  return randomBytes(32).toString("hex");
}
