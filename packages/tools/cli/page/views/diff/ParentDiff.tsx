import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { Empty } from "../../design/Empty.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { href } from "../../router.ts";
import { addressOf, type Shown } from "../checkpoint/shown.ts";
import { Channels } from "./Channels.tsx";
import "./diff.css";

/** The changes of a checkpoint, compared with the checkpoint that it was made from. */
export function ParentDiff({ shown }: { readonly shown: Shown }): VNode {
  const { thread, namespace, checkpoint, parent } = shown;
  const [limit, setLimit] = useState(200);
  const key =
    parent === undefined ? undefined : JSON.stringify(["diff", thread, namespace, checkpoint, limit]);
  const { data, error, reload } = useResource(key, (signal) =>
    call("diff", { from: thread, fromCheckpoint: checkpoint, namespace, limit }, { signal }),
  );
  if (parent === undefined)
    return (
      <Empty title="It is the first checkpoint">
        <p>There is nothing before it to compare it with.</p>
      </Empty>
    );
  if (error !== undefined) return <ErrorBox error={error} onRetry={reload} />;
  if (data === undefined) return <Skeleton rows={6} />;
  const from = addressOf({ thread, checkpoint: parent });
  return (
    <>
      <p class="diff-note">
        Compared with its parent{" "}
        <a class="mono" href={href("checkpoint", { thread, checkpoint: parent }, { ns: namespace })}>
          {parent}
        </a>
        .{" "}
        <a href={href("diff", {}, { a: from, b: addressOf(shown), ns: namespace })}>
          Compare with another one
        </a>
      </p>
      <Channels channels={data.channels} onMore={() => setLimit(10_000)} />
    </>
  );
}
