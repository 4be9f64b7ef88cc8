import type { OutputOf } from "../../../src/operations/index.ts";
import { bytesText, countText } from "../../design/units.ts";

export type Stats = OutputOf<"stats">;

/** A bar of a chart. */
export interface Bar {
  readonly label: string;
  readonly value: number;
  /** The text at its end. */
  readonly text: string;
  readonly note?: string | undefined;
}

/** The largest bars, and one bar for all others. */
export function largest(bars: readonly Bar[], most: number): Bar[] {
  const sorted = bars.toSorted((a, b) => b.value - a.value);
  if (sorted.length <= most) return sorted;
  const rest = sorted.slice(most - 1);
  const value = rest.reduce((sum, bar) => sum + bar.value, 0);
  return [
    ...sorted.slice(0, most - 1),
    { label: `${countText(rest.length)} others`, value, text: bytesText(value) },
  ];
}

/** Bytes by channel, the largest first. */
export function channelBars({ channels }: Stats): Bar[] {
  const bars = channels.map(({ channel, bytes, values }) => ({
    label: channel === "" ? "pending writes, bases" : channel,
    value: bytes,
    text: bytesText(bytes),
    note: `${countText(values)} values`,
  }));
  return largest(bars, 12);
}

/** Bytes by tier, nearest first. */
export function tierBars({ tiers }: Stats): Bar[] {
  return tiers.map(({ tier, role, bytes, checkpoints, error }) => ({
    label: `${tier} (${role})`,
    value: bytes,
    text: error === undefined ? bytesText(bytes) : "unknown",
    note: error ?? `${countText(checkpoints)} checkpoints`,
  }));
}

/** A day of the growth chart, with its place in pixels. */
export interface Column {
  readonly day: string;
  readonly bytes: number;
  readonly checkpoints: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** The days up to the newest one, without gaps. Days without writes are columns without height. */
export function growthColumns(
  days: Stats["growth"]["days"],
  { width, height, most }: { readonly width: number; readonly height: number; readonly most: number },
): Column[] {
  const known = new Map(days.map((each) => [each.day, each]));
  const newest = days
    .map(({ day }) => day)
    .toSorted()
    .at(-1);
  if (newest === undefined) return [];
  const oldest = days.map(({ day }) => day).toSorted()[0]!;
  const dayMs = 86_400_000;
  const span = Math.round((Date.parse(newest) - Date.parse(oldest)) / dayMs) + 1;
  const count = Math.min(most, Math.max(span, 14));
  const shown = Array.from({ length: count }, (_, n) => {
    const day = new Date(Date.parse(newest) - (count - 1 - n) * dayMs).toISOString().slice(0, 10);
    return known.get(day) ?? { day, bytes: 0, checkpoints: 0 };
  });
  const top = Math.max(1, ...shown.map(({ bytes }) => bytes));
  const step = width / count;
  return shown.map(({ day, bytes, checkpoints }, n) => {
    const tall = bytes === 0 ? 0 : Math.max(1, (bytes / top) * height);
    return {
      day,
      bytes,
      checkpoints,
      x: n * step,
      y: height - tall,
      width: Math.max(1, step - 2),
      height: tall,
    };
  });
}

/** How many times larger the plain states would be than the stored bytes: "8.4 ×". */
export function ratioText(ratio: number | undefined): string {
  return ratio === undefined ? "unknown" : `${ratio >= 100 ? Math.round(ratio) : ratio.toFixed(1)} ×`;
}

/** Marks an estimated figure with "about". */
export function about(estimated: boolean, text: string): string {
  return estimated ? `about ${text}` : text;
}
