import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { jsonTokens } from "./jsonTokens.ts";
import "./value.css";

/** A value of moderate size on several lines, coloured. */
export function JsonText({ value }: { readonly value: unknown }): VNode {
  const tokens = useMemo(() => jsonTokens(value), [value]);
  return (
    // It scrolls where it is long, which keys must reach, too.
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
