import type { ComponentChildren, VNode } from "preact";
import { bytesText, countText } from "../../design/units.ts";
import { Bars } from "./Bars.tsx";
import { about, channelBars, ratioText, tierBars, type Stats } from "./figures.ts";
import { Growth } from "./Growth.tsx";
import "./storage.css";
import { Section } from "./Section.tsx";

/** Statistics of the storage: how much of what is stored, where, and how it grows. */
export function StatsPanel({ stats }: { readonly stats: Stats }): VNode {
  const { estimated, threads, checkpoints, bytes, states, chains, growth, thread } = stats;
  const rough = (text: string) => about(estimated, text);
  return (
    <div class="stats">
      <dl class="stats-figures">
        {thread === undefined ? (
          <Figure
            label="Threads"
            note={threads.evicted === 0 ? undefined : `${countText(threads.evicted)} archived`}
          >
            {countText(threads.counted)}
            {threads.complete ? "" : "+"}
          </Figure>
        ) : null}
        <Figure label="Checkpoints">{rough(countText(checkpoints))}</Figure>
        <Figure
          label="Stored"
          note={`${bytesText(bytes.values)} values, ${bytesText(bytes.records)} records, ${bytesText(bytes.writes)} writes`}
        >
          {rough(bytesText(bytes.total))}
        </Figure>
        <Figure
          label="States, as a whole"
          note={states.sampled ? "estimated from some of them" : "each one, uncompressed"}
        >
          {rough(bytesText(states.bytes))}
        </Figure>
        <Figure label="Ratio" note="states to stored">
          {ratioText(states.ratio)}
        </Figure>
        <Figure label="Mean chain" note={`patches to read a value, ${chains.longest} at most`}>
          {chains.mean.toFixed(1)}
        </Figure>
      </dl>
      {estimated ? (
        <p class="faint">
          Projected from {countText(threads.measured)} of {countText(threads.counted)} threads.
          {threads.failed === 0
            ? ""
            : ` ${countText(threads.failed)} could not be read: verify tells what they lack.`}
        </p>
      ) : null}
      <div class="stats-grid">
        <Section title="By channel">
          <Bars label="Bytes by channel" bars={channelBars(stats)} />
        </Section>
        <Section title="By tier">
          <Bars label="Bytes by tier" bars={tierBars(stats)} />
        </Section>
      </div>
      <Section title="Added per day, and still there">
        <Growth growth={growth} />
      </Section>
    </div>
  );
}

function Figure({
  label,
  note,
  children,
}: {
  readonly label: string;
  readonly note?: string | undefined;
  readonly children: ComponentChildren;
}): VNode {
  return (
    <div class="figure">
      <dt>{label}</dt>
      <dd>
        <span class="figure-value">{children}</span>
        {note === undefined ? null : <span class="figure-note faint">{note}</span>}
      </dd>
    </div>
  );
}
