import type { ComponentChildren, VNode } from "preact";
import { Button } from "../../design/Button.tsx";
import { ErrorBox } from "../../design/ErrorBox.tsx";
import type { Asked } from "./useAsked.ts";

interface SectionProps {
  readonly title: string;
  readonly side?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A part of a view with its own heading. */
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
  /** The label of the button that starts it. */
  readonly button: string;
  /** Whether it is the main action of the view. */
  readonly first?: boolean;
  /** Options that can be chosen before. */
  readonly choices?: ComponentChildren;
  /** What it shows and costs. It is shown until the button is pressed. */
  readonly hint: string;
  /** Whether it may take long and can be stopped. */
  readonly stops?: boolean;
  readonly children: (data: T) => ComponentChildren;
}

/** A part of a view that is only loaded on request. */
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
