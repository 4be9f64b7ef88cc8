import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { call, may } from "../../api/client.ts";
import { errorFrom } from "../../api/resource.ts";
import { undo } from "../../changes/undo.ts";
import { NeedsRight } from "../../changes/needs.tsx";
import { Button, LinkButton } from "../../design/Button.tsx";
import { Dialog } from "../../design/Dialog.tsx";
import { toast } from "../../design/Toast.tsx";
import { href, navigate } from "../../router.ts";

interface ForkActionsProps {
  /** The thread that was forked. */
  readonly source: string;
  readonly fork: string;
  readonly graph: string | undefined;
}

/** The actions for a fork: compare it, merge it back, take it over, undo its last change, or delete it. */
export function ForkActions({ source, fork, graph = "" }: ForkActionsProps): VNode {
  const [asks, setAsks] = useState(false);
  const [busy, setBusy] = useState(false);
  const remove = async () => {
    setBusy(true);
    try {
      await call("delete", { thread: [fork] });
      toast(`Deleted ${fork}`, "green");
      navigate(href("thread", { thread: source }), { replace: true });
    } catch (thrown) {
      toast(errorFrom(thrown).message, "red");
      setBusy(false);
      setAsks(false);
    }
  };
  return (
    <div class="actions">
      <LinkButton icon="compare" href={href("compare", {}, { threads: [source, fork] })}>
        Compare side by side
      </LinkButton>
      <LinkButton icon="diff" href={href("diff", {}, { a: source, b: fork })}>
        Diff
      </LinkButton>
      <LinkButton icon="merge" href={href("merge", { thread: source }, { from: fork, graph })}>
        Merge back
      </LinkButton>
      <LinkButton
        icon="up"
        href={href("merge", { thread: source }, { from: fork, graph, strategy: "theirs" })}
      >
        Take it over as it is
      </LinkButton>
      <span class="spacer" />
      {may("write") ? (
        <Button tone="quiet" icon="undo" onClick={() => void undo(fork)}>
          Undo
        </Button>
      ) : null}
      <Button tone="danger" icon="close" onClick={() => setAsks(true)}>
        Delete this fork
      </Button>
      <Dialog
        open={asks}
        title={`Delete ${fork}?`}
        onClose={() => setAsks(false)}
        actions={
          <>
            <Button onClick={() => setAsks(false)}>Keep it</Button>
            <Button tone="danger" disabled={!may("destroy")} busy={busy} onClick={() => void remove()}>
              Delete for good
            </Button>
          </>
        }
      >
        {may("destroy") ? (
          <p>
            All checkpoints of <span class="mono">{fork}</span> go, from every storage.{" "}
            <span class="mono">{source}</span> isn't touched. It can't be undone.
          </p>
        ) : (
          <NeedsRight effect="destroy" />
        )}
      </Dialog>
    </div>
  );
}
