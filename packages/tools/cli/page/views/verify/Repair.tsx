import type { OutputOf } from "../../../src/operations/index.ts";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { call, may } from "../../api/client.ts";
import { Button } from "../../design/Button.tsx";
import { Dialog } from "../../design/Dialog.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Checkbox } from "../../design/Field.tsx";
import { countText } from "../../design/units.ts";
import { Section } from "../storage/Section.tsx";
import { useAsked } from "../storage/useAsked.ts";
import type { Report } from "./findings.ts";
import { ResultsTable } from "./FindingsTable.tsx";

/** What a repair did. */
export type Repaired = OutputOf<"repair">;

/** Shows how a report's findings would be repaired, and repairs them after a confirmation. */
export function Repair({
  report,
  onRepaired,
}: {
  readonly report: Report;
  /** Called with what was done. */
  readonly onRepaired: (done: Repaired) => void;
}): VNode {
  const [prune, setPrune] = useState(false);
  const [confirming, setConfirming] = useState(false);
  const preview = useAsked(async (signal) => ({
    prune,
    ...(await call("repair", { report, prune }, { signal })),
  }));
  const applied = useAsked(async (signal) => {
    const done = await call("repair", { report, prune, apply: true }, { signal });
    setConfirming(false);
    onRepaired(done);
  });
  const allowed = may("destroy");
  // A preview with another choice isn't valid any more.
  const data = preview.data?.prune === prune ? preview.data : undefined;
  const count = data?.results.filter(({ outcome }) => outcome === "would").length ?? 0;
  return (
    <Section
      title="Repair"
      side={
        <>
          <Checkbox label="Also remove what can’t be read anywhere" checked={prune} onChange={setPrune} />
          <Button size="small" busy={preview.busy} onClick={preview.ask}>
            Preview
          </Button>
          <Button
            size="small"
            tone="danger"
            disabled={!allowed || count === 0}
            title={allowed ? undefined : "Start the inspector with --allow destroy"}
            onClick={() => setConfirming(true)}
          >
            Apply…
          </Button>
        </>
      }
    >
      {preview.error === undefined ? null : <ErrorBox error={preview.error} onRetry={preview.ask} />}
      {data === undefined ? (
        <p class="faint">
          Good bytes are fetched from other storages. If no storage has any, the head is set back to the last
          whole checkpoint, and the checkpoints after it stay as a side branch.
        </p>
      ) : (
        <ResultsTable results={data.results} />
      )}
      <Dialog
        open={confirming}
        title={`Mend ${count === 1 ? "1 finding" : `${countText(count)} findings`}?`}
        onClose={() => setConfirming(false)}
        actions={
          <>
            <Button onClick={() => setConfirming(false)}>Cancel</Button>
            <Button tone="danger" busy={applied.busy} onClick={applied.ask}>
              Mend
            </Button>
          </>
        }
      >
        <p>
          It writes to the storage. Threads that changed since the report are left alone.{" "}
          {prune
            ? "Checkpoints that can’t be read are removed for good."
            : "No checkpoint is removed that anybody can read."}
        </p>
        {applied.error === undefined ? null : <ErrorBox error={applied.error} />}
      </Dialog>
    </Section>
  );
}
