import type { OutputOf } from "../../../src/operations/index.ts";
import type { ComponentChildren, VNode } from "preact";
import { call } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { CopyMenu } from "../../design/CopyMenu.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Pill } from "../../design/Pill.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { commandText } from "../../design/commandText.ts";
import { countText } from "../../design/units.ts";
import { Icon, type IconName } from "../../icons.tsx";
import { href, route } from "../../router.ts";
import { inline } from "../../values/describe.ts";
import { Entries } from "./Entries.tsx";
import "./journal.css";
import { resultText } from "./resultText.ts";

type Why = OutputOf<"why">;
type Explained = Why["calls"][number];

/** How many characters of a message and of a value the chain shows. */
const [messageLength, valueLength] = [1200, 300];

const sources: Readonly<Record<string, string>> = {
  loop: "a step of the graph made it",
  input: "it came as the run’s input",
  update: "somebody put it there by an update",
  fork: "somebody put it there by a fork",
};

/** The origin of a message: what its model was given, as a chain from the inputs to the message. */
export function WhyView({ thread }: { readonly thread: string }): VNode {
  const { query } = route.value;
  const message = query.get("message") ?? undefined;
  const asked = query.get("call") ?? undefined;
  const input = {
    thread,
    ...(message === undefined ? {} : { message }),
    ...(asked === undefined ? {} : { call: asked }),
  };
  const { data, error, reload } = useResource(JSON.stringify(["why", input]), (signal) =>
    call("why", input, { signal }),
  );
  return (
    <div class="why">
      <header class="why-head">
        <a class="faint" href={href("thread", { thread })}>
          {thread}
        </a>
        <span class="faint" aria-hidden="true">
          /
        </span>
        <h1>Why</h1>
        <div class="spacer" />
        <CopyMenu
          cli={commandText("why", [thread, data?.message.id])}
          code={`const why = await journal.why(${JSON.stringify(thread)}, { messageId: ${JSON.stringify(data?.message.id ?? "")} });`}
        />
      </header>
      {error !== undefined ? (
        <ErrorBox error={error} onRetry={reload} />
      ) : data === undefined ? (
        <Skeleton rows={8} />
      ) : (
        <Chain why={data} />
      )}
    </div>
  );
}

function Chain({ why }: { readonly why: Why }): VNode {
  const { thread, message, made, from, source, inputs, context, calls, asks } = why;
  return (
    <>
      <p class="why-note dim">
        What the model had been given when it made this message. Why it chose as it did, nobody can tell.
      </p>
      <ol class="why-chain">
        {inputs.map((each, n) => (
          <Link
            key={`input ${each.id ?? n}`}
            icon={each.type === "system" ? "info" : "person"}
            title={each.type === "human" ? "A person said" : each.type}
            side={each.id === undefined ? null : <Why thread={thread} message={each.id} />}
          >
            <p class="why-text">{textOf(each.view.value)}</p>
          </Link>
        ))}
        {calls.map((each, n) => (
          <Asked key={each.toolCallId ?? n} thread={thread} call={each} />
        ))}
        {from === undefined ? null : (
          <Link icon="clock" title="The state it was given">
            <p>
              <Checkpoint thread={thread} at={from} />{" "}
              <span class="dim">with {context === 1 ? "1 message" : `${countText(context)} messages`}</span>
            </p>
          </Link>
        )}
        <Link
          icon={message.type === "ai" ? "robot" : message.type === "tool" ? "tool" : "person"}
          title={message.type === "ai" ? "The model said" : `The message (${message.type})`}
          isLast={asks.length === 0}
          side={<span class="mono faint clip">{message.id}</span>}
        >
          <p class="why-text">{textOf(message.view.value)}</p>
          <p class="dim">
            First in <Checkpoint thread={thread} at={made} />: {sources[source] ?? source}.
          </p>
        </Link>
        {asks.map((each, n) => (
          <Asked
            key={`asks ${each.toolCallId ?? n}`}
            thread={thread}
            call={each}
            isLast={n === asks.length - 1}
            asks
          />
        ))}
      </ol>
    </>
  );
}

interface LinkProps {
  readonly icon: IconName;
  readonly title: ComponentChildren;
  readonly side?: ComponentChildren;
  readonly isLast?: boolean;
  readonly children: ComponentChildren;
}

/** A link of the chain. */
function Link({ icon, title, side, isLast = false, children }: LinkProps): VNode {
  return (
    <li class={isLast ? "why-link is-last" : "why-link"}>
      <span class="why-icon">
        <Icon name={icon} size={14} />
      </span>
      <div class="why-body">
        <h2>
          <span>{title}</span>
          {side === undefined ? null : <span class="why-side">{side}</span>}
        </h2>
        {children}
      </div>
    </li>
  );
}

function Asked({
  thread,
  call: { tool, args, result, calls, foundBy, checkpoints, entries, message },
  isLast = false,
  asks = false,
}: {
  readonly thread: string;
  readonly call: Explained;
  readonly isLast?: boolean;
  readonly asks?: boolean;
}): VNode {
  const [first] = calls;
  return (
    <Link
      icon="tool"
      isLast={isLast}
      title={
        <>
          {asks ? "It asks for " : "Called "}
          <strong class="mono">{tool}</strong>
        </>
      }
      side={
        <>
          {first === undefined ? (
            <Pill title="Not made through the journal">Not recorded</Pill>
          ) : (
            <a href={href("journal", { thread }, { call: first })}>call</a>
          )}
          {asks || message === undefined ? null : <Why thread={thread} message={message} />}
        </>
      }
    >
      <pre class="why-value mono">{args === undefined ? "" : inline(args.value, valueLength)}</pre>
      {result === undefined ? null : (
        <pre class="why-value why-result mono">
          <span class="faint">→ </span>
          {resultText(result.value, valueLength)}
        </pre>
      )}
      {foundBy === "content" ? (
        <p class="faint">Found by tool and arguments: these entries may be of an equal call elsewhere.</p>
      ) : null}
      {entries.length === 0 ? null : <Entries entries={entries} />}
      {checkpoints.map((checkpoint) => (
        <p key={checkpoint} class="dim">
          Made at <Checkpoint thread={thread} at={{ namespace: "", checkpoint }} />
        </p>
      ))}
    </Link>
  );
}

function Why({ thread, message }: { readonly thread: string; readonly message: string }): VNode {
  return <a href={href("why", { thread }, { message })}>why</a>;
}

function Checkpoint({
  thread,
  at: { namespace, checkpoint },
}: {
  readonly thread: string;
  readonly at: { readonly namespace: string; readonly checkpoint: string };
}): VNode {
  return (
    <a class="mono" href={href("checkpoint", { thread, checkpoint }, { ns: namespace })}>
      {checkpoint}
    </a>
  );
}

/** The content of a message: its text, or if it has none, its content as a value. */
function textOf(message: unknown): string {
  const fields = Object(Object(message).kwargs ?? message) as { content?: unknown };
  const { content } = fields;
  if (typeof content === "string")
    return content.length > messageLength
      ? `${content.slice(0, messageLength)}…`
      : content === ""
        ? "(no text)"
        : content;
  return inline(content, messageLength);
}
