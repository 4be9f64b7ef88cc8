import type { VNode } from "preact";
import { Pill } from "../../design/Pill.tsx";
import { Table } from "../../design/Table.tsx";
import { countText } from "../../design/units.ts";
import { href } from "../../router.ts";
import { keyOf, outcomeTone, severityTone, sorted, type Finding, type Result } from "./findings.ts";

/** How many findings are shown at most. */
const mostShown = 200;

/** The findings, the most severe first. */
export function FindingsTable({ findings }: { readonly findings: readonly Finding[] }): VNode {
  return (
    <>
      <Table
        label="Findings"
        rows={sorted(findings).slice(0, mostShown)}
        keyOf={keyOf}
        columns={[
          {
            id: "severity",
            head: "Severity",
            cell: ({ severity }) => <Pill tone={severityTone[severity]}>{severity}</Pill>,
          },
          { id: "what", head: "What", cell: (finding) => <Meaning finding={finding} /> },
          { id: "where", head: "Where", cell: (finding) => <Place finding={finding} /> },
          { id: "tier", head: "Storage", cell: ({ tier }) => <span class="mono">{tier}</span> },
          {
            id: "concerns",
            head: "Concerns",
            align: "right",
            cell: ({ concerns }) => (concerns === 1 ? "1 checkpoint" : `${countText(concerns)} checkpoints`),
          },
          {
            id: "good",
            head: "Good copy in",
            cell: ({ goodIn }) => (goodIn.length === 0 ? <span class="faint">none</span> : goodIn.join(", ")),
          },
        ]}
      />
      {findings.length > mostShown ? (
        <p class="faint">
          The first {countText(mostShown)} of {countText(findings.length)}. The report on the command line has
          all of them.
        </p>
      ) : null}
    </>
  );
}

/** What a repair did, or would do, with the findings. */
export function ResultsTable({ results }: { readonly results: readonly Result[] }): VNode {
  return (
    <Table
      label="Repairs"
      rows={results.slice(0, mostShown)}
      keyOf={({ finding }) => keyOf(finding)}
      columns={[
        {
          id: "outcome",
          head: "Outcome",
          cell: ({ outcome }) => (
            <Pill tone={outcomeTone[outcome]}>{outcome === "would" ? "would mend" : outcome}</Pill>
          ),
        },
        {
          id: "action",
          head: "What is done",
          cell: ({ action }) => <span class="health-finding">{action}</span>,
        },
        { id: "where", head: "Where", cell: ({ finding }) => <Place finding={finding} /> },
      ]}
    />
  );
}

function Meaning({ finding: { meaning, detail, kind, channel } }: { readonly finding: Finding }): VNode {
  return (
    <span class="health-finding" title={detail}>
      {meaning} <span class="faint mono">{channel === undefined ? kind : `${kind}, ${channel}`}</span>
    </span>
  );
}

function Place({ finding: { thread, checkpoint, namespace } }: { readonly finding: Finding }): VNode {
  if (thread === undefined) return <span class="faint">unknown</span>;
  return (
    <span class="mono">
      <a href={href("thread", { thread })}>{thread}</a>
      {checkpoint === undefined ? null : (
        <>
          {" "}
          <a
            class="faint"
            href={href("checkpoint", { thread, checkpoint }, { ns: namespace })}
            title={checkpoint}
          >
            {checkpoint.slice(0, 13)}
          </a>
        </>
      )}
    </span>
  );
}
