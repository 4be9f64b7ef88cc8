import { describe, expect, test } from "vitest";
import { checkOptions, didYouMean } from "../../src/contract/checkOptions.ts";
import { bytesOf, msOf, waitMsOf, type Duration, type Size } from "../../src/contract/units.ts";

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

describe("units", () => {
  test.each<[Duration, number]>([
    ["500ms", 500],
    ["1.5s", 1500],
    ["15m", 900_000],
    ["12h", 43_200_000],
    ["7d", 604_800_000],
  ])("%s", (duration, ms) => {
    expect(msOf("ttl", duration)).toBe(ms);
  });

  test.each<[Size, number]>([
    ["10b", 10],
    ["1.5kb", 1536],
    ["64mb", 67_108_864],
    ["2gb", 2_147_483_648],
  ])("%s", (size, bytes) => {
    expect(bytesOf("maxSize", size)).toBe(bytes);
  });

  test("nobody waits longer than a day", () => {
    expect(waitMsOf("wait", "1d")).toBe(86_400_000);
    expect(() => waitMsOf("wait", "25h")).toThrow(/wait: found "25h"\. Use a duration of at most 1d/);
  });
});
