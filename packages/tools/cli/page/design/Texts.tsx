import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { copy } from "./copy.ts";
import "./texts.css";
import { agoText, bytesText, clockText } from "./units.ts";

/** The present time. All relative times share this clock. */
const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 10_000);

/** A time relative to now. Its title has the exact time. */
export function Time({ at }: { readonly at: string | number }): VNode {
  const ms = typeof at === "number" ? at : Date.parse(at);
  if (Number.isNaN(ms)) return <span class="faint">?</span>;
  const iso = new Date(ms).toISOString();
  return (
    <time class="time" dateTime={iso} title={iso}>
      {agoText(ms, Math.max(now.value, Date.now()))}
    </time>
  );
}

/** A time of day. Its title has the exact time. */
export function Clock({ at }: { readonly at: string }): VNode {
  const ms = Date.parse(at);
  if (Number.isNaN(ms)) return <span class="faint">?</span>;
  const iso = new Date(ms).toISOString();
  const { date, time } = clockText(ms, now.value);
  return (
    <time class="time" dateTime={iso} title={iso}>
      {date === undefined ? null : <span class="clock-date faint">{`${date} `}</span>}
      {time}
    </time>
  );
}

/** A number of bytes. Its title has the exact number. */
export function Bytes({ value }: { readonly value: number }): VNode {
  return (
    <span class="bytes" title={`${value.toLocaleString("en")} bytes`}>
      {bytesText(value)}
    </span>
  );
}

interface IdProps {
  readonly value: string;
  /** The part that is shown. Default: all, cut if there isn't enough space. */
  readonly short?: string | undefined;
  /** The kind of thing that the id names, such as "checkpoint". */
  readonly of?: string;
}

/** Ids that begin with a time differ only at their ends. */
function IdText({ text }: { readonly text: string }): VNode {
  const [, time, rest] = /^([\da-f]{8}-)([\da-f-]+)$/.exec(text) ?? [];
  if (time === undefined) return <>{text}</>;
  return (
    <>
      <span class="id-time">{time}</span>
      {rest}
    </>
  );
}

/** An id. A click copies all of it. */
export function Id({ value, short, of = "id" }: IdProps): VNode {
  return (
    <button
      type="button"
      class="id mono clip"
      title={`Copy the ${of} ${value}`}
      onClick={(event) => {
        event.stopPropagation();
        void copy(value, `Copied the ${of}`);
      }}
    >
      <IdText text={short ?? value} />
    </button>
  );
}
