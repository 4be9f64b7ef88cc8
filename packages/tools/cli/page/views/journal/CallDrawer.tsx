import type { VNode } from "preact";
import { call } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { CopyMenu } from "../../design/CopyMenu.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Drawer } from "../../design/Dialog.tsx";
import { Pill } from "../../design/Pill.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";
import { Id } from "../../design/Texts.tsx";
import { commandText } from "../../design/commandText.ts";
import { href } from "../../router.ts";
import { Entries } from "./Entries.tsx";
import { statusOf, tookText, type Call } from "./texts.ts";
import { ValuePart } from "./ValuePart.tsx";

/** How many bytes of a call's values the drawer shows at most. */
const shownBytes = 1_000_000;

interface CallDrawerProps {
  readonly thread: string;
  /** The fingerprint of the chosen call; undefined if none is chosen. */
  readonly chosen: string | undefined;
  readonly onClose: () => void;
}

/** One call: its arguments, its result, and all decisions about it. */
export function CallDrawer({ thread, chosen, onClose }: CallDrawerProps): VNode {
  const { data, error, reload } = useResource(
    chosen === undefined ? undefined : `call ${chosen} of ${thread}`,
    (signal) => call("calls", { thread, call: chosen, maxBytes: shownBytes }, { signal }),
  );
  const item = data?.items.find((each) => each.call === chosen);
  return (
    <Drawer open={chosen !== undefined} title={item === undefined ? "Call" : item.tool} onClose={onClose}>
      {error !== undefined ? (
        <ErrorBox error={error} onRetry={reload} />
      ) : item === undefined ? (
        <Skeleton rows={8} />
      ) : (
        <CallDetail thread={thread} item={item} />
      )}
    </Drawer>
  );
}

function CallDetail({ thread, item }: { readonly thread: string; readonly item: Call }): VNode {
  const {
    call: fingerprint,
    status,
    effects,
    attempts,
    replays,
    key,
    ms,
    where,
    error,
    args,
    result,
    entries,
    repeats,
    notKept,
  } = item;
  const { label, tone, title } = statusOf(status);
  const asked = where.toolCallId !== undefined;
  return (
    <div class="journal-detail">
      <div class="journal-detail-head">
        <Pill tone={tone} title={title}>
          {label}
        </Pill>
        <span class="dim">
          {attempts === 1 ? "1 attempt" : `${attempts} attempts`}
          {replays === 0 ? "" : `, replayed ${replays === 1 ? "once" : `${replays} times`}`}
          {ms === undefined ? "" : `, took ${tookText(ms)}`}
        </span>
        <div class="spacer" />
        <CopyMenu
          cli={commandText("calls", [thread], { call: fingerprint.slice(0, 12) })}
          code={`const calls = await journal.calls(${JSON.stringify(thread)});\nconst call = calls.find(({ fingerprint }) => fingerprint === ${JSON.stringify(fingerprint)});`}
        />
      </div>
      <dl class="journal-facts">
        <dt>Call</dt>
        <dd>
          <Id value={fingerprint} short={fingerprint.slice(0, 16)} of="fingerprint" />
        </dd>
        <dt>Effects</dt>
        <dd>
          {effects === "once"
            ? "once: must not be repeated"
            : effects === "none"
              ? "none: may run again"
              : "idempotent: repeated with the same key"}
        </dd>
        {key === fingerprint ? null : (
          <>
            <dt>Idempotency key</dt>
            <dd>
              <Id value={key} of="idempotency key" />
            </dd>
          </>
        )}
        {repeats === undefined ? null : (
          <>
            <dt>Repeats</dt>
            <dd>
              <a class="mono" href={href("journal", { thread }, { call: repeats })}>
                {repeats.slice(0, 16)}
              </a>
            </dd>
          </>
        )}
        {where.checkpoint === undefined ? null : (
          <>
            <dt>Made at</dt>
            <dd>
              <a
                class="mono"
                href={href("checkpoint", { thread: where.thread ?? thread, checkpoint: where.checkpoint })}
              >
                {where.checkpoint}
              </a>
              {where.node === undefined ? null : (
                <span class="dim">
                  {" "}
                  node {where.node}
                  {where.step === undefined ? "" : `, step ${where.step}`}
                </span>
              )}
            </dd>
          </>
        )}
        {asked ? (
          <>
            <dt>Asked for by</dt>
            <dd>
              <a href={href("why", { thread }, { call: fingerprint })}>Why was it made?</a>
            </dd>
          </>
        ) : null}
      </dl>
      {error === undefined ? null : <p class="journal-error mono">{error}</p>}
      <ValuePart title="Arguments" view={args} none="They were erased or cut off." />
      <ValuePart
        title="Result"
        view={result}
        none={
          notKept !== undefined
            ? `It isn’t kept: ${notKept}`
            : status === "succeeded"
              ? "It wasn’t kept, or was erased."
              : "There is none."
        }
      />
      <section class="journal-part">
        <h3>What happened</h3>
        <Entries entries={entries} />
      </section>
    </div>
  );
}
