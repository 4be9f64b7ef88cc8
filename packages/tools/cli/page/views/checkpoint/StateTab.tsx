import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { Empty } from "../../design/Empty.tsx";
import { Pill } from "../../design/Pill.tsx";
import { Bytes } from "../../design/Texts.tsx";
import { bytesText } from "../../design/units.ts";
import { Menu } from "../../design/Menu.tsx";
import { route } from "../../router.ts";
import { valueMenu } from "../../values/actions.ts";
import { Conversation } from "../../values/Conversation.tsx";
import { isConversation } from "../../values/messages.ts";
import { byCall, Subagents, useSubagents } from "../../values/Subagents.ts";
import type { TreeValue } from "../../values/useFilled.ts";
import { ValueTree } from "../../values/ValueTree.tsx";
import { Waiting } from "./Waiting.tsx";
import { atOf, isOwn, type Channel, type Shown } from "./shown.ts";

/** The state at a checkpoint: open questions and failures, conversations, and all other channels as a tree. */
export function StateTab({ shown }: { readonly shown: Shown }): VNode {
  const at = atOf(shown);
  const { channels } = shown;
  const focus = focusOf(route.value.query);
  const { talks, others, own, opaque } = useMemo(() => sorted(channels), [channels]);
  const subagents = useSubagents(shown.thread, shown.head ? shown.checkpoint : "");
  const called = useMemo(() => byCall(subagents), [subagents]);
  return (
    <Subagents.Provider value={called}>
      <Waiting shown={shown} />
      {talks.map((channel) => (
        <section key={channel.channel} class="channel">
          <ChannelHead channel={channel} at={at} />
          <Conversation
            channel={channel.channel}
            value={channel.value}
            at={at}
            focus={focus?.channel === channel.channel ? focus.path : undefined}
          />
        </section>
      ))}
      {others.length === 0 ? null : (
        <section class="channel">
          {talks.length === 0 ? null : (
            <header class="channel-head">
              <h3>Other channels</h3>
            </header>
          )}
          <ValueTree label="State" values={others} at={at} focus={focus} searchable />
        </section>
      )}
      {opaque.map((channel) => (
        <section key={channel.channel} class="channel">
          <ChannelHead channel={channel} at={at} />
          <Opaque channel={channel} />
        </section>
      ))}
      {own.length === 0 ? null : (
        <details class="channel channel-own">
          <summary>
            LangGraph's own channels <span class="faint">{own.length}</span>
          </summary>
          <ValueTree label="LangGraph's own channels" values={own} at={at} />
        </details>
      )}
      {channels.length === 0 ? (
        <Empty title="No channel has a value">
          <p>The checkpoint was written before any value was.</p>
        </Empty>
      ) : null}
    </Subagents.Provider>
  );
}

/** The value that the address names. */
function focusOf(query: URLSearchParams): { readonly channel: string; readonly path: string } | undefined {
  const channel = query.get("channel");
  return channel === null ? undefined : { channel, path: query.get("path") ?? "" };
}

interface Sorted {
  readonly talks: readonly Channel[];
  readonly others: readonly TreeValue[];
  readonly own: readonly TreeValue[];
  /** Channels whose values aren't JSON. */
  readonly opaque: readonly Channel[];
}

function sorted(channels: readonly Channel[]): Sorted {
  const shown = channels.filter(({ value }) => value !== undefined);
  const talks = shown.filter(({ value }) => isConversation(value));
  const rest = shown.filter(({ value }) => !isConversation(value));
  return {
    talks,
    others: rest.filter(({ channel }) => !isOwn(channel)).map(treeValue),
    own: rest.filter(({ channel }) => isOwn(channel)).map(treeValue),
    opaque: channels.filter(({ value }) => value === undefined),
  };
}

function treeValue({ channel, value, rebuilt }: Channel): TreeValue {
  return { channel, value, ...(rebuilt ? { note: "rebuilt from writes" } : {}) };
}

function ChannelHead({
  channel,
  at,
}: {
  readonly channel: Channel;
  readonly at: ReturnType<typeof atOf>;
}): VNode {
  const { channel: name, bytes, rebuilt, value, version } = channel;
  return (
    <header class="channel-head">
      <h3 class="mono">{name}</h3>
      {rebuilt ? (
        <Pill
          tone="amber"
          title="A DeltaChannel: put together from writes without its reducer, so it is an approximation."
        >
          rebuilt from writes
        </Pill>
      ) : null}
      <span class="faint">
        <Bytes value={bytes} />
      </span>
      {version === undefined ? null : (
        <span class="channel-version faint mono clip" title={`Version ${version}`}>
          v{String(version).replace(/\..*$/s, "")}
        </span>
      )}
      <span class="spacer" />
      <Menu label={`What to do with ${name}`} items={valueMenu(at, { channel: name, path: [] }, value)} />
    </header>
  );
}

/** A value that isn't JSON. */
function Opaque({ channel: { type, bytes, sha256 } }: { readonly channel: Channel }): VNode {
  return (
    <p class="opaque">
      <span class="mono value-special">{type}</span>
      <span>{bytesText(bytes)}</span>
      {sha256 === undefined ? (
        <span class="value-redacted">redacted</span>
      ) : (
        <span class="faint mono clip" title={sha256}>
          sha256 {sha256}
        </span>
      )}
    </p>
  );
}
