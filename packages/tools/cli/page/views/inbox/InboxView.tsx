import type { OutputOf } from "../../../src/operations/index.ts";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { call, may } from "../../api/client.ts";
import { useChanges } from "../../api/events.ts";
import { useResource } from "../../api/resource.ts";
import { Button } from "../../design/Button.tsx";
import { CopyMenu } from "../../design/CopyMenu.tsx";
import { Empty } from "../../design/Empty.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { Time } from "../../design/Texts.tsx";
import { commandText } from "../../design/commandText.ts";
import { href, route, setQuery } from "../../router.ts";
import { InboxAnswer } from "./InboxAnswer.tsx";
import "./inbox.css";

type Item = OutputOf<"inbox">["items"][number];

/** The threads that wait for a person, longest first, each with its questions and a form to answer them. */
export function InboxView(): VNode {
  const cursor = route.value.query.get("cursor") ?? "";
  const found = useResource(`inbox ${cursor}`, (signal) =>
    call("inbox", cursor === "" ? {} : { cursor }, { signal }),
  );
  useChanges(undefined, found.reload);
  // Those that are being answered. They stay, whatever the list says, until they have told how that ended.
  const [open, setOpen] = useState<ReadonlyMap<string, Item>>(new Map());
  const toggle = (item: Item, opens: boolean): void =>
    setOpen((before) => {
      const after = new Map(before);
      if (opens) after.set(item.thread, item);
      else after.delete(item.thread);
      return after;
    });
  const { data, error } = found;
  const listed = new Map([...open, ...(data?.items ?? []).map((item) => [item.thread, item] as const)]);
  const items = [...listed.values()].toSorted((a, b) => Date.parse(a.since) - Date.parse(b.since));
  return (
    <div class="page inbox">
      <header class="page-head">
        <h1>Inbox</h1>
        <div class="spacer" />
        {cursor === "" ? null : (
          <Button size="small" tone="quiet" icon="up" onClick={() => setQuery({ cursor: null })}>
            First page
          </Button>
        )}
        <CopyMenu
          cli={commandText("inbox", [])}
          code={`const { threads } = await checkpointer.listThreads({ status: "waiting", order: "oldest" });`}
        />
      </header>
      {error === undefined ? null : <ErrorBox error={error} onRetry={found.reload} />}
      {data === undefined ? (
        error === undefined ? (
          <Skeleton rows={5} />
        ) : null
      ) : items.length === 0 ? (
        <Empty title="No thread waits for an answer" icon="check">
          <p>Threads whose graph asks a person are listed here until they are answered.</p>
        </Empty>
      ) : (
        <ul class="inbox-list" aria-label="Threads that wait for an answer">
          {items.map((item) => (
            <Row
              key={item.thread}
              item={item}
              isOpen={open.has(item.thread)}
              onToggle={(opens) => toggle(item, opens)}
              onDone={() => {
                toggle(item, false);
                found.reload();
              }}
            />
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
    </div>
  );
}

interface RowProps {
  readonly item: Item;
  readonly isOpen: boolean;
  readonly onToggle: (opens: boolean) => void;
  readonly onDone: () => void;
}

function Row({ item, isOpen, onToggle, onDone }: RowProps): VNode {
  const { thread, checkpoint, since, questions, error } = item;
  return (
    <li class="card inbox-item">
      <div class="inbox-head">
        <a class="mono inbox-thread" href={href("checkpoint", { thread, checkpoint })}>
          {thread}
        </a>
        <span class="faint">
          waits <Time at={since} />
        </span>
        <span class="spacer" />
        {may("write") ? (
          <Button
            size="small"
            tone={isOpen ? "quiet" : "primary"}
            icon={isOpen ? "close" : "edit"}
            onClick={() => onToggle(!isOpen)}
          >
            {isOpen ? "Close" : "Answer"}
          </Button>
        ) : null}
      </div>
      {isOpen ? (
        <InboxAnswer thread={thread} onDone={onDone} />
      ) : (
        questions.map(({ by, text }, n) => (
          <p key={n} class="inbox-question">
            {by === undefined ? null : <span class="mono dim">{by}</span>} {text}
          </p>
        ))
      )}
      {error === undefined ? null : <p class="dim">{error}</p>}
    </li>
  );
}
