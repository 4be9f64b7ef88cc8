import type { OutputOf } from "../../../src/operations/index.ts";
import type { VNode } from "preact";
import type { Resource } from "../../api/resource.ts";
import { Change } from "../../changes/DiffSummary.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import { Pill } from "../../design/Pill.tsx";
import { Skeleton } from "../../design/Skeleton.tsx";

interface PreviewProps {
  readonly preview: Resource<OutputOf<"fork">>;
  readonly source: string;
  /** Whether the value can't be used. The form says why. */
  readonly invalid: boolean;
  readonly changed: boolean;
  readonly edits: boolean;
}

/** A preview of the fork. Nothing is stored. */
export function Preview({ preview, source, invalid, changed, edits }: PreviewProps): VNode {
  const { data, error, loading } = preview;
  return (
    <section class="card whatif-preview" aria-labelledby="preview-heading" aria-busy={loading}>
      <h2 id="preview-heading">Preview</h2>
      {error === undefined ? null : <ErrorBox error={error} onRetry={preview.reload} />}
      {invalid ? <p class="dim">The new value can't be used yet. See the form.</p> : null}
      {data === undefined && error === undefined && !invalid ? <Skeleton rows={4} /> : null}
      {data === undefined ? null : (
        <>
          <dl class="facts">
            <div>
              <dt>New thread</dt>
              <dd class="mono">{data.name}</dd>
            </div>
            <div>
              <dt>Goes on from</dt>
              <dd class="mono clip" title={data.from.checkpoint}>
                {data.from.checkpoint}
              </dd>
            </div>
            <div>
              <dt>Untouched</dt>
              <dd class="mono">{source}</dd>
            </div>
            <div>
              <dt>Runs next</dt>
              <dd class="run-next" data-testid="preview-next">
                {data.next.length === 0 ? <span class="faint">nothing is due</span> : null}
                {data.next.map((node) => (
                  <Pill key={node} tone="blue">
                    <span class="mono">{node}</span>
                  </Pill>
                ))}
              </dd>
            </div>
          </dl>
          {data.edit === undefined ? null : changed ? (
            <>
              <h3>
                <span class="mono">{data.edit.channel}</span>
              </h3>
              <Change
                path={data.edit.path ?? ""}
                before={data.edit.before?.value}
                after={data.edit.after.value}
              />
            </>
          ) : null}
          {edits && !changed ? <p class="faint">The value is unchanged. Change it in the form.</p> : null}
        </>
      )}
    </section>
  );
}
