import type { Progress } from "../../../src/operations/index.ts";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { callLive } from "../../api/live.ts";
import { Button } from "../../design/Button.tsx";
import { CopyMenu } from "../../design/CopyMenu.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Field, Select } from "../../design/Field.tsx";
import { Pill } from "../../design/Pill.tsx";
import { commandText } from "../../design/commandText.ts";
import { bytesText, countText } from "../../design/units.ts";
import { route } from "../../router.ts";
import { Section } from "../storage/Section.tsx";
import "../storage/storage.css";
import { useAsked } from "../storage/useAsked.ts";
import { progressText, verdict, type Report } from "./findings.ts";
import { FindingsTable, ResultsTable } from "./FindingsTable.tsx";
import { Repair, type Repaired } from "./Repair.tsx";

const parts = [
  { value: "", label: "All threads" },
  { value: "1%", label: "1% of the threads" },
  { value: "5%", label: "5% of the threads" },
  { value: "25%", label: "25% of the threads" },
];

/** Verifies the stored data while agents run, and repairs the findings. */
export function VerifyView(): VNode {
  const [thread, setThread] = useState(route.value.query.get("thread") ?? "");
  const [sample, setSample] = useState("");
  const [progress, setProgress] = useState<Progress>();
  const [repaired, setRepaired] = useState<Repaired>();
  const input = thread !== "" ? { threads: [thread] } : sample === "" ? {} : { sample };
  const { data, error, busy, ask, stop } = useAsked(async (signal) => {
    setProgress(undefined);
    return await callLive("verify", input, { signal, onProgress: setProgress });
  });
  const cli = commandText("verify", [thread], { sample: thread === "" ? sample : undefined });
  return (
    <div class="health">
      <header class="storage-head">
        <h1>Health</h1>
        <span class="faint clip">Every checkpoint, value and patch is read and its checksum compared.</span>
        <div class="spacer" />
        <CopyMenu
          cli={cli}
          code={`const verify = operations.find(({ name }) => name === "verify")!;\nconst report = await runOperation(verify, ${JSON.stringify(input)}, context);`}
        />
      </header>
      <Section title="Verify">
        <form
          class="storage-form"
          onSubmit={(event) => {
            event.preventDefault();
            setRepaired(undefined);
            ask();
          }}
        >
          <Field label="Thread" value={thread} onInput={setThread} placeholder="All threads" mono />
          <Select
            label="How many"
            value={sample}
            options={parts}
            onChange={setSample}
            disabled={thread !== ""}
          />
          <Button submit tone="primary" busy={busy}>
            Verify
          </Button>
          {busy ? <Button onClick={stop}>Stop</Button> : null}
        </form>
        {busy ? (
          <div class="health-progress" role="status">
            <progress
              {...(progress?.total === undefined ? {} : { value: progress.done, max: progress.total })}
              aria-label="Progress"
            />
            <span class="dim clip">
              {progress === undefined ? "Beginning" : progressText(progress)}
              {progress?.at === undefined ? null : <span class="mono faint"> {progress.at}</span>}
            </span>
          </div>
        ) : error !== undefined ? (
          <ErrorBox error={error} onRetry={ask} />
        ) : data === undefined ? null : (
          <Found report={data} />
        )}
      </Section>
      {repaired === undefined ? null : (
        <Section title="Done">
          <ResultsTable results={repaired.results} />
        </Section>
      )}
      {data === undefined || data.findings.length === 0 || busy ? null : (
        <Repair
          key={data.startedAt}
          report={data}
          onRepaired={(done) => {
            setRepaired(done);
            ask();
          }}
        />
      )}
    </div>
  );
}

function Found({ report }: { readonly report: Report }): VNode {
  const { text, tone } = verdict(report);
  const { threads, checkpoints, blobs, bytes, seconds } = report.totals;
  return (
    <>
      <p>
        <Pill tone={tone}>{text}</Pill>
      </p>
      <p class="dim">
        {countText(threads)} threads, {countText(checkpoints)} checkpoints, {countText(blobs)} values,{" "}
        {bytesText(bytes)} in {seconds.toFixed(1)} s.
        {report.unreachable.length === 0 ? "" : ` Not reached: ${report.unreachable.join(", ")}.`}
      </p>
      {report.findings.length === 0 ? null : <FindingsTable findings={report.findings} />}
    </>
  );
}
