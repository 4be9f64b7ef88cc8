import type { ComponentChildren, VNode } from "preact";
import { Button } from "../../design/Button.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import type { Asked } from "./useAsked.ts";

interface SectionProps {
  readonly title: string;
  readonly side?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A part of a view, under a heading of its own. */
export function Section({ title, side, children }: SectionProps): VNode {
  return (
    <section class="panel" aria-label={title}>
      <header class="panel-head">
        <h2>{title}</h2>
        {side === undefined ? null : <div class="panel-side">{side}</div>}
      </header>
      {children}
    </section>
  );
}

interface AskedSectionProps<T> {
  readonly title: string;
  readonly asked: Asked<T>;
  /** What asks for it. */
  readonly button: string;
  /** Whether it is the first thing to do here. */
  readonly first?: boolean;
  /** What can be chosen before. */
  readonly choices?: ComponentChildren;
  /** What it tells and costs, until it is asked for. */
  readonly hint: string;
  /** Whether it may take long, and can be stopped. */
  readonly stops?: boolean;
  readonly children: (data: T) => ComponentChildren;
}

/** A part of a view that is only loaded when somebody asks for it. */
export function AskedSection<T>({
  title,
  asked,
  button,
  hint,
  children,
  ...how
}: AskedSectionProps<T>): VNode {
  const { data, error, busy, ask, stop } = asked;
  const { first = false, stops = true, choices } = how;
  return (
    <Section
      title={title}
      side={
        <>
          {choices}
          {busy && stops ? (
            <Button size="small" tone="quiet" onClick={stop}>
              Stop
            </Button>
          ) : null}
          <Button size="small" {...(first ? { tone: "primary" } : {})} busy={busy} onClick={ask}>
            {button}
          </Button>
        </>
      }
    >
      {error !== undefined ? (
        <ErrorBox error={error} onRetry={ask} />
      ) : data === undefined ? (
        <p class="faint">{hint}</p>
      ) : (
        children(data)
      )}
    </Section>
  );
}
