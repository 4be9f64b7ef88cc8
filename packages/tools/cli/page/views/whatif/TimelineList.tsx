import type { VNode } from "preact";
import { outcomeText } from "../../design/words.ts";
import { Icon, type IconName } from "../../icons.tsx";
import type { Timeline, TimelineNode } from "./timeline.ts";

const icons: Readonly<Record<TimelineNode["state"], IconName>> = {
  running: "refresh",
  ended: "check",
  failed: "error",
  interrupted: "pause",
  stopped: "stop",
};

/** Nodes as they run, with the messages meanwhile. */
export function TimelineList({ timeline }: { readonly timeline: Timeline }): VNode {
  const longest = Math.max(1, ...timeline.nodes.map(({ ms }) => ms ?? 0));
  return (
    <ol class="timeline" aria-label="Nodes that ran" data-testid="timeline">
      {timeline.nodes.map((node, n) => (
        <Row key={n} node={node} longest={longest} />
      ))}
      {timeline.omitted ? (
        <li class="faint">There was more than is shown. The history has all of it.</li>
      ) : null}
    </ol>
  );
}

function Row({ node, longest }: { readonly node: TimelineNode; readonly longest: number }): VNode {
  const { state, ms, said, namespace } = node;
  const inside =
    namespace === "" ? "" : `${namespace.replaceAll(/:[\da-f-]{8,}/g, "").replaceAll("|", " › ")} › `;
  return (
    <li class={`timeline-node timeline-${state}`}>
      <div class="timeline-head">
        <Icon name={icons[state]} size={14} />
        <span class="mono timeline-name">
          <span class="faint">{inside}</span>
          {node.node}
        </span>
        <span class="unseen">{outcomeText(state)}</span>
        {state === "ended" || state === "running" ? null : (
          <span class="timeline-state">{outcomeText(state)}</span>
        )}
        <span class="spacer" />
        {ms === undefined ? null : (
          <>
            <span class="timeline-bar" aria-hidden="true">
              <span style={{ width: `${Math.max(2, (ms / longest) * 100)}%` }} />
            </span>
            <span class="timeline-ms num">
              {ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`}
            </span>
          </>
        )}
      </div>
      {said.map(({ role, text, calls }, n) => (
        <div key={n} class="timeline-said">
          <span class="timeline-role">{role}</span>
          <span class="timeline-text">
            {text}
            {calls.map((name) => (
              <span key={name} class="timeline-call mono">
                calls {name}
              </span>
            ))}
          </span>
        </div>
      ))}
    </li>
  );
}
