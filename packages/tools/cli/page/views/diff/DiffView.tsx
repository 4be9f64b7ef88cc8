import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { Button, IconButton } from "../../design/Button.tsx";
import { CopyMenu } from "../../design/CopyMenu.tsx";
import { Empty } from "../../design/Empty.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Field } from "../../design/Field.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { commandText } from "../../design/commandText.ts";
import { useKeys } from "../../keys.ts";
import { href, navigate, route } from "../../router.ts";
import { Channels } from "./Channels.tsx";
import "./diff.css";

/** Compares any two checkpoints, branches or threads. */
export function DiffView(): VNode {
  const { query } = route.value;
  const [a, b, namespace] = [query.get("a") ?? "", query.get("b") ?? "", query.get("ns") ?? ""];
  const [limit, setLimit] = useState(200);
  const go = (from: string, to: string) => navigate(href("diff", {}, { a: from, b: to, ns: namespace }));
  useKeys({ s: { label: "Swap the sides", run: () => go(b, a) } }, "Diff");
  const key = a === "" ? undefined : JSON.stringify(["diff", a, b, namespace, limit]);
  const { data, error, reload, stale } = useResource(key, (signal) =>
    call("diff", { from: a, ...(b === "" ? {} : { to: b }), namespace, limit }, { signal }),
  );
  const command = commandText("diff", [a, b]);
  return (
    <div class="page">
      <header class="page-head">
        <h1>Diff</h1>
        <span class="spacer" />
        {a === "" ? null : <CopyMenu cli={command} code={codeOf(a, b)} />}
      </header>
      <Sides a={a} b={b} onGo={go} />
      {key === undefined ? (
        <Empty title="Compare any two checkpoints" icon="diff">
          <p>
            Write addresses above: a thread such as <code>ada</code>, or one of its checkpoints:{" "}
            <code>ada@head~3</code>, <code>ada@step:12</code>, <code>ada@lost:1</code>,{" "}
            <code>ada@1ef4f79</code>. A single one is compared with the checkpoint it was made from.
          </p>
        </Empty>
      ) : error !== undefined ? (
        <ErrorBox error={error} onRetry={reload} />
      ) : data === undefined ? (
        <Skeleton rows={8} />
      ) : (
        <div class={stale ? "stale" : undefined} aria-busy={stale}>
          <div class="diff-sides">
            <SideLink name="Before" at={data.a} />
            <SideLink name="After" at={data.b} />
          </div>
          <h2 class="unseen">What changed</h2>
          <Channels channels={data.channels} onMore={() => setLimit(10_000)} />
        </div>
      )}
    </div>
  );
}

interface SidesProps {
  readonly a: string;
  readonly b: string;
  readonly onGo: (a: string, b: string) => void;
}

function Sides({ a, b, onGo }: SidesProps): VNode {
  const [from, setFrom] = useState(a);
  const [to, setTo] = useState(b);
  useEffect(() => {
    setFrom(a);
    setTo(b);
  }, [a, b]);
  return (
    <form
      class="diff-form"
      onSubmit={(event) => {
        event.preventDefault();
        onGo(from.trim(), to.trim());
      }}
    >
      <Field label="Before" value={from} onInput={setFrom} mono placeholder="ada@head~1" />
      <IconButton icon="swap" label="Swap the sides" onClick={() => onGo(to.trim(), from.trim())} />
      <Field label="After" value={to} onInput={setTo} mono placeholder="ada" />
      <Button submit tone="primary">
        Compare
      </Button>
    </form>
  );
}

interface SideLinkProps {
  readonly name: string;
  readonly at: { readonly threadId: string; readonly namespace: string; readonly checkpointId: string };
}

function SideLink({ name, at: { threadId, namespace, checkpointId } }: SideLinkProps): VNode {
  return (
    <p class="diff-side">
      <span class="dim">{name}</span>{" "}
      <a
        class="mono"
        href={href("checkpoint", { thread: threadId, checkpoint: checkpointId }, { ns: namespace })}
      >
        {threadId} <span class="faint">{checkpointId}</span>
      </a>
    </p>
  );
}

function codeOf(a: string, b: string): string {
  const text = (value: string): string => JSON.stringify(value);
  return [
    'import { diff } from "stratigraph";',
    "",
    "// A thread's id stands for its head; a checkpoint is { threadId, checkpointId }.",
    `const { channels } = await diff(checkpointer, ${text(a)}, ${text(b)});`,
  ].join("\n");
}
