import type { VNode } from "preact";
import { Pill } from "../../design/Pill.tsx";
import { Time } from "../../design/Texts.tsx";
import { Icon } from "../../icons.tsx";
import { href, route, setQuery } from "../../router.ts";
import type { ThreadItem } from "./useThreads.ts";

interface ThreadRowProps {
  readonly item: ThreadItem;
  /** Marked where it is in the id. */
  readonly search: string;
}

/** A thread in the list. */
export function ThreadRow({ item, search }: ThreadRowProps): VNode {
  const { thread, writtenAt, evicted, details } = item;
  const state = stateOf(item);
  return (
    <div class="thread-row">
      <div class="thread-name" role="gridcell">
        <span class={`thread-dot thread-dot-${state.tone}`} title={state.text} />
        <a class="mono clip" href={href("thread", { thread })} tabIndex={-1} title={thread}>
          <Marked text={thread} search={search} />
        </a>
        {details?.origin === undefined ? null : (
          <span class="thread-origin clip" title={`Forked from ${details.origin.thread}`}>
            <Icon name="fork" size={12} />
            <span class="clip">{details.origin.thread}</span>
          </span>
        )}
      </div>
      <div class="thread-marks" role="gridcell">
        {details?.damaged === undefined ? null : (
          <Pill tone="red" icon="error" title={details.damaged}>
            Damaged
          </Pill>
        )}
        {details?.waits === "interrupt" ? (
          <Pill tone="amber" icon="pause" title="A task waits for an answer to its interrupt">
            Interrupted
          </Pill>
        ) : details?.waits === "error" ? (
          <Pill tone="red" icon="error" title="A task of the step that follows failed">
            Failed
          </Pill>
        ) : null}
        {details === undefined || details.conflicts === 0 ? null : (
          <Pill
            tone="violet"
            icon="conflicts"
            href={`/conflicts?thread=${encodeURIComponent(thread)}`}
            title="Side branches: work that lost a race for the head"
          >
            {details.conflicts === 1 ? "1 conflict" : `${details.conflicts} conflicts`}
          </Pill>
        )}
        {evicted ? <Pill title="Only its heads are here; reading it brings it back">Archived</Pill> : null}
        {Object.entries(details?.metadata ?? {}).map(([key, value]) => (
          <Metadata key={key} text={`${key}=${value}`} />
        ))}
      </div>
      <span class="thread-step num faint" role="gridcell">
        {details?.step === undefined ? "" : details.step}
      </span>
      <span class="thread-time num dim" role="gridcell">
        <Time at={details?.ts ?? writtenAt} />
      </span>
    </div>
  );
}

/** An entry of the metadata. A click narrows the list to those that have it too. */
function Metadata({ text }: { readonly text: string }): VNode {
  const before = route.value.query.getAll("filter");
  return (
    <button
      type="button"
      class="pill thread-meta"
      tabIndex={-1}
      title={`Only threads with ${text}`}
      onClick={() => setQuery({ filter: [...new Set([...before, text])] }, { replace: false })}
    >
      <span class="clip">{text}</span>
    </button>
  );
}

function stateOf({ evicted, details }: ThreadItem): { tone: string; text: string } {
  if (details?.damaged !== undefined) return { tone: "red", text: "Damaged" };
  if (details?.waits === "error") return { tone: "red", text: "Failed" };
  if (details?.waits === "interrupt") return { tone: "amber", text: "Interrupted" };
  return evicted ? { tone: "away", text: "Archived" } : { tone: "idle", text: "Nothing is due" };
}

function Marked({ text, search }: { readonly text: string; readonly search: string }): VNode {
  const at = search === "" ? -1 : text.toLowerCase().indexOf(search.toLowerCase());
  if (at === -1) return <>{text}</>;
  return (
    <>
      {text.slice(0, at)}
      <mark>{text.slice(at, at + search.length)}</mark>
      {text.slice(at + search.length)}
    </>
  );
}
