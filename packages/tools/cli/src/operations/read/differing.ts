import { isCut, type CutRecord } from "../values/cut.ts";
import { isObject } from "../values/records.ts";

/** A text that was cut at both ends. `begins` starts after the first `skips` characters, which are equal on both sides of the change. */
export interface DifferingText extends CutRecord {
  /** How many characters before `begins` are left out. */
  readonly skips: number;
}

/** How many characters are shown before a difference: a few words, so that a terminal shows the difference on its line. */
const around = 40;

/** A value, whole and cut. */
interface Side {
  readonly whole: unknown;
  readonly cut: unknown;
}

/**
 * The two sides of a change, cut so that the difference is seen. If two texts begin alike for longer than is shown, both are shown
 * from shortly before the difference. Doesn't change its arguments.
 */
export function showDiffering(before: Side, after: Side): [before: unknown, after: unknown] {
  if (typeof before.whole === "string" && typeof after.whole === "string")
    return texts(before.whole, before.cut, after.whole, after.cut);
  // If items of a list were left out, an index may mean another item.
  const keys = keysOf(before).filter((key) => keysOf(after).includes(key));
  if (keys.length === 0 || Array.isArray(before.cut) !== Array.isArray(after.cut))
    return [before.cut, after.cut];
  const shown = [before.cut, after.cut].map((cut) =>
    Array.isArray(cut) ? [...(cut as unknown[])] : { ...(cut as object) },
  ) as [Record<string, unknown>, Record<string, unknown>];
  for (const key of keys)
    [shown[0][key], shown[1][key]] = showDiffering(partOf(before, key), partOf(after, key));
  return shown;
}

function keysOf({ whole, cut }: Side): string[] {
  if (isCut(cut)) return [];
  if (Array.isArray(whole))
    return Array.isArray(cut) && cut.length === whole.length ? Object.keys(whole) : [];
  return isObject(whole) && isObject(cut) ? Object.keys(cut).filter((key) => Object.hasOwn(whole, key)) : [];
}

function partOf({ whole, cut }: Side, key: string): Side {
  return { whole: (whole as Record<string, unknown>)[key], cut: (cut as Record<string, unknown>)[key] };
}

function texts(before: string, beforeCut: unknown, after: string, afterCut: unknown): [unknown, unknown] {
  const lengths = [beforeCut, afterCut].flatMap((each) => (isCut(each) ? [each.begins?.length ?? 0] : []));
  const alike = commonLength(before, after);
  // The difference is shown already, or nothing was cut.
  if (lengths.length === 0 || alike < Math.min(...lengths)) return [beforeCut, afterCut];
  const from = beginningAt(before, Math.max(0, alike - around));
  const length = Math.max(...lengths);
  const shown = (text: string, cut: unknown): DifferingText => ({
    ...(isCut(cut) ? cut : { lc: 2, type: "sg:cut", bytes: Buffer.byteLength(JSON.stringify(text)) }),
    path: `[${from}:]`,
    begins: text.slice(from, beginningAt(text, from + length)),
    skips: from,
  });
  return [shown(before, beforeCut), shown(after, afterCut)];
}

function commonLength(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a.charCodeAt(length) === b.charCodeAt(length)) length += 1;
  return length;
}

/** `at`, or the position before it if `at` is within a character. */
function beginningAt(text: string, at: number): number {
  return /[\uDC00-\uDFFF]/.test(text.charAt(at)) && /[\uD800-\uDBFF]/.test(text.charAt(at - 1)) ? at - 1 : at;
}
