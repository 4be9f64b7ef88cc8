import { StratigraphError } from "@stratigraph/core";
import { expect } from "vitest";

/**
 * A call is refused with an error that names the option, says what was found and what to do. It shows no secret: in tests,
 * passwords are "hunter2".
 */
export async function expectRefused(work: () => unknown, field: string, says: string): Promise<void> {
  const error: unknown = await (async () => await work())().then(
    () => new Error("It was accepted."),
    (reason: unknown) => reason,
  );
  if (!StratigraphError.is(error, "INVALID_OPTION")) throw error;
  expect(error.data["field"]).toBe(field);
  expect(error.message).toContain(`Invalid option ${field}: found `);
  expect(error.message).toContain(says);
  expect(error.message).not.toContain("hunter2");
}
