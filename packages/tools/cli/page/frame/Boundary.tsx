import { Component, type ComponentChildren } from "preact";
import { errorFrom } from "../api/resource.ts";
import { ErrorBox } from "../design/ErrorBox.tsx";

interface BoundaryProps {
  /** The page's address. When it changes, the error of the previous view is no longer shown. */
  readonly at: string;
  readonly children: ComponentChildren;
}

interface BoundaryState {
  readonly error?: unknown;
  readonly at?: string;
}

/** Shows an error in place of a view that can't be drawn. The frame stays unchanged. */
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
