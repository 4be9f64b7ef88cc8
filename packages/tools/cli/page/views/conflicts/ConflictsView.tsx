import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { call, may } from "../../api/client.ts";
import { useChanges } from "../../api/events.ts";
import { useResource } from "../../api/resource.ts";
import { Button, LinkButton } from "../../design/Button.tsx";
import { CopyMenu } from "../../design/CopyMenu.tsx";
import { Empty } from "../../design/Empty.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { Id, Time } from "../../design/Texts.tsx";
import { commandText } from "../../design/commandText.ts";
import { href, route, setQuery } from "../../router.ts";
import "./conflicts.css";
import type { Conflict } from "./conflict.ts";
import { PromoteDialog } from "./PromoteDialog.tsx";
import { Sides } from "./Sides.tsx";

const keyOf = ({ thread, namespace, checkpoint }: Conflict): string =>
  JSON.stringify([thread, namespace, checkpoint]);

/** Side branches: work that lost a race for the head of its thread but was kept. */
export function ConflictsView(): VNode {
  const { query } = route.value;
  const thread = query.get("thread") ?? "";
  const cursor = query.get("cursor") ?? "";
  const found = useResource(JSON.stringify([thread, cursor]), (signal) =>
    call(
      "conflicts",
      { ...(thread === "" ? {} : { thread }), ...(cursor === "" ? {} : { cursor }) },
      { signal },
    ),
  );
  useChanges(thread === "" ? undefined : thread, found.reload);
  const [promoting, setPromoting] = useState<Conflict>();
  const { data, error } = found;
  return (
    <div class="page conflicts">
      <header class="page-head">
        <h1>Conflicts</h1>
        {thread === "" ? null : (
          <>
            <span class="dim">
              of{" "}
              <a class="mono" href={href("thread", { thread })}>
                {thread}
              </a>
            </span>
            <Button
              size="small"
              tone="quiet"
              icon="close"
              onClick={() => setQuery({ thread: null, cursor: null })}
            >
              All threads
            </Button>
          </>
        )}
        <div class="spacer" />
        <CopyMenu
          cli={commandText("conflicts", [thread])}
          code={`const conflicts = await checkpointer.conflicts(${JSON.stringify(thread === "" ? "ada" : thread)});`}
        />
      </header>
      <p class="dim conflicts-about">
        Two runs continued from the same checkpoint, and one was first. What the other one wrote is kept
        beside the main line until it is merged, promoted or pruned.
      </p>
      {error === undefined ? null : <ErrorBox error={error} onRetry={found.reload} />}
      {data === undefined ? (
        error === undefined ? (
          <Skeleton rows={5} />
        ) : null
      ) : data.items.length === 0 ? (
        <Empty title="No conflicts" icon="check">
          <p>
            {data.threads === 1 ? "1 thread was" : `${data.threads} threads were`} looked at.
            {data.skipped > 0 ? ` ${data.skipped} archived ones were left out.` : ""}
          </p>
        </Empty>
      ) : (
        <ul class="conflicts-list" aria-label="Side branches">
          {data.items.map((conflict) => (
            <Item key={keyOf(conflict)} conflict={conflict} onPromote={() => setPromoting(conflict)} />
          ))}
        </ul>
      )}
      {data?.cursor === undefined ? null : (
        <div class="actions">
          <Button icon="down" onClick={() => setQuery({ cursor: data.cursor }, { replace: false })}>
            More threads
          </Button>
        </div>
      )}
      <PromoteDialog
        conflict={promoting}
        onClose={() => setPromoting(undefined)}
        onChange={() => {
          setPromoting(undefined);
          found.reload();
        }}
      />
    </div>
  );
}

interface ItemProps {
  readonly conflict: Conflict;
  readonly onPromote: () => void;
}

function Item({ conflict, onPromote }: ItemProps): VNode {
  const { thread, namespace, checkpoint, from, lostTo, checkpoints, ts, step, run } = conflict;
  const [open, setOpen] = useState(false);
  const isRoot = namespace === "";
  return (
    <li class="card conflict">
      <div class="conflict-head">
        <a class="mono conflict-thread" href={href("thread", { thread }, isRoot ? {} : { ns: namespace })}>
          {thread}
        </a>
        {isRoot ? null : <span class="faint mono clip">{namespace}</span>}
        <span class="dim">
          {checkpoints === 1 ? "1 checkpoint" : `${checkpoints} checkpoints`}
          {step === undefined ? "" : `, up to step ${step}`}
        </span>
        {ts === undefined ? null : (
          <span class="faint">
            <Time at={ts} />
          </span>
        )}
        <span class="spacer" />
        <span class="actions">
          <Button size="small" icon="eye" pressed={open} onClick={() => setOpen(!open)}>
            Both sides
          </Button>
          {isRoot ? (
            <LinkButton
              size="small"
              icon="merge"
              href={href("merge", { thread }, { from: `${thread}@${checkpoint}` })}
            >
              Merge
            </LinkButton>
          ) : null}
          {may("write") ? (
            <Button size="small" icon="up" onClick={onPromote}>
              Promote
            </Button>
          ) : null}
        </span>
      </div>
      <dl class="conflict-facts">
        <div>
          <dt>Side branch</dt>
          <dd>
            <Id value={checkpoint} of="checkpoint" />
          </dd>
        </div>
        {from === undefined ? null : (
          <div>
            <dt>Departs from</dt>
            <dd>
              <Id value={from} of="checkpoint" />
            </dd>
          </div>
        )}
        <div>
          <dt>Lost to</dt>
          <dd>
            <Id value={lostTo} of="checkpoint" />
          </dd>
        </div>
        {run === undefined ? null : (
          <div>
            <dt>Run</dt>
            <dd>
              <Id value={run} of="run" />
            </dd>
          </div>
        )}
      </dl>
      {open ? <Sides conflict={conflict} /> : null}
    </li>
  );
}
