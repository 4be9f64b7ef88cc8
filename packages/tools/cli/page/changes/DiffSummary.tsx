import type { OutputOf } from "../../src/operations/index.ts";
import type { VNode } from "preact";
import { inline } from "./inline.ts";
import "./changes.css";

type Channel = OutputOf<"diff">["channels"][number];

/** How many changes of a channel are listed at most. */
const mostListed = 8;

/** A short list of the differences, channel by channel. */
export function DiffSummary({ channels }: { readonly channels: readonly Channel[] }): VNode {
  if (channels.length === 0) return <p class="faint">No difference.</p>;
  return (
    <dl class="summary">
      {channels.map(({ name, kind, changes, omitted }) => (
        <div key={name} class="summary-channel">
          <dt>
            <span class="mono">{name}</span> <span class="faint">{kind}</span>
          </dt>
          <dd>
            {changes.slice(0, mostListed).map((change, n) => (
              <Change key={n} path={change.path} before={change.before} after={change.after} />
            ))}
            {changes.length + omitted > mostListed ? (
              <p class="faint">{changes.length + omitted - mostListed} more changes</p>
            ) : null}
          </dd>
        </div>
      ))}
    </dl>
  );
}

interface ChangeProps {
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** A value before and after. An absent side is left out. */
export function Change({ path, before, after }: ChangeProps): VNode {
  return (
    <div class="brief">
      {path === "" ? null : <div class="brief-path mono faint">{path}</div>}
      {before === undefined ? null : (
        <del class="brief-line">
          <span class="unseen">before: </span>
          {inline(before)}
        </del>
      )}
      {after === undefined ? null : (
        <ins class="brief-line">
          <span class="unseen">after: </span>
          {inline(after)}
        </ins>
      )}
    </div>
  );
}
