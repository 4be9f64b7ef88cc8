import type { InputOf, OutputOf } from "../../../src/operations/index.ts";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { call, may, type ApiError, session } from "../../api/client.ts";
import { errorFrom, useResource } from "../../api/resource.ts";
import { jsonProblem } from "../../changes/jsonProblem.ts";
import { chosenGraph, GraphSelect, NeedsGraphs, NeedsRight } from "../../changes/needs.tsx";
import { Button } from "../../design/Button.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Field, Select } from "../../design/Field.tsx";
import { navigate, route, search, setQuery } from "../../router.ts";
import { likelyPart, partsOf } from "./parts.ts";
import { Preview } from "./Preview.tsx";
import { useSettled } from "./useSettled.ts";
import { isOwn } from "../checkpoint/shown.ts";

type Shown = OutputOf<"show">;

/** Values above this size are edited in parts. */
const mostBytes = 2_000_000;

/** Stands for the whole value in the address, because an empty path is left out there. */
const wholePath = "*";

interface EditFormProps {
  readonly where: Pick<InputOf<"fork">, "at" | "namespace" | "checkpoint">;
  readonly state: Shown;
}

/** A form for the changes in the fork, with a preview. */
export function EditForm({ where, state }: EditFormProps): VNode {
  const { query } = route.value;
  const channel = query.get("channel") ?? "";
  const asNode = query.get("as") ?? "";
  const graph = chosenGraph(query.get("graph") ?? "");
  const [text, setText] = useState<string>();
  const [creating, setCreating] = useState(false);
  const [failed, setFailed] = useState<ApiError>();
  const whole = useResource(
    channel === "" ? undefined : JSON.stringify([where, channel, "value"]),
    (signal) => call("show", { ...where, channel, maxBytes: mostBytes }, { signal }),
  );
  const wholeValue = whole.stale ? undefined : whole.data?.channels[0]?.value;
  const named = query.get("path");
  // Without a path in the address, the likeliest part is offered once the value is known.
  const path =
    named === wholePath ? "" : (named ?? (wholeValue === undefined ? undefined : likelyPart(wholeValue)));
  const isKnown = channel !== "" && (path !== undefined || unshown(whole.data));
  const part = useResource(isKnown ? JSON.stringify([where, channel, path]) : undefined, (signal) =>
    call("show", { ...where, channel, ...pathInput(path), maxBytes: mostBytes }, { signal }),
  );
  const nodes = useNodes(state.thread);
  const found = part.stale ? undefined : part.data?.channels[0];
  const original =
    found === undefined || found.value === undefined ? undefined : JSON.stringify(found.value, null, 2);
  useEffect(() => setText(undefined), [channel, path]);
  const value = text ?? original;
  const edits = channel !== "" && value !== undefined;
  const input: InputOf<"fork"> = {
    ...where,
    whatIf: true,
    ...(edits ? { channel, value, ...pathInput(path) } : {}),
    ...(asNode === "" ? {} : { asNode, ...(graph === undefined ? {} : { graph }) }),
  };
  const settled = useSettled(JSON.stringify(input), 350);
  const notJson = text === undefined ? undefined : jsonProblem(text);
  const ready = (channel === "" || edits) && notJson === undefined;
  const preview = useResource(ready ? settled : undefined, (signal) =>
    call("fork", { ...(JSON.parse(settled) as InputOf<"fork">), dryRun: true }, { signal }),
  );
  const wrong = preview.error;
  const isWrong = (field: string): string | undefined =>
    wrong?.fields.find(({ path: name }) => name === field)?.expected;
  const elsewhere = wrong !== undefined && isWrong("value") === undefined && isWrong("path") === undefined;
  const create = async () => {
    setCreating(true);
    setFailed(undefined);
    try {
      const { items } = await call("fork", input);
      const kept = { at: where.at, checkpoint: where.checkpoint, channel, graph: query.get("graph") ?? "" };
      navigate(`/whatif${search({ ...kept, fork: items[0]!.thread })}`);
    } catch (thrown) {
      setFailed(errorFrom(thrown));
    }
    setCreating(false);
  };
  // LangGraph's own channels determine what runs next. A fork keeps them.
  const channels = state.channels.map((each) => each.channel).filter((name) => !isOwn(name));
  return (
    <div class="whatif-columns">
      <form
        class="card whatif-form"
        aria-label="What to change"
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <h2>Change</h2>
        <div class="whatif-pair">
          <Select
            label="Channel"
            value={channel}
            onChange={(name) => setQuery({ channel: name, path: null })}
            options={[
              { value: "", label: "Nothing: only run it again" },
              ...channels.map((name) => ({ value: name, label: name })),
            ]}
          />
          {channel === "" ? null : (
            <Select
              label="Part"
              value={path ?? ""}
              onChange={(to) => setQuery({ path: to === "" ? wholePath : to })}
              options={partsFor(wholeValue, path ?? "")}
            />
          )}
        </div>
        {part.error === undefined ? null : <ErrorBox error={part.error} onRetry={part.reload} />}
        {channel === "" || part.error !== undefined ? null : found !== undefined && original === undefined ? (
          <p class="dim">This value isn't JSON ({found.type}). It can't be edited here.</p>
        ) : (
          <Field
            label="New value"
            value={value ?? ""}
            onInput={setText}
            rows={Math.min(18, Math.max(5, (original ?? "").split("\n").length + 1))}
            mono
            disabled={original === undefined}
            error={notJson ?? isWrong("value") ?? isWrong("path")}
            hint="JSON, as the serializer writes it. A message stays a message."
          />
        )}
        <div class="whatif-pair">
          <Select
            label="Then"
            value={asNode}
            onChange={(to) => setQuery({ as: to })}
            options={[
              { value: "", label: "Continue with what was due" },
              ...nodes.map((name) => ({ value: name, label: `As if ${name} had just run` })),
            ]}
          />
          <GraphSelect value={graph ?? ""} onChange={(name) => setQuery({ graph: name })} />
        </div>
        {(session.value?.graphs ?? []).length === 0 ? <NeedsGraphs what="Running the fork on" /> : null}
        {may("write") ? null : <NeedsRight />}
        {failed === undefined ? null : <ErrorBox error={failed} />}
        <div class="actions">
          <Button
            submit
            tone="primary"
            icon="fork"
            busy={creating}
            disabled={!may("write") || !ready || wrong !== undefined || preview.data === undefined}
          >
            Create {preview.data?.name ?? "the fork"}
          </Button>
        </div>
      </form>
      <Preview
        preview={
          elsewhere || wrong === undefined ? preview : { ...preview, error: undefined, data: undefined }
        }
        source={state.thread}
        invalid={notJson !== undefined || (wrong !== undefined && !elsewhere)}
        changed={text !== undefined && text !== original}
        edits={channel !== ""}
      />
    </div>
  );
}

function pathInput(path: string | undefined): { readonly path?: string } {
  return path === undefined || path === "" ? {} : { path };
}

/** Whether a channel was read and its value isn't JSON. */
function unshown(shown: Shown | undefined): boolean {
  return shown !== undefined && shown.channels[0]?.value === undefined;
}

/** The parts of a value, always with the chosen one. */
function partsFor(value: unknown, path: string) {
  const parts = value === undefined ? [{ path: "", label: "The whole value" }] : partsOf(value);
  const all = parts.some((each) => each.path === path) ? parts : [...parts, { path, label: path }];
  return all.map((each) => ({ value: each.path, label: each.label }));
}

/** The nodes that the thread has run, from the newest part of its history. */
function useNodes(thread: string): string[] {
  const { data } = useResource(`nodes of ${thread}`, (signal) =>
    call("history", { thread, limit: 100 }, { signal }),
  );
  return [...new Set((data?.items ?? []).flatMap((item) => item.nodes))]
    .filter((name) => !name.startsWith("__"))
    .sort();
}
