import type { OutputOf } from "../../../src/operations/index.ts";
import type { VNode } from "preact";
import { waitsTitle } from "../../design/words.ts";
import { Icon, type IconName } from "../../icons.tsx";
import { href } from "../../router.ts";

type Output = OutputOf<"run">;

const looks: Readonly<Record<Output["outcome"], { icon: IconName; tone: string; text: string }>> = {
  planned: { icon: "info", tone: "blue", text: "Nothing was run" },
  done: { icon: "check", tone: "green", text: "Done" },
  interrupted: { icon: "pause", tone: "amber", text: waitsTitle },
  failed: { icon: "error", tone: "red", text: "Failed" },
  paused: { icon: "pause", tone: "blue", text: "Paused" },
};

const reasons: Readonly<Record<NonNullable<Output["why"]>, string>> = {
  steps: "after one step",
  breakpoint: "at a breakpoint of the graph",
  stopped: "because it was stopped",
  timeout: "because its time was up",
  limit: "because it reached its recursion limit",
};

/** How a run ended. */
export function Outcome({ output }: { readonly output: Output }): VNode {
  const { outcome, why, error, checkpoints, durationMs, thread, head } = output;
  const { icon, tone, text } = looks[outcome];
  const count = checkpoints.length === 1 ? "1 checkpoint" : `${checkpoints.length} checkpoints`;
  return (
    <div class={`outcome outcome-${tone}`} role="status" data-testid="outcome">
      <Icon name={icon} size={14} />
      <div class="outcome-text">
        <p>
          <strong>
            {text}
            {why === undefined ? "" : ` ${reasons[why]}`}
          </strong>
          <span class="dim">
            {" "}
            {count} in {durationMs < 2000 ? `${durationMs} ms` : `${(durationMs / 1000).toFixed(1)} s`}
          </span>
        </p>
        {error === undefined ? null : (
          <p class="outcome-error mono">
            {error.name}: {error.message ?? "(redacted)"}
          </p>
        )}
      </div>
      {head === undefined ? null : (
        <a href={href("checkpoint", { thread, checkpoint: head })}>Look at its state</a>
      )}
    </div>
  );
}
