import type { VNode } from "preact";
import { call } from "../../api/client.ts";
import { useChanges } from "../../api/events.ts";
import { useResource } from "../../api/resource.ts";
import { Button, LinkButton } from "../../design/Button.tsx";
import { CopyMenu } from "../../design/CopyMenu.tsx";
import { Empty } from "../../design/Empty.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { Time } from "../../design/Texts.tsx";
import { commandText } from "../../design/commandText.ts";
import { href, route, setQuery } from "../../router.ts";
import "./inbox.css";

/** The threads that wait for a person, longest first, each with its questions and a link to where they are answered. */
export function InboxView(): VNode {
  const cursor = route.value.query.get("cursor") ?? "";
  const found = useResource(`inbox ${cursor}`, (signal) =>
    call("inbox", cursor === "" ? {} : { cursor }, { signal }),
  );
  useChanges(undefined, found.reload);
  const { data, error } = found;
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
      ) : data.items.length === 0 ? (
        <Empty title="No thread waits for an answer" icon="check">
          <p>Threads whose graph asks a person are listed here until they are answered.</p>
        </Empty>
      ) : (
        <ul class="inbox-list" aria-label="Threads that wait for an answer">
          {data.items.map(({ thread, checkpoint, since, questions, error: damage }) => (
            <li key={thread} class="card inbox-item">
              <div class="inbox-head">
                <a class="mono inbox-thread" href={href("checkpoint", { thread, checkpoint })}>
                  {thread}
                </a>
                <span class="faint">
                  waits <Time at={since} />
                </span>
                <span class="spacer" />
                <LinkButton
                  size="small"
                  tone="primary"
                  icon="edit"
                  href={href("whatif", {}, { at: thread, checkpoint })}
                >
                  Answer
                </LinkButton>
              </div>
              {questions.map(({ by, text }, n) => (
                <p key={n} class="inbox-question">
                  {by === undefined ? null : <span class="mono dim">{by}</span>} {text}
                </p>
              ))}
              {damage === undefined ? null : <p class="dim">{damage}</p>}
            </li>
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
