import type { ComponentChildren, VNode } from "preact";
import { useContext, useState } from "preact/hooks";
import { Menu } from "../design/Menu.tsx";
import { Pill } from "../design/Pill.tsx";
import { Id } from "../design/Texts.tsx";
import { countText } from "../design/units.ts";
import { Icon, type IconName } from "../icons.tsx";
import { href } from "../router.ts";
import { valueMenu } from "./actions.ts";
import { inline } from "./describe.ts";
import { JsonText } from "./JsonText.tsx";
import { MessageText } from "./MessageText.tsx";
import type { Block, JoinedCall, Message, Role, Usage } from "./messages.ts";
import type { Step } from "./records.ts";
import { Subagents } from "./Subagents.ts";
import type { ValueAt } from "./ValueAt.ts";
import "./conversation.css";

interface MessageCardProps {
  readonly message: Message;
  readonly calls: readonly JoinedCall[];
  readonly channel?: string;
  readonly at?: ValueAt | undefined;
  /** Loads the rest of a text that was cut. */
  readonly onMore?: OnMore | undefined;
  /** The position of the message that the address names, in its list. */
  readonly wanted?: string | undefined;
  /** Hides what only makes sense in a list: the message's place, and which calls have results. */
  readonly plain?: boolean;
}

type OnMore = (path: readonly Step[], from: number) => void;

const icons: Readonly<Record<Role, IconName>> = {
  human: "person",
  ai: "robot",
  system: "info",
  tool: "tool",
  remove: "close",
  other: "person",
};

const speakers: Readonly<Record<string, string>> = {
  human: "Human",
  user: "User",
  ai: "AI",
  assistant: "Assistant",
  system: "System",
  tool: "Tool",
  remove: "Removed",
};

/** The speaker of a message, in words for people. */
export function speakerText(speaker: string): string {
  return Object.hasOwn(speakers, speaker) ? speakers[speaker]! : speaker;
}

/** A message of a conversation, with its tool calls and their results. */
export function MessageCard({
  message,
  calls,
  channel = "",
  at,
  onMore,
  wanted,
  plain = false,
}: MessageCardProps): VNode {
  const { role, speaker, name, id, blocks, usage, model, finish, index, path } = message;
  const menu = at === undefined ? undefined : valueMenu(at, { channel, path }, undefined);
  return (
    <li
      class={`message message-${role}${wanted === String(index) ? " message-wanted" : ""}`}
      data-index={plain ? undefined : index}
    >
      <span class="message-icon">
        <Icon name={icons[role]} size={14} />
      </span>
      <div class="message-body">
        <header class="message-head">
          <h3>{speakerText(speaker)}</h3>
          {name === undefined ? null : <span class="message-name">{name}</span>}
          {role === "tool" ? <ToolMarks message={message} plain={plain} /> : null}
          {model === undefined ? null : <span class="message-meta clip">{model}</span>}
          <UsageText usage={usage} />
          {finish === undefined || /^(stop|end_turn|tool_calls|tool_use)$/.test(finish) ? null : (
            <Pill tone="amber" title="Why the model stopped">
              {finish}
            </Pill>
          )}
          <span class="spacer" />
          <span class="message-id">{id === undefined ? null : <Id value={id} of="message's id" />}</span>
          {plain ? null : <span class="message-index num mono">{index}</span>}
          {menu === undefined ? null : (
            <span class="message-menu">
              <Menu label={`What to do with message ${index}`} items={menu} />
            </span>
          )}
        </header>
        {role === "remove" ? (
          <p class="dim">{removedText(id)}</p>
        ) : (
          <Blocks blocks={blocks} code={role === "tool"} onMore={onMore} />
        )}
        {calls.map((call, n) => (
          <ToolCallCard key={call.id ?? n} call={call} plain={plain} wanted={wanted} onMore={onMore} />
        ))}
      </div>
    </li>
  );
}

function removedText(id: string | undefined): string {
  return id === "__remove_all__" ? "Removes all messages before it." : "Removes the message with this id.";
}

function ToolMarks({
  message: { failed, callId },
  plain,
}: {
  readonly message: Message;
  readonly plain: boolean;
}) {
  return (
    <>
      {failed ? <Pill tone="red">failed</Pill> : null}
      {callId === undefined || plain ? null : (
        <Pill tone="amber" title={`It answers the call ${callId}, which isn't in what is loaded before it.`}>
          its call isn't here
        </Pill>
      )}
    </>
  );
}

