import { describe, expect, test } from "vitest";
import { checkOptions, didYouMean } from "../../src/contract/checkOptions.ts";

interface Options {
  readonly keepLast?: number;
  readonly strategy?: string;
}
const names = { keepLast: true, strategy: true } as const;
const check = (given: unknown, advice = {}): void =>
  checkOptions<Options>("prune", given as Options, names, advice);

describe("checking options", () => {
  test("what is known, absent or undefined passes", () => {
    check(undefined);
    check({ keepLast: 3, strategy: "delete" });
    check({ keep_last: undefined });
  });

  test("an unknown name is an error that says which name was meant", () => {
    expect(() => check({ keep_last: 20 })).toThrow(
      /Invalid option keep_last: found "20"\. prune has no such option\. Did you mean keepLast\? Its options: keepLast, strategy\./,
    );
    expect(() => check({ zebra: {} })).toThrow(/found "an object"\. prune has no such option\. Its options/);
  });

  test("names of other savers have an answer of their own", () => {
    expect(() => check({ keep: 1 }, { keep: "Here it is called keepLast." })).toThrow(
      /Here it is called keepLast/,
    );
  });

  test.each([
    ["text", "ada"],
    ["a list", ["ada"]],
    ["null", null],
    ["a number", 3],
  ])("%s is no options object", (_, given) => {
    expect(() => check(given)).toThrow(
      /Invalid option options: .* prune takes an object of keepLast, strategy/,
    );
  });

  test.each([
    ["schmea", "schema"],
    ["timeOut", "timeout"],
    ["filters", "filter"],
    ["keep_last", "keepLast"],
    ["memroy", "memory"],
  ])("%s was meant to be %s", (wrong, right) => {
    expect(didYouMean(wrong, ["schema", "timeout", "filter", "keepLast", "memory"])).toBe(
      `Did you mean ${right}?`,
    );
  });

  test("nothing is guessed for what resembles nothing", () => {
    expect(didYouMean("zebra", ["schema", "timeout"])).toBeUndefined();
  });
});
