import type { VNode } from "preact";
import type { ApiError } from "../api/client.ts";
import { Icon } from "../icons.tsx";
import { Button } from "./Button.tsx";
import "./states.css";

interface ErrorBoxProps {
  readonly error: ApiError;
  readonly onRetry?: (() => void) | undefined;
  /** The label of the button that tries again. */
  readonly retry?: string | undefined;
}

/** What went wrong, and what to do about it. */
export function ErrorBox({ error, onRetry, retry = "Try again" }: ErrorBoxProps): VNode {
  // The bar above says that the server is gone. The missing data is loaded as soon as the server is back.
  if (error.code === "DISCONNECTED")
    return <p class="error-waits faint">This is loaded as soon as the inspector answers again.</p>;
  return (
    <div class="error-box" role="alert">
      <Icon name="error" />
      <div class="error-text">
        <p>{error.message}</p>
        <p class="error-code">
          <span class="mono">{error.code}</span>
          {error.help === undefined || !/^https?:/.test(error.help) ? null : (
            <a href={error.help} target="_blank" rel="noreferrer">
              What this means
            </a>
          )}
        </p>
      </div>
      {onRetry === undefined ? null : (
        <Button size="small" icon="refresh" onClick={onRetry}>
          {retry}
        </Button>
      )}
    </div>
  );
}
