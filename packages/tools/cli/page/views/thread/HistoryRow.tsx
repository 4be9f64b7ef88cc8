import type { ComponentChildren, VNode } from "preact";
import { Pill } from "../../design/Pill.tsx";
import { Bytes, Clock, Id } from "../../design/Texts.tsx";
import { waitsText } from "../../design/words.ts";
import { Icon } from "../../icons.tsx";
import { href } from "../../router.ts";
import { TreeCell, type Dot } from "../../tree/TreeCell.tsx";
import type { TreeRow } from "../../tree/layout.ts";
import type { HistoryItem } from "./historyPages.ts";

interface HistoryRowProps {
  readonly thread: string;
  readonly item: HistoryItem;
  readonly tree: TreeRow;
  readonly lanes: number;
  readonly height: number;
  /** The bytes of the row that added most, for the bars. */
  readonly mostBytes: number;
  /** Whether any row has a run. If so, all rows leave space for it. */
  readonly hasRuns: boolean;
  readonly isMarked: boolean;
  /** The origin of the thread, if it was forked from this checkpoint. */
  readonly origin: { readonly thread: string; readonly checkpoint: string } | undefined;
}

/** A checkpoint in the history. */
export function HistoryRow({
  thread,
  item,
  tree,
  lanes,
  height,
  mostBytes,
  hasRuns,
  isMarked,
  origin,
}: HistoryRowProps): VNode {
  const { checkpoint, short, step, ts, bytes, tiers, run, parents, drawn } = item;
  const isOrigin = origin?.checkpoint === checkpoint;
  const cut = parents.length > 0 && !drawn.includes(parents[0]!);
  return (
    <>
      <TreeCell row={tree} height={height} lanes={lanes} dot={dotOf(item)} cut={cut} />
      <span class="h-id" role="gridcell">
        <Id value={checkpoint} short={short} of="checkpoint" />
      </span>
      <span class="h-step num" role="gridcell" title={step === undefined ? undefined : `Step ${step}`}>
        {step ?? "?"}
      </span>
      <span class="h-what" role="gridcell">
        <What item={item} />
        <Marks
          thread={thread}
          item={item}
          isMarked={isMarked}
          origin={isOrigin ? origin : undefined}
          isCut={cut && !isOrigin}
        />
      </span>
      <span class="h-tiers" role="gridcell">
        {tiers.map((tier) => (
          <TierBadge key={tier} tier={tier} />
        ))}
      </span>
      {hasRuns ? (
        <span
          class="h-run mono clip faint"
          role="gridcell"
          title={run === undefined ? undefined : `Run ${run}`}
        >
          {run ?? ""}
        </span>
      ) : null}
      <span class="h-bytes num dim" role="gridcell">
        <svg class="h-bar" width="32" height="4" aria-hidden="true">
          <rect class="h-bar-back" width="32" height="4" rx="2" />
          <rect class="h-bar-fill" width={Math.max(2, barShare(bytes, mostBytes) * 32)} height="4" rx="2" />
        </svg>
        <Bytes value={bytes} />
      </span>
      <span class="h-time num dim" role="gridcell">
        <Clock at={ts} />
      </span>
    </>
  );
}

function dotOf({ head, lostTo, parents, source }: HistoryItem): Dot {
  if (head) return "head";
  if (lostTo !== undefined) return "lost";
  if (parents.length > 1) return "merge";
  return source === "input" ? "input" : "normal";
}

function What({ item: { nodes, source = "?" } }: { readonly item: HistoryItem }): VNode {
  const names = nodes.filter((node) => node !== "__start__");
  if (names.length === 0) return <span class="h-source">{sources[source] ?? source}</span>;
  return (
    <>
      <span class="h-nodes mono clip" title={names.join(", ")}>
        {names.join(", ")}
      </span>
      {source === "loop" ? null : <span class="h-source">{sources[source] ?? source}</span>}
    </>
  );
}

const sources: Readonly<Record<string, string>> = {
  input: "input",
  loop: "start",
  update: "update",
  fork: "fork",
};

interface MarksProps {
  readonly thread: string;
  readonly item: HistoryItem;
  readonly isMarked: boolean;
  readonly origin: HistoryRowProps["origin"];
  readonly isCut: boolean;
}

function Marks({ thread, item, isMarked, origin, isCut }: MarksProps): VNode {
  const { head, waits, lostTo, parents, merges, edited, forks } = item;
  return (
    <span class="h-marks">
      {isMarked ? (
        <Pill tone="solid" title="Marked. Press d on another checkpoint to compare it with this one">
          A
        </Pill>
      ) : null}
      {head ? <Pill tone="solid">head</Pill> : null}
      {waits === "interrupt" ? (
        <Pill tone="amber" icon="pause" title="A node of the step that follows asked a question">
          {waitsText}
        </Pill>
      ) : null}
      {waits === "error" ? (
        <Pill tone="red" icon="error" title="A task of the step that follows failed">
          failed
        </Pill>
      ) : null}
      {lostTo === undefined ? null : (
        <Pill tone="red" icon="conflicts" title={`Lost the race for the head to ${lostTo}`}>
          lost race
        </Pill>
      )}
      {merges.map((merged) => (
        <Pill
          key={merged.checkpoint}
          tone="violet"
          icon="merge"
          href={href("checkpoint", merged)}
          title={`Merges ${merged.checkpoint} of ${merged.thread}`}
        >
          {within(merged.thread, thread)}
        </Pill>
      ))}
      {edited.length === 0 ? null : (
        <Pill tone="blue" icon="edit" title={`Set by hand: ${edited.join(", ")}`}>
          {edited.join(", ")}
        </Pill>
      )}
      {origin === undefined ? null : (
        <Pill
          tone="blue"
          icon="fork"
          href={href("checkpoint", origin)}
          title={`This thread was forked from ${origin.thread} here`}
        >
          {`from ${origin.thread}`}
        </Pill>
      )}
      {forks.map((fork) => (
        <Pill
          key={fork}
          icon="fork"
          tone="green"
          href={href("thread", { thread: fork })}
          title={`The thread ${fork} was forked from here`}
        >
          {within(fork, thread)}
        </Pill>
      ))}
      {isCut ? (
        <span
          class="faint"
          title={`It was made from ${parents[0]!}, which isn't here: pruned, or never stored`}
        >
          <Icon name="more" size={12} />
        </span>
      ) : null}
    </span>
  );
}

/** A thread's name without the beginning that it shares with another one: `ada/what-if` beside `ada` is `/what-if`. */
function within(name: string, thread: string): string {
  if (name === thread) return "merge";
  return name.startsWith(`${thread}/`) ? name.slice(thread.length) : name;
}

const tierTones = { hot: "amber", warm: "neutral", cold: "blue" } as const;

function TierBadge({ tier }: { readonly tier: string }): VNode {
  const kind = tier.replace(/:.*/s, "");
  const tone = Object.hasOwn(tierTones, kind) ? tierTones[kind as keyof typeof tierTones] : "neutral";
  return (
    <Pill tone={tone} title={`The ${tier} tier holds it`}>
      {kind as ComponentChildren}
    </Pill>
  );
}

/** Sizes differ by powers of ten. The square root keeps small ones distinguishable. */
function barShare(bytes: number, most: number): number {
  return most <= 0 ? 0 : Math.sqrt(Math.max(0, bytes) / most);
}
