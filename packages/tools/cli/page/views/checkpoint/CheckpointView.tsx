import type { VNode } from "preact";
import { call } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { Tabs } from "../../design/Tabs.tsx";
import { useKeys } from "../../keys.ts";
import { lazy } from "../../lazy.tsx";
import { href, navigate, route } from "../../router.ts";
import { CheckpointHead } from "./CheckpointHead.tsx";
import { RawTab } from "./RawTab.tsx";
import { StateTab } from "./StateTab.tsx";
import { WritesTab } from "./WritesTab.tsx";
import "./checkpoint.css";

const DiffTab = lazy(() => import("../diff/ParentDiff.tsx").then((module) => module.ParentDiff));

interface CheckpointViewProps {
  readonly thread: string;
  readonly checkpoint: string;
  readonly namespace: string;
}

const tabs = [
  { id: "state", label: "State" },
  { id: "writes", label: "Writes" },
  { id: "diff", label: "Diff" },
  { id: "raw", label: "Raw" },
] as const;

/** A checkpoint: its header, its state, its writes, and its changes. */
export function CheckpointView({ thread, checkpoint, namespace }: CheckpointViewProps): VNode {
  const { query } = route.value;
  const wanted = query.get("tab");
  const tab = tabs.find(({ id }) => id === wanted)?.id ?? "state";
  const at = { thread, namespace, checkpoint };
  const shown = useResource(JSON.stringify(at), (signal) =>
    call("show", { at: thread, namespace, checkpoint }, { signal }),
  );
  const tabHref = (id: string) =>
    href("checkpoint", { thread, checkpoint }, { ns: namespace, tab: id === "state" ? undefined : id });
  const key = (id: string, label: string) => ({ label, run: () => navigate(tabHref(id), { replace: true }) });
  useKeys(
    {
      "1": key("state", "The state"),
      "2": key("writes", "What was written"),
      "3": key("diff", "What changed"),
      "4": key("raw", "The raw record"),
    },
    "Checkpoint",
  );
  const { data, error, stale, reload } = shown;
  if (error !== undefined) return <ErrorBox error={error} onRetry={reload} />;
  if (data === undefined) return <Skeleton rows={8} />;
  return (
    <section
      class={stale ? "checkpoint stale" : "checkpoint"}
      aria-label={`Checkpoint ${checkpoint}`}
      aria-busy={stale}
    >
      <CheckpointHead shown={data} />
      <Tabs
        label="Parts of the checkpoint"
        current={tab}
        tabs={tabs.map((each) => ({ ...each, href: tabHref(each.id) }))}
      />
      <div class="checkpoint-tab">
        {tab === "state" ? <StateTab shown={data} /> : null}
        {tab === "writes" ? <WritesTab shown={data} /> : null}
        {tab === "diff" ? <DiffTab shown={data} /> : null}
        {tab === "raw" ? <RawTab shown={data} /> : null}
      </div>
    </section>
  );
}
