import type { VNode } from "preact";
import { Time } from "../../design/Texts.tsx";
import { entryTone, type Call } from "./texts.ts";

/** The journal's entries about a call, oldest first. */
export function Entries({ entries }: { readonly entries: Call["entries"] }): VNode {
  return (
    <ol class="journal-entries">
      {entries.map(({ seq, at, type, text, author }) => (
        <li key={seq}>
          <span class={`journal-mark journal-mark-${entryTone(type)}`} aria-hidden="true" />
          <span class="journal-seq mono faint" title={`Entry ${seq}`}>
            {seq}
          </span>
          <span class="journal-said">
            {text}
            {author === undefined ? null : <span class="journal-author"> by {author}</span>}
          </span>
          <span class="faint">
            <Time at={at} />
          </span>
        </li>
      ))}
    </ol>
  );
}
