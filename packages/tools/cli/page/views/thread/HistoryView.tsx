import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Empty } from "../../design/Empty.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { Split } from "../../design/Split.tsx";
import { toast } from "../../design/Toast.tsx";
import { useKeys } from "../../keys.ts";
import { lazy } from "../../lazy.tsx";
import { VirtualList } from "../../list/VirtualList.tsx";
import { href, navigate, route } from "../../router.ts";
import { HistoryRow } from "./HistoryRow.tsx";
import "./history.css";
import { treeWidth } from "../../tree/TreeCell.tsx";
import { addressOf, marked } from "./marked.ts";
import type { LoadedHistory } from "./historyLayout.ts";
import type { useHistory } from "./useHistory.ts";

// This view is shown as soon as the history is loaded, so both are loaded at the same time.
const CheckpointView = lazy(
  () => import("../checkpoint/CheckpointView.tsx").then((module) => module.CheckpointView),
  { ahead: "now" },
);

const rowHeight = 28;

/** How long to wait before the chosen checkpoint's state is loaded: a key that is held down passes many checkpoints. */
const restsMs = 90;

interface HistoryViewProps {
  readonly thread: string;
  readonly namespace: string;
  readonly loaded: ReturnType<typeof useHistory>;
}

/** The history as a tree, and the checkpoint that is chosen in it. */
export function HistoryView({ thread, namespace, loaded }: HistoryViewProps): VNode {
  const { history, error, more, update } = loaded;
  const { params, view } = route.value;
  const chosen = params["checkpoint"] ?? history?.head ?? history?.items[0]?.checkpoint;
  const shown = useRested(chosen);
  const active = chosen === undefined ? -1 : (history?.places.get(chosen) ?? -1);

  // The checkpoint in the address may be far down. Pages are loaded until it is found.
  const isSought = params["checkpoint"] !== undefined && active === -1 && history?.cursor !== undefined;
  useEffect(() => {
    if (isSought) void more();
  }, [isSought, history]);

  const go = (checkpoint: string) => {
    const query = Object.fromEntries([...route.value.query].filter(([key]) => key === "ns" || key === "tab"));
    navigate(href("checkpoint", { thread, checkpoint }, query), { replace: view === "checkpoint" });
  };
  useHistoryKeys({ thread, chosen, history, go });

  if (history === undefined) {
    if (error === undefined) return <Skeleton rows={10} />;
    return error.status === 404 ? (
      <NoThread thread={thread} namespace={namespace} />
    ) : (
      <ErrorBox error={error} onRetry={() => void update()} />
    );
  }
  if (history.items.length === 0)
    return (
      <Empty title="No checkpoints here" icon="threads">
        <p>
          {namespace === ""
            ? "The thread has none: it was pruned, or only made calls."
            : "This subgraph stored none."}
        </p>
      </Empty>
    );
  return (
    <Split
      name="history"
      initial={54}
      first={
        <div class="history">
          {error === undefined ? null : <ErrorBox error={error} onRetry={() => void update()} />}
          <History thread={thread} history={history} active={active} go={go} more={more} />
          <Foot history={history} isSought={isSought} />
        </div>
      }
      second={
        shown === undefined ? null : (
          <CheckpointView thread={thread} checkpoint={shown} namespace={namespace} />
        )
      }
    />
  );
}

function NoThread({ thread, namespace }: { readonly thread: string; readonly namespace: string }): VNode {
  return (
    <Empty
      title={namespace === "" ? "There is no such thread" : "This subgraph stored nothing"}
      icon="search"
    >
      <p>It was deleted, or never stored here. It appears as soon as it is written to.</p>
      <p>
        <a href={namespace === "" ? href("threads", {}, { q: thread }) : href("thread", { thread })}>
          {namespace === "" ? "Search for similar ids" : "Show the graph’s own history"}
        </a>
      </p>
    </Empty>
  );
}

interface HistoryProps {
  readonly thread: string;
  readonly history: LoadedHistory;
  readonly active: number;
  readonly go: (checkpoint: string) => void;
  readonly more: () => Promise<void>;
}

