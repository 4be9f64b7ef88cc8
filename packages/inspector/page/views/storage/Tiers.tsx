import type { VNode } from "preact";
import { call } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { Button } from "../../design/Button.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Pill } from "../../design/Pill.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { Table } from "../../design/Table.tsx";
import { Section } from "./StatsPanel.tsx";

/** Whether every tier answers, and how the breakers of the inspector's process stand. */
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
        Breakers are those of the inspector’s own process. Every process of the application has its own.
      </p>
    </Section>
  );
}
