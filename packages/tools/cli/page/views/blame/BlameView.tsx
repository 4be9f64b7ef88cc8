import type { OutputOf } from "../../../src/operations/index.ts";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { Button, LinkButton } from "../../design/Button.tsx";
import { CopyMenu } from "../../design/CopyMenu.tsx";
import { Empty } from "../../design/Empty.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Field } from "../../design/Field.tsx";
import { Pill } from "../../design/Pill.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { Id, Time } from "../../design/Texts.tsx";
import { commandText } from "../../design/commandText.ts";
import { countText } from "../../design/units.ts";
import { href, navigate, route } from "../../router.ts";
import { Changes } from "../diff/ChannelDiff.tsx";
import { Value } from "../diff/Value.tsx";
import "../diff/diff.css";
import "./blame.css";

type Blamed = OutputOf<"blame">;
type Entry = Blamed["changed"];

/** Shows who last changed a value, and what the value was before. */
export function BlameView(): VNode {
  const { query } = route.value;
  const [at, path, checkpoint, namespace] = [
    query.get("at") ?? "",
    query.get("path") ?? "",
    query.get("checkpoint") ?? undefined,
    query.get("namespace") ?? "",
  ];
  const exact = query.get("exact") === "true";
  const input = { at, path, namespace, ...(checkpoint === undefined ? {} : { checkpoint }), exact };
  const key = at === "" || path === "" ? undefined : JSON.stringify(input);
  const { data, error, reload, stale } = useResource(key, (signal) => call("blame", input, { signal }));
  const command = commandText("blame", [at, path], { checkpoint, namespace, exact });
  return (
    <div class="page">
      <header class="page-head">
        <h1>Who wrote this?</h1>
        <span class="spacer" />
        {key === undefined ? null : <CopyMenu cli={command} code={command} />}
      </header>
      <Question at={at} path={path} checkpoint={checkpoint} namespace={namespace} />
      {key === undefined ? (
        <Empty title="Ask for any value" icon="person">
          <p>
            Write the value's place: a channel such as <code>messages</code>, or a part of its value:{" "}
            <code>messages[3].content</code>, <code>facts.city</code>. In a checkpoint's state, the menu of a
            value brings you here.
          </p>
        </Empty>
      ) : error !== undefined ? (
        <ErrorBox error={error} onRetry={reload} />
      ) : data === undefined ? (
        <Skeleton rows={6} />
      ) : (
        <div class={stale ? "stale" : undefined} aria-busy={stale}>
          <Answer found={data} exact={exact} exactHref={href("blame", {}, { ...input, exact: true })} />
        </div>
      )}
    </div>
  );
}

interface QuestionProps {
  readonly at: string;
  readonly path: string;
  readonly checkpoint: string | undefined;
  readonly namespace: string;
}

function Question({ at, path, checkpoint, namespace }: QuestionProps): VNode {
  const [where, setWhere] = useState(at);
  const [what, setWhat] = useState(path);
  useEffect(() => {
    setWhere(at);
    setWhat(path);
  }, [at, path]);
  return (
    <form
      class="diff-form"
      onSubmit={(event) => {
        event.preventDefault();
        const same = where.trim() === at;
        navigate(
          href(
            "blame",
            {},
            { at: where.trim(), path: what.trim(), ...(same ? { checkpoint, namespace } : {}) },
          ),
        );
      }}
    >
      <Field label="Thread or checkpoint" value={where} onInput={setWhere} mono placeholder="ada@step:12" />
      <Field label="Value" value={what} onInput={setWhat} mono placeholder="messages[3].content" />
      <Button submit tone="primary">
        Ask
      </Button>
    </form>
  );
}

interface AnswerProps {
  readonly found: Blamed;
  readonly exact: boolean;
  readonly exactHref: string;
}