function History({ thread, history, active, go, more }: HistoryProps): VNode {
  const { items, rows, origin, lanes, mostBytes, hasRuns } = history;
  return (
    <>
      <div class="history-columns" aria-hidden="true">
        <span style={{ width: `${treeWidth(lanes)}px` }} />
        <span class="h-id">Checkpoint</span>
        <span class="h-step num">Step</span>
        <span class="h-what">By</span>
        {hasRuns ? <span class="h-run">Run</span> : null}
        <span class="h-bytes num">Added</span>
        <span class="h-time num">Written</span>
      </div>
      <div class="history-list">
        <VirtualList
          label="History"
          role="grid"
          keysScope="History"
          count={items.length}
          total={history.cursor === undefined ? items.length : -1}
          rowHeight={rowHeight}
          keyOf={(index) => items[index]!.checkpoint}
          active={active}
          onActive={(index) => go(items[index]!.checkpoint)}
          onNearEnd={more}
          rowClass={(index) => (items[index]!.lostTo === undefined ? "h-row" : "h-row h-lost")}
          row={(index) => {
            const item = items[index]!;
            return (
              <HistoryRow
                thread={thread}
                item={item}
                tree={rows[index]!}
                lanes={lanes}
                height={rowHeight}
                mostBytes={mostBytes}
                hasRuns={hasRuns}
                isMarked={marked.value?.checkpoint === item.checkpoint && marked.value.thread === thread}
                origin={origin}
              />
            );
          }}
        />
      </div>
    </>
  );
}

function Foot({
  history,
  isSought,
}: {
  readonly history: LoadedHistory;
  readonly isSought: boolean;
}): VNode | null {
  const notes = [
    ...(isSought ? ["Looking for the checkpoint further down …"] : []),
    ...history.missing.map((tier) => `The tier ${tier} didn’t answer: what it holds isn’t shown.`),
    ...(history.forksCut ? ["Not all forks were looked at; there may be more."] : []),
  ];
  return notes.length === 0 ? null : (
    <div class="history-foot" role="status">
      {notes.map((note) => (
        <p key={note}>{note}</p>
      ))}
    </div>
  );
}

interface KeysOf {
  readonly thread: string;
  readonly chosen: string | undefined;
  readonly history: LoadedHistory | undefined;
  readonly go: (checkpoint: string) => void;
}

function useHistoryKeys({ thread, chosen, history, go }: KeysOf): void {
  const onMain = (by: 1 | -1): string | undefined => {
    if (history === undefined || chosen === undefined) return undefined;
    const item = history.items[history.places.get(chosen) ?? -1];
    // Beside the main line, going back leads to the parent, and so finally to the main line.
    if (by === 1 && item !== undefined && !history.main.has(chosen)) return item.drawn[0];
    const line = [...history.main];
    return line[line.indexOf(chosen) + by];
  };
  const step = (by: 1 | -1) => {
    const to = onMain(by);
    if (to !== undefined) go(to);
  };
  const mark = () => {
    if (chosen === undefined) return;
    const before = marked.value;
    if (before === undefined) {
      marked.value = { thread, checkpoint: chosen };
      toast("Marked as A. Press d on another checkpoint to compare.");
    } else {
      marked.value = undefined;
      if (before.checkpoint !== chosen || before.thread !== thread)
        navigate(href("diff", {}, { a: addressOf(before), b: addressOf({ thread, checkpoint: chosen }) }));
    }
  };
  useKeys(
    {
      "[": { label: "Back on the main line", run: () => step(1) },
      "]": { label: "Forward on the main line", run: () => step(-1) },
      d: { label: "Mark for a diff, then compare", run: mark },
      f: {
        label: "What if: fork from here",
        run: () => {
          if (chosen !== undefined)
            navigate(href("whatif", {}, { at: addressOf({ thread, checkpoint: chosen }) }));
        },
      },
      o: {
        label: "To the thread it was forked from",
        run: () => {
          if (history?.origin !== undefined) navigate(href("checkpoint", history.origin));
        },
      },
      h: {
        label: "To the head",
        run: () => {
          if (history?.head !== undefined) go(history.head);
        },
      },
    },
    "History",
  );
}

/** A value once it hasn't changed for a moment. */
function useRested(value: string | undefined): string | undefined {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    if (rested === undefined) {
      setRested(value);
      return undefined;
    }
    const timer = setTimeout(() => setRested(value), restsMs);
    return () => clearTimeout(timer);
  }, [value]);
  return rested ?? value;
}
