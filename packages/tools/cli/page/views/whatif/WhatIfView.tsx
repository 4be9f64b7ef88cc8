import type { VNode } from "preact";
import { call } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { chosenGraph, GraphSelect } from "../../changes/needs.tsx";
import { CopyMenu } from "../../design/CopyMenu.tsx";
import { Empty } from "../../design/Empty.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { commandText } from "../../design/commandText.ts";
import { href, route, setQuery } from "../../router.ts";
import { EditForm } from "./EditForm.tsx";
import { ForkActions } from "./ForkActions.tsx";
import { RunPanel } from "./RunPanel.tsx";
import "./whatif.css";

/** Shows what would have happened: forks a checkpoint, edits the fork, and continues it. */
export function WhatIfView(): VNode {
  const { query } = route.value;
  const at = query.get("at") ?? "";
  const fork = query.get("fork") ?? "";
  const where = {
    at,
    ...(query.get("checkpoint") ? { checkpoint: query.get("checkpoint")! } : {}),
    ...(query.get("namespace") ? { namespace: query.get("namespace")! } : {}),
  };
  const state = useResource(at === "" ? undefined : JSON.stringify(where), (signal) =>
    call("show", { ...where, maxBytes: 20_000 }, { signal }),
  );
  if (at === "")
    return (
      <Empty title="What if" icon="fork">
        <h1 class="unseen">What if</h1>
        <p>
          Open a thread, choose a checkpoint, and press <kbd>f</kbd>: the fork begins there, and the thread
          stays as it is.
        </p>
        <p>
          <a href="/">All threads</a>
        </p>
      </Empty>
    );
  const thread = state.data?.thread;
  const chosen = query.get("graph") ?? "";
  const graph = chosenGraph(chosen);
  return (
    <div class="page whatif">
      <header class="page-head">
        <h1>
          {thread === undefined ? (
            at
          ) : (
            <a class="mono" href={href("thread", { thread })}>
              {thread}
            </a>
          )}
          <span class="faint"> / </span>
          {fork === "" ? "What if" : <span class="mono">{fork}</span>}
        </h1>
        {state.data === undefined ? null : (
          <a
            class="faint"
            href={href("checkpoint", { thread: state.data.thread, checkpoint: state.data.checkpoint })}
          >
            from step {state.data.step ?? "?"}
          </a>
        )}
        <div class="spacer" />
        <CopyMenu
          cli={fork === "" ? commandText("fork", [at], { "what-if": true }) : commandText("run", [fork])}
          code={`const { threadId } = await fork(checkpointer, ${JSON.stringify(thread ?? at)});`}
        />
      </header>
      {state.error === undefined ? null : <ErrorBox error={state.error} onRetry={state.reload} />}
      {state.data === undefined && state.error === undefined ? <Skeleton rows={6} /> : null}
      {state.data === undefined ? null : fork === "" ? (
        <EditForm where={where} state={state.data} />
      ) : (
        <div class="whatif-run">
          <ForkActions source={state.data.thread} fork={fork} graph={graph} />
          <div class="card whatif-panel">
            {graph === undefined ? (
              <GraphSelect value="" onChange={(name) => setQuery({ graph: name })} />
            ) : null}
            <RunPanel key={fork} thread={fork} graph={graph} />
          </div>
        </div>
      )}
    </div>
  );
}
