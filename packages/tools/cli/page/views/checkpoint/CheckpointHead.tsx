import type { VNode } from "preact";
import { CopyMenu } from "../../design/CopyMenu.tsx";
import { LinkButton } from "../../design/Button.tsx";
import { Pill } from "../../design/Pill.tsx";
import { Id, Time } from "../../design/Texts.tsx";
import { waitsText } from "../../design/words.ts";
import { href } from "../../router.ts";
import { whatIfHref } from "../../values/actions.ts";
import { bundleOf } from "./bundle.ts";
import { atOf, readCode, showCommand, type Shown } from "./shown.ts";

/** The header of a checkpoint: its origin, and what runs next. */
export function CheckpointHead({ shown }: { readonly shown: Shown }): VNode {
  const { thread, namespace, checkpoint, parent, head, lostTo, run, ts, step, source, next } = shown;
  const failed = shown.writes.filter(({ kind, outcome }) => kind === "error" && outcome !== "done").length;
  const to = (id: string) => href("checkpoint", { thread, checkpoint: id }, { ns: namespace });
  return (
    <header class="checkpoint-head">
      <div class="checkpoint-title">
        <h2>
          Step {step ?? "?"}
          {source === undefined || source === "loop" ? null : <span class="dim"> {source}</span>}
        </h2>
        {head ? <Pill tone="accent">head</Pill> : null}
        {lostTo === undefined ? null : (
          <Pill tone="amber" icon="conflicts" href={to(lostTo)} title={`It lost a race to ${lostTo}`}>
            lost a race
          </Pill>
        )}
        {shown.waits === "interrupt" ? <Pill tone="amber">{waitsText}</Pill> : null}
        {failed === 0 ? null : <Pill tone="red">failed</Pill>}
        <span class="spacer" />
        <LinkButton
          href={whatIfHref(atOf(shown))}
          icon="fork"
          size="small"
          title="Fork the thread here, with other values"
        >
          What if
        </LinkButton>
        <CopyMenu
          cli={showCommand(shown)}
          code={readCode(shown)}
          bundle={() => bundleOf(shown)}
          bundleName={`checkpoint-${checkpoint.slice(0, 8)}-redacted.json`}
        />
      </div>
      <dl class="checkpoint-facts">
        <Fact name="Checkpoint">
          <Id value={checkpoint} of="checkpoint's id" />
        </Fact>
        <Fact name="Parent">
          {parent === undefined ? (
            <span class="faint">none, it is the first</span>
          ) : (
            <a class="mono clip" href={to(parent)} title={parent}>
              {parent}
            </a>
          )}
        </Fact>
        <Fact name="Written">
          <Time at={ts} />
        </Fact>
        {run === undefined ? null : (
          <Fact name="Run">
            <Id value={run} of="run's id" />
          </Fact>
        )}
        {namespace === "" ? null : (
          <Fact name="Namespace">
            <Id value={namespace} of="namespace" />
          </Fact>
        )}
        <Fact name="Next">
          {next.length === 0 ? (
            <span class="faint">nothing: the run has ended</span>
          ) : (
            <span class="checkpoint-next">
              {next.map((node) => (
                <Pill key={node} tone="blue">
                  {node}
                </Pill>
              ))}
            </span>
          )}
        </Fact>
      </dl>
    </header>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: VNode }): VNode {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
