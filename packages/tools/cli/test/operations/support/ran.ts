import type { TierSaver } from "@stratigraph/core";
import { operations, runOperation } from "../../../src/operations/index.ts";
import { expect } from "vitest";
import { testContext } from "./testContext.ts";

/** An id that would move a cursor, end a quote, and turn text around, if it were printed as it is. */
export const hostileId = `'; drop\u001b[31m "\u202ethread\u0007🐢`;

/** Runs an operation, and renders what it answers; nothing that a terminal would obey may be in that. */
export async function ran<Output = Readonly<Record<string, unknown>>>(
  name: string,
  input: object,
  saver: TierSaver,
  given: Parameters<typeof testContext>[1] = {},
) {
  const operation = operations.find((each) => each.name === name)!;
  const output = await runOperation(operation, input, testContext(saver, given));
  const text = [...operation.render(output)].join("\n");
  // oxlint-disable-next-line no-control-regex -- these must not reach a terminal
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
  return { output: output as Output, text, found: operation.found?.(output) ?? false };
}
