import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { loadSession, session, tokenRefused } from "../api/client.ts";
import { setToken } from "../api/token.ts";
import { Button } from "../design/Button.tsx";
import { Field } from "../design/Field.tsx";

/** Asks for the token if this tab has none, or an old one. */
export function TokenForm(): VNode {
  const [text, setText] = useState("");
  const [error, setError] = useState<string>();
  const submit = async (event: Event) => {
    event.preventDefault();
    setToken(text);
    session.value = undefined;
    try {
      await loadSession();
      location.reload();
    } catch {
      tokenRefused.value = true;
      setError("That isn't the token of the inspector that runs now.");
    }
  };
  return (
    <form class="token" onSubmit={(event) => void submit(event)}>
      <h1>This tab needs the inspector's token</h1>
      <p class="dim">
        <code>stratigraph inspect</code> printed an address when it started. Open that address, or paste it
        here. Each start has a new one.
      </p>
      <Field label="Address or token" value={text} onInput={setText} error={error} mono autoFocus />
      <div>
        <Button tone="primary" submit disabled={text.trim() === ""}>
          Open
        </Button>
      </div>
    </form>
  );
}
