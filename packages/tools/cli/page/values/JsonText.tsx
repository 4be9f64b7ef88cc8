import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { jsonTokens } from "./jsonTokens.ts";
import "./value.css";

/** A value of moderate size as coloured text on several lines. */
export function JsonText({ value }: { readonly value: unknown }): VNode {
  const tokens = useMemo(() => jsonTokens(value), [value]);
  return (
    // A long value scrolls, which must be possible with the keyboard, too.
    <pre class="json-text" tabIndex={0} aria-label="JSON">
      {tokens.map(({ kind, text }, n) =>
        kind === "plain" ? (
          text
        ) : (
          <span key={n} class={`value-${kind}`}>
            {text}
          </span>
        ),
      )}
    </pre>
  );
}
