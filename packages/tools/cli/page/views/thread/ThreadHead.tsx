import type { VNode } from "preact";
import { call } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { CopyMenu } from "../../design/CopyMenu.tsx";
import { Select } from "../../design/Field.tsx";
import { Pill } from "../../design/Pill.tsx";
import { Tabs } from "../../design/Tabs.tsx";
import { Id, Time } from "../../design/Texts.tsx";
import { commandText } from "../../design/commandText.ts";
import { countText } from "../../design/units.ts";
import { waitsTitle } from "../../design/words.ts";
import { href, navigate, route } from "../../router.ts";
import { useSubagents, type Subagent } from "../../values/Subagents.ts";
import type { LoadedHistory } from "./historyLayout.ts";

interface ThreadHeadProps {
  readonly thread: string;
  readonly namespace: string;
  readonly history: LoadedHistory | undefined;
}

/** The header of a thread: its name, its origin, its state, and links to its parts. */
export function ThreadHead({ thread, namespace, history }: ThreadHeadProps): VNode {
  const { view } = route.value;
  const head = history?.items[history.places.get(history.head ?? "") ?? -1];
  const current = view === "journal" ? "calls" : view === "threadStorage" ? "storage" : "history";
  const query = namespace === "" ? {} : { ns: namespace };
  const subagents = useSubagents(thread);
  const shown = subagents.find((each) => each.namespace === namespace);
  return (
    <header class="thread-head">
      <div class="thread-title">
        <a class="thread-back faint" href="/">
          Threads
        </a>
        <span class="faint" aria-hidden="true">
          /
        </span>
        <h1 class="mono">
          <Id value={thread} of="thread’s id" />
        </h1>
        {head?.waits === "interrupt" ? (
          <Pill tone="amber" icon="pause">
            {waitsTitle}
          </Pill>
        ) : head?.waits === "error" ? (
          <Pill tone="red" icon="error">
            Failed
          </Pill>
        ) : null}
        <Conflicts thread={thread} />
        <div class="spacer" />
        <Namespaces thread={thread} namespace={namespace} found={subagents} />
        <CopyMenu
          cli={commandText("history", [thread], { namespace })}
          code={`const log = await checkpointer.getTuple({ configurable: { thread_id: ${JSON.stringify(thread)} } });`}
          bundle={() => bundleOf(thread, namespace)}
          bundleName={`${thread.replaceAll(/[^\w.-]+/g, "_")}.json`}
        />
      </div>
      <dl class="thread-facts">
        {history?.origin === undefined ? null : (
          <div>
            <dt>Forked from</dt>
            <dd>
              <a
                class="mono clip"
                href={href("checkpoint", history.origin)}
                title={history.origin.checkpoint}
              >
                {history.origin.thread}
              </a>
            </dd>
          </div>
        )}
        {shown?.parent.checkpoint === undefined ? null : (
          <div>
            <dt>Run by</dt>
            <dd>
              <a
                class="mono clip"
                href={href(
                  "checkpoint",
                  { thread, checkpoint: shown.parent.checkpoint },
                  { ns: shown.parent.namespace },
                )}
                title={shown.call?.id ?? shown.parent.checkpoint}
              >
                {shown.call?.name ?? shown.node}
              </a>
            </dd>
          </div>
        )}
        {history?.head === undefined ? null : (
          <div>
            <dt>Head</dt>
            <dd>
              <Id value={history.head} short={head?.short ?? history.head.slice(0, 12)} of="head" />
            </dd>
          </div>
        )}
        {head?.step === undefined ? null : (
          <div>
            <dt>Step</dt>
            <dd>{head.step}</dd>
          </div>
        )}
        {history === undefined ? null : (
          <div>
            <dt>Checkpoints</dt>
            <dd>
              {countText(history.items.length)}
              {history.cursor === undefined ? "" : "+"}
            </dd>
          </div>
        )}
        {head === undefined ? null : (
          <div>
            <dt>Written</dt>
            <dd>
              <Time at={head.ts} />
            </dd>
          </div>
        )}
      </dl>
      <Tabs
        label="Parts of the thread"
        current={current}
        tabs={[
          { id: "history", label: "History", href: href("thread", { thread }, query) },
          { id: "calls", label: "Calls", href: href("journal", { thread }) },
          { id: "storage", label: "Storage", href: href("threadStorage", { thread }) },
        ]}
      />
    </header>
  );
}

/** How many side branches the thread has. */
function Conflicts({ thread }: { readonly thread: string }): VNode | null {
  const { data } = useResource(`conflicts of ${thread}`, (signal) =>
    call("conflicts", { thread }, { signal }),
  );
  const count = data?.items.length ?? 0;
  if (count === 0) return null;
  return (
    <Pill
      tone="violet"
      icon="conflicts"
      href={`/conflicts?thread=${encodeURIComponent(thread)}`}
      title="Side branches: work that lost a race for the head"
    >
      {count === 1 ? "1 conflict" : `${count} conflicts`}
    </Pill>
  );
}

/** Chooses between the graph and its subgraphs, if the thread has any. */
function Namespaces({
  thread,
  namespace,
  found,
}: {
  readonly thread: string;
  readonly namespace: string;
  readonly found: readonly Subagent[];
}): VNode | null {
  if (found.length === 0 && namespace === "") return null;
  const labels = new Map([["", "Graph"], ...found.map((each) => [each.namespace, labelOf(each)] as const)]);
  if (!labels.has(namespace)) labels.set(namespace, pathText(namespace));
  return (
    <Select
      compact
      label="Graph or subgraph"
      value={namespace}
      onChange={(ns) => navigate(href("thread", { thread }, { ns }))}
      options={[...labels].map(([value, label]) => ({ value, label }))}
    />
  );
}

/** A subagent by its name, and the call that it was run for. */
function labelOf({ namespace, agent, call }: Subagent): string {
  return call === undefined ? pathText(namespace) : `${agent}, ${call.name} ${call.id?.slice(0, 24) ?? ""}`;
}

/** A namespace `node:task|node:task`, with the tasks' long ids cut. */
function pathText(namespace: string): string {
  return namespace
    .split("|")
    .map((part) => part.replace(/:([\da-f]{8})[\da-f-]+$/, " $1"))
    .join(" › ");
}

/** The newest part of the history and the state of the head. The server leaves out what the config redacts. */
async function bundleOf(thread: string, namespace: string): Promise<Blob> {
  const [history, state] = await Promise.all([
    call("history", { thread, namespace, limit: 200 }),
    call("show", { at: thread, namespace, maxBytes: 1_000_000 }),
  ]);
  return new Blob([JSON.stringify({ history, state }, null, 2)], { type: "application/json" });
}
