import type { InputOf, OutputOf } from "../../../src/operations/index.ts";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { call, may, session, type ApiError } from "../../api/client.ts";
import { errorFrom, useResource } from "../../api/resource.ts";
import { chosenGraph, GraphSelect, NeedsGraphs, NeedsRight } from "../../changes/needs.tsx";
import { toastWithUndo } from "../../changes/undo.ts";
import { Button, LinkButton } from "../../design/Button.tsx";
import { CopyMenu } from "../../design/CopyMenu.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Field, Select } from "../../design/Field.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { commandText } from "../../design/commandText.ts";
import { href, navigate, route, setQuery } from "../../router.ts";
import { useSettled } from "../whatif/useSettled.ts";
import { ChannelChoice } from "./ChannelChoice.tsx";
import { settling, type Choice, type Choices } from "./choices.ts";
import "./merge.css";
import { MergePreview } from "./MergePreview.tsx";

type Merge = OutputOf<"merge">;

/** Merges a fork or a side branch into a thread, channel by channel, with a preview. */
export function MergeView({ thread }: { readonly thread: string }): VNode {
  const { query } = route.value;
  const from = query.getAll("from");
  const graph = chosenGraph(query.get("graph") ?? "");
  const hasGraphs = (session.value?.graphs ?? []).length > 0;
  return (
    <div class="page merge">
      <header class="page-head">
        <h1>
          Merge into{" "}
          <a class="mono" href={href("thread", { thread })}>
            {thread}
          </a>
        </h1>
        <div class="spacer" />
        {from.length === 0 ? null : (
          <CopyMenu
            cli={commandText("merge", [thread, ...from], { "dry-run": true })}
            code={`const result = await merge(graph, ${JSON.stringify(thread)}, ${JSON.stringify(from)}, { dryRun: true });`}
          />
        )}
      </header>
      {from.length === 0 ? <ChooseSource thread={thread} /> : null}
      {session.value !== undefined && !hasGraphs ? <NeedsGraphs what="Merging" /> : null}
      {hasGraphs && from.length > 0 ? (
        <>
          <GraphSelect value={graph ?? ""} onChange={(name) => setQuery({ graph: name })} />
          {graph === undefined ? (
            <p class="dim">Its channels say how values combine: choose the graph that wrote these threads.</p>
          ) : (
            <Merging key={JSON.stringify([thread, from, graph])} thread={thread} from={from} graph={graph} />
          )}
        </>
      ) : null}
    </div>
  );
}

/** The strategy for all channels as a choice; undefined if it is none. */
function forAll(strategy: string): Choice | undefined {
  const kinds = ["ours", "theirs", "union", "reducer"] as const;
  const kind = kinds.find((each) => each === strategy);
  return kind === undefined ? undefined : { kind };
}

function ChooseSource({ thread }: { readonly thread: string }): VNode {
  const [text, setText] = useState("");
  return (
    <form
      class="card merge-source"
      onSubmit={(event) => {
        event.preventDefault();
        setQuery({ from: [text.trim()] });
      }}
    >
      <Field
        label="What to merge"
        value={text}
        onInput={setText}
        mono
        autoFocus
        placeholder={`${thread}/what-if-1, or ${thread}@lost:1`}
        hint="A thread, such as a fork, or one of its checkpoints."
      />
      <div class="actions">
        <Button submit tone="primary" disabled={text.trim() === ""}>
          Look at the merge
        </Button>
      </div>
    </form>
  );
}

interface MergingProps {
  readonly thread: string;
  readonly from: readonly string[];
  readonly graph: string;
}

