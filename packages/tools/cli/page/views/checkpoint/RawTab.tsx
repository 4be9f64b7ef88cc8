import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { Button } from "../../design/Button.tsx";
import { copy } from "../../design/copy.ts";
import type { Shown } from "./shown.ts";

/** The unchanged result of the operation `show`: JSON of the serde, with its records. */
export function RawTab({ shown }: { readonly shown: Shown }): VNode {
  const text = useMemo(() => JSON.stringify(shown, null, 2), [shown]);
  return (
    <div class="raw">
      <header class="step-head">
        <p class="faint">As the server sent it. Values are JSON of the serializer, and long ones were cut.</p>
        <Button size="small" icon="copy" onClick={() => void copy(text, "Copied the JSON")}>
          Copy
        </Button>
      </header>
      <pre class="raw-text" tabIndex={0} aria-label="JSON">
        {text}
      </pre>
    </div>
  );
}
