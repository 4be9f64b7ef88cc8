import { Component, type ComponentChildren } from "preact";
import { errorFrom } from "../api/resource.ts";
import { ErrorBox } from "../design/ErrorBox.tsx";

interface BoundaryProps {
  /** Where the page is: a mistake in one view doesn't stay when another one is shown. */
  readonly at: string;
  readonly children: ComponentChildren;
}

interface BoundaryState {
  readonly error?: unknown;
  readonly at?: string;
}

/** Shows an error in the place of a view that can't be drawn, and leaves the frame as it is. */
export class Boundary extends Component<BoundaryProps, BoundaryState> {
  static override getDerivedStateFromProps(
    { at }: BoundaryProps,
    state: BoundaryState,
  ): BoundaryState | null {
    return state.at === at ? null : { error: undefined, at };
  }

  override componentDidCatch(error: unknown): void {
    console.error(error);
    this.setState({ error });
  }

  override render({ children }: BoundaryProps, { error }: BoundaryState) {
    if (error === undefined) return children;
    return <ErrorBox error={errorFrom(error)} onRetry={() => this.setState({ error: undefined })} />;
  }
}
