import type { ComponentChildren, VNode } from "preact";
import type { Resource } from "../../api/resource.ts";
import { Empty } from "../../design/Empty.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { href } from "../../router.ts";

interface LoadedProps<T> {
  readonly of: Resource<T>;
  readonly children: (data: T) => ComponentChildren;
}

/** What was loaded of a workspace, or that it is loading, failed or isn't there. */
export function Loaded<T>({ of: { data, error, stale, reload }, children }: LoadedProps<T>): VNode {
  if (error?.code === "NOT_FOUND")
    return (
      <Empty title="Not found" icon="workspaces">
        <p>{error.message}</p>
        <p>
          <a href={href("workspaces")}>All workspaces</a>
        </p>
      </Empty>
    );
  if (error !== undefined) return <ErrorBox error={error} onRetry={reload} />;
  if (data === undefined) return <Skeleton rows={8} />;
  return (
    <div class={stale ? "workspace-part stale" : "workspace-part"} aria-busy={stale}>
      {children(data)}
    </div>
  );
}
