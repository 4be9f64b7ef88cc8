import type { VNode } from "preact";
import { Pill } from "../../design/Pill.tsx";
import { Bytes, Time } from "../../design/Texts.tsx";
import { countText } from "../../design/units.ts";
import { waitsTitle } from "../../design/words.ts";
import { Icon, type IconName } from "../../icons.tsx";
import { href, route, setQuery } from "../../router.ts";
import { useGlance, type Glance } from "./glances.ts";
import type { ThreadItem } from "./useThreads.ts";

interface ThreadRowProps {
  readonly item: ThreadItem;
  /** The searched text, which is highlighted in the id. */
  readonly search: string;
}

/** A thread in the list. */
export function ThreadRow({ item, search }: ThreadRowProps): VNode {
  const { thread, writtenAt, details } = item;
  const glance = useGlance(item);
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
      <div class="thread-about" role="gridcell" aria-busy={glance === undefined}>
        <Marks item={item} />
        <About glance={glance ?? undefined} />
        {Object.entries(details?.metadata ?? {}).map(([key, value]) => (
          <Metadata key={key} text={`${key}=${value}`} />
        ))}
      </div>
      <span
        class="thread-count num dim"
        role="gridcell"
        title={details?.step === undefined ? undefined : `The head is at step ${details.step}`}
      >
        {isSized(glance) ? `${countText(glance.checkpoints)}${glance.complete ? "" : "+"}` : ""}
      </span>
      <span class="thread-bytes num dim" role="gridcell">
        {isSized(glance) ? (
          <>
            {glance.complete ? "" : "> "}
            <Bytes value={glance.bytes} />
          </>
        ) : (
          ""
        )}
      </span>
      <span class="thread-time num dim" role="gridcell">
        <Time at={details?.ts ?? writtenAt} />
      </span>
    </div>
  );
}

function isSized(glance: Glance | null | undefined): glance is Glance {
  return glance !== null && glance !== undefined && glance.error === undefined;
}

/** The most important facts about a thread. */
function Marks({ item: { thread, evicted, details } }: { readonly item: ThreadItem }): VNode {
  return (
    <>
      {details?.damaged === undefined ? null : (
        <Pill tone="red" icon="error" title={details.damaged}>
          Damaged
        </Pill>
      )}
      {details?.waits === "interrupt" ? (
        <Pill tone="amber" icon="pause" title="A node asked a question">
          {waitsTitle}
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
    </>
  );
}

/** The question that a thread asks, why it failed, or its last message. */
function About({ glance }: { readonly glance: Glance | undefined }): VNode | null {
  if (glance?.says === undefined) {
    const due = glance?.next ?? [];
    return due.length === 0 ? null : <span class="thread-says clip">next: {due.join(", ")}</span>;
  }
  const { kind, by, text } = glance.says;
  const icon = kind === "message" ? speakers[by ?? ""] : undefined;
  return (
    <span class={`thread-says thread-says-${kind} clip`} title={by === undefined ? text : `${by}: ${text}`}>
      {icon === undefined ? (
        by === undefined ? null : (
          <span class="thread-by mono">{by}</span>
        )
      ) : (
        <>
          <Icon name={icon} size={13} />
          <span class="unseen">{`${by}: `}</span>
        </>
      )}
      <span class="clip">{text}</span>
    </span>
  );
}

const speakers: Readonly<Record<string, IconName>> = { human: "person", ai: "robot", tool: "tool" };

/** An entry of the metadata. A click filters the list by it. */
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
  if (details?.waits === "interrupt") return { tone: "amber", text: waitsTitle };
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
