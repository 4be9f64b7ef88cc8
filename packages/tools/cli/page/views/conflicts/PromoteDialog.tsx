import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { call, type ApiError } from "../../api/client.ts";
import { errorFrom, useResource } from "../../api/resource.ts";
import { DiffSummary } from "../../changes/DiffSummary.tsx";
import { toastWithUndo } from "../../changes/undo.ts";
import { Button } from "../../design/Button.tsx";
import { Dialog } from "../../design/Dialog.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import type { Conflict } from "./conflict.ts";

interface PromoteDialogProps {
  readonly conflict: Conflict | undefined;
  readonly onClose: () => void;
  readonly onChange: () => void;
}

/** Shows what changes if a side branch becomes the main line, and then makes it the main line. */
export function PromoteDialog({ conflict, onClose, onChange }: PromoteDialogProps): VNode {
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<ApiError>();
  const { thread = "", namespace = "", checkpoint = "" } = conflict ?? {};
  const diff = useResource(
    conflict === undefined ? undefined : JSON.stringify(["promote", thread, namespace, checkpoint]),
    (signal) =>
      call(
        "diff",
        { from: thread, to: thread, toCheckpoint: checkpoint, namespace, limit: 20, maxBytes: 20_000 },
        { signal },
      ),
  );
  const promote = async () => {
    setBusy(true);
    setFailed(undefined);
    try {
      await call("promote", { at: thread, namespace, checkpoint });
      toastWithUndo(thread, `Promoted: the side branch is the main line of ${thread}`, onChange);
      onChange();
    } catch (thrown) {
      setFailed(errorFrom(thrown));
    }
    setBusy(false);
  };
  return (
    <Dialog
      open={conflict !== undefined}
      wide
      title={
        <>
          Promote a side branch of <span class="mono">{thread}</span>?
        </>
      }
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button tone="primary" icon="up" busy={busy} onClick={() => void promote()}>
            Promote
          </Button>
        </>
      }
    >
      <p class="dim">
        It becomes the head. The present main line stays as a side branch, and undo takes the change back. The
        state would change like this:
      </p>
      {failed === undefined ? null : <ErrorBox error={failed} />}
      {diff.error === undefined ? null : <ErrorBox error={diff.error} onRetry={diff.reload} />}
      {diff.data === undefined || diff.stale ? (
        diff.error === undefined ? (
          <Skeleton rows={4} />
        ) : null
      ) : (
        <DiffSummary channels={diff.data.channels} />
      )}
    </Dialog>
  );
}
