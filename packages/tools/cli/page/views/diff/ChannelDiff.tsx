import type { OutputOf } from "../../../src/operations/index.ts";
import type { VNode } from "preact";
import { Pill } from "../../design/Pill.tsx";
import { countText } from "../../design/units.ts";
import { MessageCard, speakerText } from "../../values/MessageCard.tsx";
import { messageOf } from "../../values/messages.ts";
import { messageSide, pathText, sideText, type MessageSide } from "./changeText.ts";
import { TextChange } from "./TextChange.tsx";
import { Value } from "./Value.tsx";

export type Channel = OutputOf<"diff">["channels"][number];

type Change = Channel["changes"][number];

interface ChannelDiffProps {
  readonly channel: Channel;
  /** Shows more of the omitted changes. */
  readonly onMore?: (() => void) | undefined;
}

const tones = { added: "green", removed: "red", changed: "amber" } as const;

/** The differences in one channel. */
export function ChannelDiff({ channel, onMore }: ChannelDiffProps): VNode {
  const { name, kind, changes, omitted } = channel;
  return (
    <details class="channel-diff" open>
      <summary class="channel-diff-head">
        <h3 class="mono" title={name}>
          {name}
        </h3>
        <Pill tone={tones[kind]}>{kind}</Pill>
        <span class="faint">{counted(changes, omitted)}</span>
      </summary>
      <Changes changes={changes} />
      {omitted === 0 ? null : (
        <p class="channel-diff-more">
          {countText(omitted)} more changes.{" "}
          {onMore === undefined ? null : (
            <button type="button" class="link" onClick={onMore}>
              Show them
            </button>
          )}
        </p>
      )}
    </details>
  );
}

/** The differences in one value, each with its path. */
export function Changes({ changes }: { readonly changes: readonly Change[] }): VNode {
  return (
    <>
      {changes.map((change, n) => (
        <ChangeRow key={`${change.path} ${n}`} change={change} />
      ))}
    </>
  );
}

function counted(changes: readonly Change[], omitted: number): string {
  const counts = (["added", "removed", "changed"] as const).flatMap((kind) => {
    const count = changes.filter((change) => change.kind === kind).length;
    return count === 0 ? [] : [`${count} ${kind}`];
  });
  return [...counts, ...(omitted === 0 ? [] : [`${countText(omitted)} more`])].join(", ");
}

function ChangeRow({ change }: { readonly change: Change }): VNode {
  const { kind, path } = change;
  return (
    <div class={`change change-${kind}`}>
      {path === "" ? null : (
        <div class="change-path mono" title={path}>
          <span class="change-sign" aria-label={kind}>
            {{ added: "+", removed: "−", changed: "~" }[kind]}
          </span>
          {pathText(path)}
        </div>
      )}
      <ChangeValue change={change} />
    </div>
  );
}

function ChangeValue({ change: { kind, before, after } }: { readonly change: Change }): VNode {
  if (kind !== "changed") return <Alone value={kind === "added" ? after : before} />;
  const [one, other] = [messageSide(before), messageSide(after)];
  if (one !== undefined && other !== undefined) return <MessageChange before={one} after={other} />;
  const [from, to] = [sideText(before), sideText(after)];
  // Short values, such as a number or a word, are shown on one line.
  if (isShort(from.text) && isShort(to.text))
    return (
      <p class="change-short mono">
        <del>{from.kind === "text" ? JSON.stringify(from.text) : from.text}</del>
        <span aria-label="became">→</span>
        <ins>{to.kind === "text" ? JSON.stringify(to.text) : to.text}</ins>
      </p>
    );
  return <TextChange before={from} after={to} />;
}

function isShort(text: string): boolean {
  return text.length <= 48 && !text.includes("\n");
}

/** A value that only one side has. */
function Alone({ value }: { readonly value: unknown }): VNode {
  const message = messageOf(value, 0, []);
  if (message === undefined) return <Value value={value} />;
  const calls = message.calls.map((call) => ({ ...call, result: undefined }));
  return (
    <ol class="conversation change-message">
      <MessageCard message={message} calls={calls} plain />
    </ol>
  );
}

/** A message that differs between the sides. */
function MessageChange({
  before,
  after,
}: {
  readonly before: MessageSide;
  readonly after: MessageSide;
}): VNode {
  const sameText = before.content.text === after.content.text;
  const keys = [...new Set([...Object.keys(before.rest), ...Object.keys(after.rest)])].filter(
    (key) => JSON.stringify(before.rest[key]) !== JSON.stringify(after.rest[key]),
  );
  return (
    <div class="message-change">
      <p class="message-change-head">
        {before.speaker === after.speaker
          ? speakerText(after.speaker)
          : `${speakerText(before.speaker)} → ${speakerText(after.speaker)}`}
        {after.name === undefined ? null : <span class="dim"> {after.name}</span>}
      </p>
      {sameText ? (
        <p class="faint">The text is the same.</p>
      ) : (
        <TextChange before={before.content} after={after.content} />
      )}
      {keys.map((key) => (
        <div key={key} class="message-change-field">
          <span class="mono dim">{key}</span>
          <TextChange before={sideText(before.rest[key])} after={sideText(after.rest[key])} />
        </div>
      ))}
    </div>
  );
}
