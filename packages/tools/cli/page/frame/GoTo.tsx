import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { call } from "../api/client.ts";
import { errorFrom } from "../api/resource.ts";
import { Button } from "../design/Button.tsx";
import { Dialog } from "../design/Dialog.tsx";
import { Field } from "../design/Field.tsx";
import { href, navigate } from "../router.ts";

/** Whether the dialog that asks where to go is shown. */
export const goToOpen = signal(false);

const close = () => {
  goToOpen.value = false;
};

/** Goes to a thread, or to one of its checkpoints, by an address in the form that the command line accepts. */
export function GoTo(): VNode {
  return (
    <Dialog open={goToOpen.value} title="Go to" onClose={close}>
      {goToOpen.value ? <Form /> : null}
    </Dialog>
  );
}

function Form(): VNode {
  const [at, setAt] = useState("");
  const [error, setError] = useState<string>();
  const [busy, setBusy] = useState(false);
  const go = async () => {
    setBusy(true);
    try {
      const { thread, checkpoint, head } = await call("show", { at, maxBytes: 1000 });
      close();
      navigate(head ? href("thread", { thread }) : href("checkpoint", { thread, checkpoint }));
    } catch (thrown) {
      setError(errorFrom(thrown).message);
      setBusy(false);
    }
  };
  return (
    <form
      class="go-to"
      onSubmit={(event) => {
        event.preventDefault();
        void go();
      }}
    >
      <Field
        label="Thread or checkpoint"
        value={at}
        onInput={(value) => {
          setAt(value);
          setError(undefined);
        }}
        error={error}
        hint="ada, ada@head~3, ada@step:12, ada@lost:1, or ada@ and the beginning of a checkpoint’s id"
        mono
        autoFocus
      />
      <div class="go-to-actions">
        <Button tone="primary" submit busy={busy} disabled={at.trim() === ""}>
          Go
        </Button>
      </div>
    </form>
  );
}