function UsageText({ usage }: { readonly usage: Usage | undefined }): VNode | null {
  if (usage === undefined) return null;
  const { input, output, total } = usage;
  const text =
    input === undefined || output === undefined
      ? `${countText(total ?? input ?? output ?? 0)} tokens`
      : `${countText(input)} in, ${countText(output)} out`;
  return (
    <span class="message-meta" title={`${countText(total ?? (input ?? 0) + (output ?? 0))} tokens`}>
      {text}
    </span>
  );
}

interface BlocksProps {
  readonly blocks: readonly Block[];
  /** True for a tool's result: its text is data rather than prose. */
  readonly code: boolean;
  readonly onMore: OnMore | undefined;
}

function Blocks({ blocks, code, onMore }: BlocksProps): VNode {
  return (
    <>
      {blocks.map((block, n) => {
        switch (block.kind) {
          case "text":
            return (
              <MessageText
                key={n}
                text={block.text}
                cutBytes={block.cutBytes}
                code={code}
                onMore={onMore && (() => onMore(block.path, block.text.length))}
              />
            );
          case "reasoning":
            return (
              <Fold key={n} head="Reasoning" note={`${countText(block.text.length)} characters`}>
                <MessageText
                  text={block.text}
                  cutBytes={block.cutBytes}
                  onMore={onMore && (() => onMore(block.path, block.text.length))}
                />
              </Fold>
            );
          case "media":
            return (
              <p key={n} class="message-media">
                <span class="message-media-kind">{block.name}</span>
                <span class="clip">{block.about}</span>
              </p>
            );
          case "redacted":
            return (
              <p key={n}>
                <span class="value-redacted">redacted</span>
              </p>
            );
          case "data":
            return (
              <Fold key={n} head={block.name} note={inline(block.value, 60)}>
                <JsonText value={block.value} />
              </Fold>
            );
        }
      })}
    </>
  );
}

interface FoldProps {
  readonly head: string;
  readonly note: string;
  readonly children: ComponentChildren;
}

function Fold({ head, note, children }: FoldProps): VNode {
  return (
    <details class="fold">
      <summary>
        <Icon name="right" size={12} />
        <span>{head}</span>
        <span class="faint clip">{note}</span>
      </summary>
      {children}
    </details>
  );
}

interface ToolCallCardProps {
  readonly call: JoinedCall;
  readonly wanted: string | undefined;
  readonly plain: boolean;
  readonly onMore: OnMore | undefined;
}

/** Arguments up to this length are shown open, in characters. */
const shortArguments = 600;

function ToolCallCard({ call, plain, wanted, onMore }: ToolCallCardProps): VNode {
  const { name, id, args, error, result } = call;
  const line = inline(args, 200);
  const isEmpty = line === "{}";
  const subagent = useContext(Subagents).get(id ?? "");
  const [open, setOpen] = useState(line.length <= shortArguments && line.length > 72);
  return (
    <div class="tool-call" role="group" aria-label={`Call of ${name}`}>
      <header class="tool-call-head">
        <button
          type="button"
          class="tool-call-toggle"
          aria-expanded={open}
          disabled={isEmpty}
          onClick={() => setOpen(!open)}
        >
          <Icon name="tool" size={13} />
          <span class="tool-call-name mono">{name}</span>
          {open ? null : <span class="tool-call-args mono clip">{isEmpty ? "()" : line}</span>}
        </button>
        {error === undefined ? null : (
          <Pill tone="red" title={error}>
            unreadable
          </Pill>
        )}
        {subagent === undefined ? null : (
          <Pill
            tone="accent"
            icon="robot"
            href={href("thread", { thread: subagent.thread }, { ns: subagent.namespace })}
            title={`The messages of ${subagent.agent}`}
          >
            {subagent.agent}
          </Pill>
        )}
        {id === undefined ? null : <Id value={id} of="call's id" />}
      </header>
      {open ? <JsonText value={args} /> : null}
      {result === undefined ? (
        plain ? null : (
          <p class="tool-call-none">No result here.</p>
        )
      ) : (
        <div
          class={`tool-result${result.failed ? " tool-result-failed" : ""}${wanted === String(result.index) ? " message-wanted" : ""}`}
          data-index={result.index}
        >
          <span class="tool-result-mark">{result.failed ? "Failed" : "Result"}</span>
          <div class="tool-result-body">
            <Blocks blocks={result.blocks} code onMore={onMore} />
            {result.blocks.length === 0 ? <p class="faint">empty</p> : null}
          </div>
        </div>
      )}
    </div>
  );
}
