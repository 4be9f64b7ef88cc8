import type { OutputOf } from "../../../src/operations/index.ts";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import { Button } from "../../design/Button.tsx";
import { CopyMenu } from "../../design/CopyMenu.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Field } from "../../design/Field.tsx";
import { Table } from "../../design/Table.tsx";
import { Bytes } from "../../design/Texts.tsx";
import { commandText } from "../../design/commandText.ts";
import { bytesText, countText } from "../../design/units.ts";
import { href } from "../../router.ts";
import { AskedSection, Section } from "./Section.tsx";
import { useAsked } from "./useAsked.ts";

/** How many threads of a preview are listed. */
const mostListed = 50;

/** What pruning would remove from one thread or from all threads. Nothing is removed here. */
export function PrunePreview({ thread }: { readonly thread?: string | undefined }): VNode {
  const [keepLast, setKeepLast] = useState("10");
  const wrong = /^[1-9]\d*$/.test(keepLast) ? undefined : "Write a whole number, 1 or more.";
  const which = thread === undefined ? ({ all: true } as const) : { thread: [thread] };
  const { data, error, busy, ask, stop } = useAsked((signal) =>
    call("prune", { ...which, keepLast: Number(keepLast), dryRun: true }, { signal }),
  );
  const all = thread === undefined;
  const cli = (dryRun: boolean) =>
    commandText("prune", [thread], { all, "keep-last": keepLast, "dry-run": dryRun });
  return (
    <Section
      title="What pruning would free"
      side={
        <CopyMenu
          cli={cli(true)}
          code={`await checkpointer.prune([${JSON.stringify(thread ?? "ada")}], { strategy: "keep_latest", keepLast: ${keepLast} });`}
        />
      }
    >
      <form
        class="storage-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (wrong === undefined) ask();
        }}
      >
        <Field
          label="Checkpoints to keep"
          type="number"
          value={keepLast}
          onInput={setKeepLast}
          error={wrong}
        />
        <Button submit busy={busy} disabled={wrong !== undefined}>
          Preview
        </Button>
        {busy ? (
          <Button tone="quiet" onClick={stop}>
            Stop
          </Button>
        ) : null}
        {thread === undefined ? <span class="faint">It looks at every thread.</span> : null}
      </form>
      {error === undefined ? null : <ErrorBox error={error} onRetry={ask} />}
      {data === undefined ? null : <Pruned found={data} cli={cli(false)} one={thread !== undefined} />}
    </Section>
  );
}

function Pruned({
  found,
  cli,
  one,
}: {
  readonly found: OutputOf<"prune">;
  readonly cli: string;
  readonly one: boolean;
}): VNode {
  const { checkpoints, bytes, threads, looked, items } = found;
  if (checkpoints === 0) return <p class="dim">There is nothing to prune.</p>;
  return (
    <>
      <p>
        <strong>{bytesText(bytes)}</strong> in {countText(checkpoints)} checkpoints
        {one ? "" : ` of ${countText(threads)} threads, of ${countText(looked)} looked at`}. Nothing was
        removed. To do it: <code class="mono">{cli}</code>
      </p>
      {one ? null : (
        <Table
          label="Threads that would lose checkpoints"
          rows={items.toSorted((a, b) => b.bytes - a.bytes).slice(0, mostListed)}
          keyOf={({ thread }) => thread}
          columns={[
            {
              id: "thread",
              head: "Thread",
              cell: ({ thread }) => (
                <a class="mono" href={href("thread", { thread })}>
                  {thread}
                </a>
              ),
            },
            { id: "go", head: "Would go", align: "right", cell: ({ checkpoints: go }) => countText(go) },
            { id: "kept", head: "Kept", align: "right", cell: ({ kept }) => countText(kept) },
            {
              id: "bytes",
              head: "Freed",
              align: "right",
              cell: ({ bytes: freed }) => <Bytes value={freed} />,
            },
          ]}
        />
      )}
    </>
  );
}

const deeds: Readonly<Record<string, string>> = {
  delete: "Delete",
  prune: "Prune",
  archive: "Archive",
  trim: "Trim",
  "finish-deletion": "Finish deletion",
  sweep: "Sweep",
};

/** What maintenance would do now with the storage's options. Nothing is done here. */
export function MaintenancePreview(): VNode {
  const asked = useAsked((signal) => call("maintain", { dryRun: true }, { signal }));
  return (
    <AskedSection
      title="What maintenance would do now"
      asked={asked}
      button="Preview"
      hint="Which threads the storage’s own options would delete, prune or archive. It looks at every thread that is due."
    >
      {(data) => <Steps found={data} />}
    </AskedSection>
  );
}

function Steps({ found }: { readonly found: OutputOf<"maintain"> }): VNode {
  const { runs, skipped, steps, bytes, freed, items } = found;
  if (runs === 0 && skipped > 0) return <p>Another process is running maintenance.</p>;
  if (steps === 0) return <p class="dim">Nothing is due.</p>;
  return (
    <>
      <p>
        {countText(steps)} steps: {bytesText(bytes)} to the archive, {bytesText(freed)} freed. Nothing was
        changed.
      </p>
      <Table
        label="Steps of maintenance"
        rows={items.slice(0, mostListed)}
        keyOf={({ what, thread, tier }) => `${what} ${thread ?? tier ?? ""}`}
        columns={[
          { id: "what", head: "What", cell: ({ what }) => deeds[what] ?? what },
          {
            id: "thread",
            head: "Thread or storage",
            cell: ({ thread, tier }) =>
              thread === undefined ? (
                (tier ?? "")
              ) : (
                <a class="mono" href={href("thread", { thread })}>
                  {thread}
                </a>
              ),
          },
          {
            id: "checkpoints",
            head: "Checkpoints",
            align: "right",
            cell: ({ checkpoints }) => (checkpoints === undefined ? "" : countText(checkpoints)),
          },
          {
            id: "freed",
            head: "Freed",
            align: "right",
            cell: ({ freed }) => (freed === undefined ? "" : <Bytes value={freed} />),
          },
        ]}
      />
    </>
  );
}
