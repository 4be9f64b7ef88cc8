import type { OutputOf } from "../../../src/operations/index.ts";
import type { VNode } from "preact";
import { Pill, type Tone } from "../../design/Pill.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";

interface MergePreviewProps {
  readonly result: OutputOf<"merge"> | undefined;
  readonly loading: boolean;
  readonly thread: string;
  readonly from: readonly string[];
}

const tones: Readonly<Record<string, Tone>> = { ours: "blue", theirs: "violet", answer: "accent" };

/** What a merge would do to each channel. */
export function MergePreview({ result, loading, thread, from }: MergePreviewProps): VNode {
  const changed = Object.entries(result?.channels ?? {}).filter(([, outcome]) => outcome !== "unchanged");
  return (
    <>
      <h2>Preview</h2>
      <dl class="facts">
        <div>
          <dt>Into</dt>
          <dd class="mono">{thread}</dd>
        </div>
        <div>
          <dt>From</dt>
          <dd class="mono">{from.join(", ")}</dd>
        </div>
      </dl>
      {result === undefined ? (
        loading ? (
          <Skeleton rows={3} />
        ) : null
      ) : (
        <p role="status" data-testid="merge-status">
          {saidOf(result)}
        </p>
      )}
      {changed.length === 0 ? null : (
        <dl class="merge-outcomes" aria-label="Where each channel's value comes from">
          {changed.map(([channel, outcome]) => (
            <div key={channel}>
              <dt class="mono">{channel}</dt>
              <dd>
                <Pill tone={tones[outcome] ?? "neutral"}>{outcome}</Pill>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </>
  );
}

function saidOf({ status, channels, open = [] }: OutputOf<"merge">): string {
  if (status === "conflict")
    return `${open.length === 1 ? "1 channel is" : `${open.length} channels are`} still open. Nothing is written until all are settled.`;
  if (status === "already-merged") return "The thread has it already: there is nothing to merge.";
  return channels === undefined
    ? "The head just moves forward: the thread hasn't changed since."
    : "There is no conflict. A checkpoint that has both sides becomes the head, and undo takes it back.";
}
