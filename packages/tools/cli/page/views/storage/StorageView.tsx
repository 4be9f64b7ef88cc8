import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { call, session } from "../../api/client.ts";
import { CopyMenu } from "../../design/CopyMenu.tsx";
import { Select } from "../../design/Field.tsx";
import { Doctor } from "./Doctor.tsx";
import { MaintenancePreview, PrunePreview } from "./Freeing.tsx";
import { AskedSection } from "./Section.tsx";
import { StatsPanel } from "./StatsPanel.tsx";
import "./storage.css";
import { Tiers } from "./Tiers.tsx";
import { useAsked } from "./useAsked.ts";

const samples = ["25", "100", "500", "2000"];

/** The whole storage. Operations that read many threads run only on request. */
export function StorageView(): VNode {
  const [sample, setSample] = useState("100");
  const asked = useAsked((signal) => call("stats", { sample: Number(sample) }, { signal }));
  return (
    <div class="storage">
      <header class="storage-head">
        <h1>Storage</h1>
        <span class="mono faint clip">{session.value?.storage}</span>
        <div class="spacer" />
        <CopyMenu
          cli={`stratigraph stats --sample ${sample}`}
          code={`const { ok, tiers } = await checkpointer.health();`}
        />
      </header>
      <Tiers />
      <AskedSection
        title="What is stored"
        asked={asked}
        button="Measure"
        first
        choices={
          <Select
            compact
            label="Threads to measure"
            value={sample}
            onChange={setSample}
            options={samples.map((value) => ({ value, label: `${value} threads` }))}
          />
        }
        hint="Counts the threads, measures some of them, and estimates all from these. On a large storage it takes a while."
      >
        {(data) => <StatsPanel stats={data} />}
      </AskedSection>
      <MaintenancePreview />
      <PrunePreview />
      <Doctor />
    </div>
  );
}
