import type { VNode } from "preact";
import type { Bar } from "./figures.ts";

/** A list of bars with labels and values. */
export function Bars({ label, bars }: { readonly label: string; readonly bars: readonly Bar[] }): VNode {
  const top = Math.max(1, ...bars.map(({ value }) => value));
  return (
    <ul class="bars" aria-label={label}>
      {bars.map(({ label: name, value, text, note }) => (
        <li key={name} title={note}>
          <span class="bars-label mono clip">{name}</span>
          <svg class="bars-bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
            <rect class="bars-ground" x="0" y="0" width="100" height="8" />
            <rect
              class="bars-value"
              x="0"
              y="0"
              width={value === 0 ? 0 : Math.max(0.5, (value / top) * 100)}
              height="8"
            />
          </svg>
          <span class="bars-text">{text}</span>
          <span class="bars-note faint clip">{note}</span>
        </li>
      ))}
    </ul>
  );
}
