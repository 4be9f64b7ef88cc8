import type { VNode } from "preact";
import { call } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { PrunePreview } from "./Freeing.tsx";
import { StatsPanel } from "./StatsPanel.tsx";
import "./storage.css";

/** How much space a thread takes, where, and how much pruning it would free. */
export function ThreadStorage({ thread }: { readonly thread: string }): VNode {
  const { data, error, reload } = useResource(`stats of ${thread}`, (signal) =>
    call("stats", { thread }, { signal }),
  );
  return (
    <div class="storage">
      {error !== undefined ? (
        <ErrorBox error={error} onRetry={reload} />
      ) : data === undefined ? (
        <Skeleton rows={8} />
      ) : (
        <StatsPanel stats={data} />
      )}
      <PrunePreview thread={thread} />
    </div>
  );
}
