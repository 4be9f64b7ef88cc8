import type { VNode } from "preact";
import { Empty } from "../../design/Empty.tsx";
import { isOwn } from "../checkpoint/shown.ts";
import { ChannelDiff, type Channel } from "./ChannelDiff.tsx";

interface ChannelsProps {
  readonly channels: readonly Channel[];
  readonly onMore?: (() => void) | undefined;
}

/** The differences by channel, those of the graph's author first. */
export function Channels({ channels, onMore }: ChannelsProps): VNode {
  const theirs = channels.filter(({ name }) => !isOwn(name));
  const own = channels.filter(({ name }) => isOwn(name));
  if (channels.length === 0)
    return (
      <Empty title="No difference" icon="check">
        <p>Every channel has the same value on both sides.</p>
      </Empty>
    );
  return (
    <div class="diff-channels">
      {theirs.map((channel) => (
        <ChannelDiff key={channel.name} channel={channel} onMore={onMore} />
      ))}
      {theirs.length === 0 ? <p class="diff-note">No channel of the graph's author differs.</p> : null}
      {own.length === 0 ? null : (
        <details class="diff-own">
          <summary class="faint">
            {own.length} of LangGraph's own channels {own.length === 1 ? "differs" : "differ"}
          </summary>
          {own.map((channel) => (
            <ChannelDiff key={channel.name} channel={channel} onMore={onMore} />
          ))}
        </details>
      )}
    </div>
  );
}
