import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Button } from "../design/Button.tsx";
import { bytesText, countText } from "../design/units.ts";
import { JsonText } from "./JsonText.tsx";
import { jsonIn, textPieces, visible, type TextPiece } from "./text.ts";

/** A text with more lines or characters than this is folded. */
const longText = { lines: 24, characters: 1800 };

interface MessageTextProps {
  readonly text: string;
  /** The whole text's size as JSON, in bytes, if the text was cut. */
  readonly cutBytes?: number | undefined;
  /** Whether the text is data rather than prose. Data has a fixed-width font, and JSON is on several lines. */
  readonly code?: boolean;
  readonly onMore?: (() => void) | undefined;
}

/** A message's content as plain text. Fenced blocks are shown as code; nothing else is interpreted. */
export function MessageText({ text, cutBytes, code = false, onMore }: MessageTextProps): VNode {
  const lines = useMemo(() => text.split("\n").length, [text]);
  const isLong = text.length > longText.characters || lines > longText.lines;
  const [open, setOpen] = useState(false);
  const shown = isLong && !open ? text.slice(0, 6000) : text;
  const pieces = useMemo((): TextPiece[] => {
    if (!code) return textPieces(shown);
    return [{ kind: "code", text: shown }];
  }, [shown, code]);
  const json = useMemo(
    () => (code && cutBytes === undefined ? jsonIn(text) : undefined),
    [text, code, cutBytes],
  );
  if (json !== undefined) return <JsonText value={json} />;
  return (
    <div class="message-text">
      <div class={isLong && !open ? "message-clamp" : undefined}>
        {pieces.map((piece, n) =>
          piece.kind === "prose" ? (
            <p key={n} class="message-prose">
              {visible(piece.text)}
            </p>
          ) : (
            <pre key={n} class="message-code" data-language={piece.language ?? ""}>
              {visible(piece.text)}
            </pre>
          ),
        )}
      </div>
      {isLong || cutBytes !== undefined ? (
        <div class="message-more">
          {isLong ? (
            <Button size="small" tone="quiet" onClick={() => setOpen(!open)}>
              {open ? "Show less" : `Show all ${countText(text.length)} characters`}
            </Button>
          ) : null}
          {cutBytes === undefined || (isLong && !open) ? null : (
            <>
              <span class="faint">of {bytesText(cutBytes)}</span>
              {onMore === undefined ? null : (
                <Button size="small" onClick={onMore}>
                  Load more
                </Button>
              )}
            </>
          )}
          {cutBytes !== undefined && isLong && !open ? (
            <span class="faint">loaded, of {bytesText(cutBytes)}</span>
          ) : null}
        </div>
      ) : null}
    </div>
  );
}
