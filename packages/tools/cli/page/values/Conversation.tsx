import type { VNode } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Button } from "../design/Button.tsx";
import { bytesText, countText } from "../design/units.ts";
import { MessageCard } from "./MessageCard.tsx";
import { turnsOf } from "./messages.ts";
import type { Step } from "./records.ts";
import { useFilled, useSlices } from "./useFilled.ts";
import type { ValueAt } from "./ValueAt.ts";

interface ConversationProps {
  readonly channel: string;
  /** JSON of the serde: a list of messages, as operations cut it. */
  readonly value: unknown;
  readonly path?: readonly Step[];
  readonly at?: ValueAt | undefined;
  /** The part to scroll to, such as "[3].content". */
  readonly focus?: string | undefined;
}

/** How many messages are loaded at once. */
const pageMessages = 50;

/** Shows a list of LangChain messages as a conversation. */
export function Conversation({ channel, value, path, at, focus }: ConversationProps): VNode {
  const values = useMemo(() => [{ channel, value, path }], [channel, value, path]);
  const { roots, fill } = useFilled(values);
  const root = roots[0]!;
  const loadSlice = useSlices(at, roots, new Map([[root.id, channel]]), fill);
  const turns = useMemo(() => turnsOf(root.value, root.path), [root]);
  const list = useRef<HTMLOListElement>(null);
  const wanted = /^\[(\d+)\]/.exec(focus ?? "")?.[1];
  useEffect(() => {
    if (wanted !== undefined)
      list.current?.querySelector(`[data-index="${wanted}"]`)?.scrollIntoView({ block: "center" });
  }, [wanted, channel]);
  return (
    <ol class="conversation" ref={list}>
      {turns.map((turn) => {
        if (turn.kind === "hidden")
          return (
            <li key={turn.index} class="message-gap">
              <span class="value-redacted">redacted</span>
            </li>
          );
        if (turn.kind === "message")
          return (
            <MessageCard
              key={turn.message.index}
              message={turn.message}
              calls={turn.calls}
              wanted={wanted}
              channel={channel}
              at={at}
              onMore={(textPath, from) => void loadSlice(root.id, textPath, { from, to: undefined })}
            />
          );
        const { from, to, bytes } = turn.gap;
        const load = (start: number, end: number) =>
          void loadSlice(root.id, root.path, { from: start, to: end });
        return (
          <li key={`gap ${from}`} class="message-gap">
            <span>
              {countText(to - from)} messages aren't loaded ({bytesText(bytes)})
            </span>
            {at === undefined ? null : (
              <>
                <Button size="small" onClick={() => load(from, Math.min(to, from + pageMessages))}>
                  Load the next {Math.min(pageMessages, to - from)}
                </Button>
                {to - from <= pageMessages ? null : (
                  <Button size="small" onClick={() => load(to - pageMessages, to)}>
                    Load the last {pageMessages}
                  </Button>
                )}
              </>
            )}
          </li>
        );
      })}
    </ol>
  );
}
