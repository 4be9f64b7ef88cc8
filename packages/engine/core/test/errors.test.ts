import { readFileSync } from "node:fs";
import { join } from "node:path";
import { InvalidOptionError, NotFoundError, StratigraphError } from "@stratigraph/core";
import ts from "typescript";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");

/** The codes of the type ErrorCode. */
function codes(): string[] {
  const text = readFileSync(join(root, "src/contract/errors.ts"), "utf8");
  const tree = ts.createSourceFile("errors.ts", text, ts.ScriptTarget.ESNext, true);
  const type = tree.statements
    .filter(ts.isTypeAliasDeclaration)
    .find(({ name }) => name.text === "ErrorCode")!;
  return (type.type as ts.UnionTypeNode).types.map(
    (member) => ((member as ts.LiteralTypeNode).literal as ts.StringLiteral).text,
  );
}

/** ERRORS.md by its headings. */
function sections(): Map<string, string> {
  const [, ...parts] = readFileSync(join(root, "ERRORS.md"), "utf8").split(/^## /m);
  return new Map(parts.map((part) => [part.slice(0, part.indexOf("\n")).trim(), part]));
}

test("ERRORS.md has a section per code, in their order, and no other", () => {
  expect(codes().length).toBeGreaterThan(10);
  expect([...sections().keys()]).toEqual(codes());
});

test.each([...sections()])("%s says what happened, which data there is, and what to do", (_code, section) => {
  for (const part of ["**What happened.**", "**Data.**", "**What to do.**"]) {
    expect(section).toContain(part);
    expect(section.split(part)[1]!.split("**")[0]!.trim().length).toBeGreaterThan(3);
  }
});

test("StratigraphError.is knows its own, by code, and those of another copy of the package", () => {
  const error = new InvalidOptionError("ttl", "5", "Use a unit.");
  expect(StratigraphError.is(error)).toBe(true);
  expect(StratigraphError.is(error, "INVALID_OPTION")).toBe(true);
  expect(StratigraphError.is(error, "NOT_FOUND")).toBe(false);
  expect(StratigraphError.is(new NotFoundError("gone", { id: 1 }), "NOT_FOUND")).toBe(true);
  const copied = Object.assign(new Error("x"), { name: "LockedError", code: "LOCKED", data: {} });
  expect(StratigraphError.is(copied, "LOCKED")).toBe(true);
  for (const other of [new Error("x"), Object.assign(new Error("x"), { code: "LOCKED" }), "x", undefined])
    expect(StratigraphError.is(other)).toBe(false);
});
