import type { VNode } from "preact";
import { call } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { DiffSummary } from "../../changes/DiffSummary.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { href } from "../../router.ts";
import type { Conflict } from "./conflict.ts";

/** The changes of each side since they separated. */
export function Sides({ conflict }: { readonly conflict: Conflict }): VNode {
  const { thread, namespace, from, checkpoint } = conflict;
  const head = useResource(JSON.stringify([thread, namespace, "head"]), async (signal) => {
    const { checkpoint: id } = await call("show", { at: thread, namespace, maxBytes: 1000 }, { signal });
    return id;
  });
  if (from === undefined) return <p class="dim">Both sides began anew: they have no checkpoint in common.</p>;
  return (
    <div class="sides">
      <Side title="The main line since" thread={thread} namespace={namespace} from={from} to={head.data} />
      <Side title="The side branch since" thread={thread} namespace={namespace} from={from} to={checkpoint} />
    </div>
  );
}

interface SideProps {
  readonly title: string;
  readonly thread: string;
  readonly namespace: string;
  readonly from: string;
  readonly to: string | undefined;
}

function Side({ title, thread, namespace, from, to }: SideProps): VNode {
  const { data, error, reload } = useResource(
    to === undefined ? undefined : JSON.stringify([thread, namespace, from, to]),
    (signal) =>
      call(
        "diff",
        {
          from: thread,
          fromCheckpoint: from,
          to: thread,
          toCheckpoint: to,
          namespace,
          limit: 20,
          maxBytes: 20_000,
        },
        { signal },
      ),
  );
  return (
    <section class="conflict-side">
      <h3>
        {title}
        {to === undefined ? null : (
          <a href={href("diff", {}, { a: `${thread}@${from}`, b: `${thread}@${to}` })}>Whole diff</a>
        )}
      </h3>
      {error === undefined ? null : <ErrorBox error={error} onRetry={reload} />}
      {data === undefined ? (
        error === undefined ? (
          <Skeleton rows={3} />
        ) : null
      ) : (
        <DiffSummary channels={data.channels} />
      )}
    </section>
  );
}