function Answer({ found, exact, exactHref }: AnswerProps): VNode {
  const { thread, namespace, path, id, value, rebuilt, changed, before, complete, searched } = found;
  const { changes, omitted = 0 } = found;
  const back =
    before?.value === undefined
      ? undefined
      : href("blame", {}, { at: thread, namespace, checkpoint: before.checkpoint, path });
  return (
    <div class="blame">
      <p class="blame-path mono">
        {path}
        {id === undefined ? null : (
          <span class="dim" title="The item is followed by its id, at whatever position of its list it was.">
            {" "}
            #{id}
          </span>
        )}
      </p>
      <section class="blame-entry blame-changed" aria-label="Who wrote it">
        <h2>
          {before === undefined
            ? "It was there from the beginning"
            : before.value === undefined
              ? "Added by"
              : "Last changed by"}
        </h2>
        <EntryLine entry={changed} thread={thread} namespace={namespace} path={path} />
      </section>
      {changes !== undefined ? (
        <section class="channel-diff" aria-label="What changed">
          <Changes changes={changes} />
          {changes.length > 0 ? null : <p class="channel-diff-more">What differs is redacted.</p>}
          {omitted === 0 ? null : <p class="channel-diff-more">{countText(omitted)} more changes.</p>}
        </section>
      ) : value.value === undefined ? (
        <p class="opaque">
          <span class="mono value-special">{value.type}</span> {countText(value.bytes)} bytes
        </p>
      ) : (
        <Value value={value.value} />
      )}
      {before === undefined ? null : (
        <section class="blame-entry" aria-label="Before">
          <h2>{before.value === undefined ? "Not yet there in" : "Last different in"}</h2>
          <EntryLine entry={before} thread={thread} namespace={namespace} path={path} />
        </section>
      )}
      {rebuilt ? (
        <p class="dim">
          The values were rebuilt from writes without the channel's reducer: they are an approximation.
        </p>
      ) : null}
      {complete ? null : (
        <p class="dim">Older checkpoints were removed: it may have had this value before.</p>
      )}
      <footer class="blame-foot">
        {back === undefined ? null : (
          <LinkButton href={back} icon="left" size="small">
            And who wrote the value before?
          </LinkButton>
        )}
        <span class="faint">
          Read {countText(searched.read)} of {countText(searched.versions)} versions in{" "}
          {countText(searched.checkpoints)} checkpoints.
        </span>
        {exact || searched.read >= searched.versions ? null : (
          <a
            href={exactHref}
            title="Otherwise a value that changed and changed back in between may be overlooked."
          >
            Compare every version
          </a>
        )}
      </footer>
    </div>
  );
}

interface EntryLineProps {
  readonly entry: Entry;
  readonly thread: string;
  readonly namespace: string;
  readonly path: string;
}

function EntryLine({ entry, thread, namespace, path }: EntryLineProps): VNode {
  const { checkpoint, ts, step, source, nodes, run } = entry;
  return (
    <p class="blame-line">
      {nodes.length === 0 ? (
        <Pill>{source ?? "?"}</Pill>
      ) : (
        nodes.map((node) => (
          <Pill key={node} tone="blue">
            {node}
          </Pill>
        ))
      )}
      <a href={href("checkpoint", { thread, checkpoint }, { ns: namespace, ...partOf(path) })}>
        step {step ?? "?"} <span class="mono faint">{checkpoint}</span>
      </a>
      <Time at={ts} />
      {run === undefined ? null : (
        <span class="blame-run">
          <span class="faint">run</span> <Id value={run} of="run's id" />
        </span>
      )}
    </p>
  );
}

/** The channel that a path begins with, and the rest of the path. */
function partOf(path: string): { readonly channel: string; readonly path: string } {
  const [quoted] = /^\["(?:[^"\\]|\\.)*"\]/.exec(path) ?? [];
  const channel = quoted ?? /^[^.[]*/.exec(path)![0];
  return {
    channel: quoted === undefined ? channel : (JSON.parse(quoted.slice(1, -1)) as string),
    path: path.slice(channel.length).replace(/^\./, ""),
  };
}