function Merging({ thread, from, graph }: MergingProps): VNode {
  const strategy = route.value.query.get("strategy") ?? "";
  const [choices, setChoices] = useState<Choices>({});
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<ApiError>();
  const common = { thread, from: [...from], graph };
  const first = useResource(JSON.stringify(common), (signal) =>
    call("merge", { ...common, dryRun: true }, { signal }),
  );
  const settled = useSettled(JSON.stringify(settling(strategy, choices)), 250);
  // The preview and the merge use the checkpoints that the page shows. If a side has moved on since, they are refused.
  const held = { ...common, seen: first.data?.seen ?? [] };
  const preview = useResource(
    first.data === undefined ? undefined : JSON.stringify([held, settled]),
    (signal) =>
      call(
        "merge",
        { ...held, ...(JSON.parse(settled) as Partial<InputOf<"merge">>), dryRun: true },
        { signal },
      ),
  );
  const planned = first.data?.plan?.channels ?? [];
  const result: Merge | undefined = preview.data;
  const open = new Set(result?.open ?? (result === undefined ? planned.map(({ name }) => name) : []));
  const apply = async () => {
    setBusy(true);
    setFailed(undefined);
    try {
      const { status } = await call("merge", { ...held, ...settling(strategy, choices) });
      if (status === "conflict") {
        setBusy(false);
        preview.reload();
        return;
      }
      toastWithUndo(thread, `${status === "fast-forward" ? "Moved forward" : "Merged"}: ${thread}`);
      navigate(href("thread", { thread }));
    } catch (thrown) {
      setFailed(errorFrom(thrown));
    }
    setBusy(false);
  };
  const lookAgain = () => {
    setFailed(undefined);
    first.reload();
    preview.reload();
  };
  const problem = failed ?? preview.error;
  if (first.data === undefined)
    return first.error === undefined ? (
      <Skeleton rows={6} />
    ) : (
      <ErrorBox error={first.error} onRetry={first.reload} />
    );
  const ready =
    result !== undefined &&
    !preview.loading &&
    (result.status === "planned" || result.status === "fast-forward");
  return (
    <div class="merge-columns">
      <div class="merge-channels">
        {planned.length === 0 ? (
          <p class="dim">
            {first.data.status === "already-merged"
              ? "The thread has it already."
              : "No channel was changed by both sides: nothing has to be decided."}
          </p>
        ) : (
          <>
            <div class="merge-all">
              <p class="dim">
                Both sides changed{" "}
                {planned.length === 1 ? "this channel" : `these ${planned.length} channels`} since they
                parted.
              </p>
              <Select
                label="For all channels"
                value={strategy}
                onChange={(to) => setQuery({ strategy: to })}
                options={[
                  { value: "", label: "Decide each" },
                  { value: "ours", label: "Take ours" },
                  { value: "theirs", label: "Take theirs" },
                  { value: "union", label: "Union of both" },
                  { value: "reducer", label: "By the reducers" },
                ]}
              />
            </div>
            {planned.map((each) => (
              <ChannelChoice
                key={each.name}
                thread={thread}
                planned={each}
                choice={choices[each.name] ?? forAll(strategy)}
                open={open.has(each.name)}
                onChoose={(choice) => setChoices({ ...choices, [each.name]: choice })}
              />
            ))}
          </>
        )}
      </div>
      <aside class="card merge-preview" aria-label="Preview of the merge">
        <MergePreview result={result} loading={preview.loading} from={from} thread={thread} />
        {problem === undefined ? null : (
          <ErrorBox
            error={problem}
            onRetry={lookAgain}
            retry={problem.code === "CHECKPOINT_CONFLICT" ? "Look again" : undefined}
          />
        )}
        {may("write") ? null : <NeedsRight />}
        <div class="actions">
          <Button
            tone="primary"
            icon="merge"
            busy={busy}
            disabled={!ready || problem !== undefined || !may("write")}
            onClick={() => void apply()}
          >
            Merge
          </Button>
          {from.length === 1 ? (
            <LinkButton icon="diff" href={href("diff", {}, { a: thread, b: from[0] })}>
              Diff
            </LinkButton>
          ) : null}
        </div>
      </aside>
    </div>
  );
}
