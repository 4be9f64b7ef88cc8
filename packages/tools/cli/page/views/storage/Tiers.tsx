import type { OutputOf } from "../../../src/operations/index.ts";
import type { VNode } from "preact";
import { call } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { Button } from "../../design/Button.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Pill } from "../../design/Pill.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { Table, type Column } from "../../design/Table.tsx";
import { bytesText, countText } from "../../design/units.ts";
import { Section } from "./Section.tsx";

type Item = OutputOf<"health">["items"][number];

/** Columns about hot tiers, from the counters of one process: how many reads they answered, and the queue of copies to them. */
const queueColumns: readonly Column<Item>[] = [
  {
    id: "hits",
    head: "Reads from it",
    cell: ({ copies }) => {
      if (copies === undefined) return null;
      const reads = copies.hits + copies.misses;
      if (reads === 0) return <span class="faint">none yet</span>;
      return (
        <span title={`${countText(copies.hits)} of ${countText(reads)} reads`}>
          {percent(copies.hits, reads)}
        </span>
      );
    },
  },
  {
    id: "queue",
    head: "Copies",
    cell: ({ copies }) => (copies === undefined ? null : <Queue copies={copies} />),
  },
];

function percent(part: number, whole: number): string {
  return `${Math.round((100 * part) / whole)} %`;
}

/** The queue of copies to a hot tier. */
function Queue({ copies }: { readonly copies: NonNullable<Item["copies"]> }): VNode {
  const { waiting, waitingBytes, running, dropped } = copies;
  return (
    <span class="tier-queue">
      {waiting + running === 0 ? (
        <span class="dim">none wait</span>
      ) : (
        <span>
          {countText(waiting)} wait
          {waiting === 0 ? "" : ` (${bytesText(waitingBytes)})`}, {countText(running)} in flight
        </span>
      )}
      {dropped === 0 ? null : (
        <Pill
          tone="amber"
          title="Too many waited, or the storage failed. Each costs no more than a later miss"
        >
          {countText(dropped)} dropped
        </Pill>
      )}
    </span>
  );
}

/** Whether every tier answers, and the state of the breakers in the inspector's process. */
export function Tiers(): VNode {
  const { data, error, loading, reload } = useResource("health", (signal) => call("health", {}, { signal }));
  return (
    <Section
      title="Storages"
      side={
        <Button size="small" icon="refresh" busy={loading} onClick={reload}>
          Ask again
        </Button>
      }
    >
      {error !== undefined ? (
        <ErrorBox error={error} onRetry={reload} />
      ) : data === undefined ? (
        <Skeleton rows={2} />
      ) : (
        <Table
          label="Storages"
          rows={data.items}
          keyOf={({ tier, role, shard }) => `${role} ${tier} ${shard ?? ""}`}
          columns={[
            {
              id: "tier",
              head: "Storage",
              cell: ({ tier, shard }) => <span class="mono">{shard ?? tier}</span>,
            },
            { id: "role", head: "Role", cell: ({ role }) => <Pill>{role}</Pill> },
            {
              id: "state",
              head: "State",
              cell: ({ ok, error: why }) => (
                <Pill tone={ok ? "green" : "red"} title={why}>
                  {ok ? "Answers" : "Down"}
                </Pill>
              ),
            },
            {
              id: "breaker",
              head: "Breaker",
              cell: ({ breaker }) => <Pill tone={breaker === "closed" ? "neutral" : "amber"}>{breaker}</Pill>,
            },
            ...(data.items.some(({ copies }) => copies !== undefined) ? queueColumns : []),
            {
              id: "ms",
              head: "Answered in",
              align: "right",
              cell: ({ ms }) => `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`,
            },
          ]}
        />
      )}
      <p class="faint">
        Breakers, reads and copies are those of the inspector’s own process. Every process of the application
        has its own, which its metrics show.
      </p>
    </Section>
  );
}
