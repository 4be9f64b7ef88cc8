import { describe, expect, test } from "vitest";
import { resultText } from "../../../page/views/journal/resultText.ts";
import {
  about,
  channelBars,
  growthColumns,
  largest,
  ratioText,
  type Stats,
} from "../../../page/views/storage/figures.ts";
import {
  badgeOf,
  entryTone,
  resultError,
  statusOf,
  tookText,
  type Audit,
} from "../../../page/views/journal/texts.ts";
import {
  keyOf,
  progressText,
  sorted,
  verdict,
  type Finding,
  type Report,
} from "../../../page/views/verify/findings.ts";

describe("the journal's texts", () => {
  const audit: Audit = {
    thread: "ada",
    status: "verified",
    entries: 1,
    from: 1,
    to: 1,
    signed: 0,
    keys: [],
    missing: [],
    proves: [],
    open: [],
  };

  test("a badge says what an audit found", () => {
    expect(badgeOf(undefined)).toBeUndefined();
    expect(badgeOf(audit)).toEqual({ text: "Chain verified, 1 entry", tone: "green" });
    expect(badgeOf({ ...audit, entries: 4200 })!.text).toBe("Chain verified, 4,200 entries");
    expect(badgeOf({ ...audit, status: "broken", brokenAt: 7 })).toEqual({
      text: "Chain broken at entry 7",
      tone: "red",
    });
    expect(badgeOf({ ...audit, status: "unproven", missing: ["2026"] })!.text).toBe(
      "Not verified: key 2026 is missing",
    );
  });

  test("outcomes and entries have colours, and unknown entries a neutral one", () => {
    expect(statusOf("unresolved")).toMatchObject({ label: "Unresolved", tone: "amber" });
    expect(["succeeded", "denied", "late", "resolved", "something new"].map(entryTone)).toEqual([
      "green",
      "red",
      "amber",
      "violet",
      "neutral",
    ]);
  });

  test("a result has to be JSON, or nothing", () => {
    expect([resultError(""), resultError(' "x" '), resultError("{}")]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(resultError("receipt 7")).toContain("JSON");
  });

  test("a result on one line: the content of a message, a text without quotes, anything else as a value", () => {
    expect(resultText("a\n  b", 20)).toBe("a b");
    expect(resultText({ content: "sent", name: "mail", status: "success" }, 20)).toBe("sent");
    expect(resultText({ id: 7 }, 20)).toBe("{id: 7}");
    expect(resultText("x".repeat(30), 10)).toBe(`${"x".repeat(9)}…`);
  });

  test("lengths of time", () => {
    expect([3, 1234, 61_000, 240_000].map(tookText)).toEqual(["3 ms", "1.2 s", "1 min", "4 min"]);
  });
});

describe("the figures of a storage", () => {
  test("the largest bars stay, and one stands for the others", () => {
    const bars = [1, 5, 3, 2].map((value) => ({ label: `c${value}`, value, text: "" }));
    expect(largest(bars, 4).map(({ value }) => value)).toEqual([5, 3, 2, 1]);
    expect(largest(bars, 3).map(({ label, value }) => [label, value])).toEqual([
      ["c5", 5],
      ["c3", 3],
      ["2 others", 3],
    ]);
    const channels = [{ channel: "", values: 2, bytes: 10 }];
    expect(channelBars({ channels } as unknown as Stats)).toMatchObject([
      { label: "pending writes, bases", text: "10 B" },
    ]);
  });

  test("growth has a column for each day, also for those without a write", () => {
    const days = [
      { day: "2026-03-09", checkpoints: 1, bytes: 50 },
      { day: "2026-03-01", checkpoints: 2, bytes: 100 },
    ];
    const columns = growthColumns(days, { width: 140, height: 100, most: 60 });
    expect(columns.map(({ day }) => day).slice(0, 2)).toEqual(["2026-02-24", "2026-02-25"]);
    expect(columns).toHaveLength(14);
    expect(columns[5]).toMatchObject({ day: "2026-03-01", x: 50, y: 0, height: 100, width: 8 });
    expect(columns.at(-1)).toMatchObject({ day: "2026-03-09", y: 50, height: 50, x: 130 });
    expect(columns[6]!.height).toBe(0);
    expect(growthColumns(days, { width: 90, height: 100, most: 3 }).map(({ day }) => day.slice(8))).toEqual([
      "07",
      "08",
      "09",
    ]);
    expect(growthColumns([days[0]!], { width: 90, height: 100, most: 60 })).toHaveLength(14);
    expect(growthColumns([], { width: 90, height: 100, most: 60 })).toEqual([]);
  });

  test("ratios, and estimated figures", () => {
    expect([ratioText(undefined), ratioText(8.44), ratioText(123.4)]).toEqual(["unknown", "8.4 ×", "123 ×"]);
    expect([about(true, "5 kB"), about(false, "5 kB")]).toEqual(["about 5 kB", "5 kB"]);
  });
});

describe("what verifying found", () => {
  const finding: Finding = {
    kind: "gap",
    severity: "info",
    tier: "warm",
    part: "record",
    thread: "b",
    namespace: "",
    concerns: 1,
    involved: [],
    meaning: "",
    goodIn: [],
  };
  const report: Report = {
    complete: true,
    startedAt: "2026-03-01T00:00:00Z",
    tiers: [],
    totals: { threads: 1, checkpoints: 1, writes: 0, blobs: 0, bytes: 0, seconds: 0, findings: {} },
    findings: [],
    leftOut: 0,
    unsettled: 0,
    unreachable: [],
  };

  test("the worst comes first, and findings are told apart", () => {
    const error: Finding = { ...finding, severity: "error", thread: "z" };
    expect(sorted([finding, { ...error }, { ...error, thread: "a" }]).map(({ thread }) => thread)).toEqual([
      "a",
      "z",
      "b",
    ]);
    expect(new Set([finding, error, { ...finding, channel: "x" }].map(keyOf)).size).toBe(3);
  });

  test("a verdict counts by severity, and says if not everything was looked at", () => {
    expect(verdict(report)).toEqual({ text: "Everything is there, whole and in order.", tone: "green" });
    expect(verdict({ ...report, complete: false })).toMatchObject({ tone: "amber" });
    expect(verdict({ ...report, findings: [finding, { ...finding, severity: "error" }] })).toEqual({
      text: "1 damaged, 1 only take room.",
      tone: "red",
    });
    expect(verdict({ ...report, findings: [{ ...finding, severity: "warning" }], leftOut: 9 }).text).toBe(
      "1 to look at, 9 more.",
    );
  });

  test("progress, with and without an end", () => {
    expect(progressText({ done: 1204, total: 9000, unit: "threads" })).toBe("1,204 of 9,000 threads");
    expect(progressText({ done: 3, unit: "threads" })).toBe("3 threads");
  });
});
