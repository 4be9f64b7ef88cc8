import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { call } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { Button } from "../../design/Button.tsx";
import { Dialog } from "../../design/Dialog.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Id } from "../../design/Texts.tsx";
import { badgeOf, type Audit } from "./texts.ts";

/** A journal with more calls is verified only on request. */
const mostUnasked = 500;

/** Shows whether the journal is unchanged since it was written, and what that proves. */
export function AuditBadge({
  thread,
  calls,
  version,
}: {
  readonly thread: string;
  readonly calls: number;
  readonly version: number;
}): VNode {
  const [asked, setAsked] = useState(false);
  const [open, setOpen] = useState(false);
  const wanted = asked || calls <= mostUnasked;
  const { data, error, loading, reload } = useResource(
    wanted ? `audit of ${thread}, ${version}` : undefined,
    (signal) => call("audit", { thread }, { signal }),
  );
  if (error !== undefined) return <ErrorBox error={error} onRetry={reload} />;
  const badge = badgeOf(data);
  if (badge === undefined)
    return (
      <Button size="small" icon="health" busy={wanted && loading} onClick={() => setAsked(true)}>
        {wanted ? "Verifying the chain" : "Verify the chain"}
      </Button>
    );
  return (
    <>
      <button type="button" class={`pill pill-${badge.tone} journal-badge`} onClick={() => setOpen(true)}>
        {badge.text}
      </button>
      <Dialog open={open} title={badge.text} onClose={() => setOpen(false)}>
        {data === undefined ? null : <AuditDetail audit={data} />}
      </Dialog>
    </>
  );
}

function AuditDetail({ audit }: { readonly audit: Audit }): VNode {
  const { why, proves, open, head, keys, signed, from, to, erased = 0 } = audit;
  return (
    <div class="journal-detail">
      {why === undefined ? null : <p>{why}</p>}
      <dl class="journal-facts">
        <dt>Entries</dt>
        <dd>
          {from} to {to}
          {erased === 0 ? "" : `, ${erased} with values erased`}
        </dd>
        <dt>Signed</dt>
        <dd>{signed === 0 ? "no" : `${signed} entries, with ${keys.join(", ")}`}</dd>
        {head === undefined ? null : (
          <>
            <dt>Last entry</dt>
            <dd>
              <Id value={head} short={`${head.slice(0, 24)}…`} of="head" />
            </dd>
          </>
        )}
      </dl>
      {proves.length === 0 ? null : (
        <section class="journal-part">
          <h3>Proved</h3>
          <ul class="journal-points">
            {proves.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </section>
      )}
      {open.length === 0 ? null : (
        <section class="journal-part">
          <h3>Not proved</h3>
          <ul class="journal-points">
            {open.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}
