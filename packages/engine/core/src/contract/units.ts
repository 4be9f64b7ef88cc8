import { InvalidOptionError } from "./errors.ts";

/** A size in bytes, or with a unit: "512kb", "64mb", "2gb" (powers of 1024). */
export type Size = number | `${number}${"b" | "kb" | "mb" | "gb"}`;

/** A duration with a unit: "500ms", "30s", "15m", "12h", "7d". */
export type Duration = `${number}${"ms" | "s" | "m" | "h" | "d"}`;

const sizes: Readonly<Record<string, number>> = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 };
const durations: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

function parse(
  field: string,
  value: unknown,
  units: Readonly<Record<string, number>>,
  example: string,
): number {
  const match = typeof value === "string" ? /^(\d+(?:\.\d+)?)([a-z]+)$/.exec(value) : null;
  const factor = match === null ? undefined : units[match[2]!];
  if (match === null || factor === undefined) {
    throw new InvalidOptionError(
      field,
      value,
      `Use a number with one of the units ${Object.keys(units).join(", ")}, for example ${example}.`,
    );
  }
  return Number(match[1]) * factor;
}

/** A size option in bytes. @throws InvalidOptionError */
export function bytesOf(field: string, value: Size): number {
  if (typeof value !== "number") return Math.floor(parse(field, value, sizes, '"64mb"'));
  if (!Number.isSafeInteger(value) || value < 0)
    throw new InvalidOptionError(field, value, "Use a whole number of bytes, 0 or more.");
  return value;
}

/** Longest wait that can be asked for, in milliseconds: a day. Timers can't wait 25 days: they would fire at once. */
const longestWaitMs = 86_400_000;

/** A duration option for a wait, in milliseconds. @throws InvalidOptionError */
export function waitMsOf(field: string, value: Duration): number {
  const ms = msOf(field, value);
  if (ms > longestWaitMs) throw new InvalidOptionError(field, value, "Use a duration of at most 1d.");
  return ms;
}

/** A duration option in milliseconds. @throws InvalidOptionError */
export function msOf(field: string, value: Duration): number {
  return parse(field, value, durations, '"15m"');
}
