import { InvalidOptionError } from "@stratigraph/core";
import { lookOnly } from "@stratigraph/core/internal";
import { parsePath } from "../../operations/values/path.ts";
import { Redaction } from "../../operations/values/redaction.ts";
import { resolvePoint } from "../../operations/table/address.ts";
import { State } from "../../operations/values/state.ts";
import { z } from "zod";
import type { SharedContext } from "../../serving/sharedContext.ts";
import { queryOf } from "../../serving/input.ts";
import { valueBytes } from "../../serving/valueBytes.ts";

const input = z.strictObject({
  thread: z.string().min(1),
  checkpoint: z.string().optional(),
  namespace: z.string().default(""),
  channel: z.string().min(1),
  path: z.string().default(""),
});

/** Size of the pieces in which a value is sent, in bytes. */
const pieceBytes = 64 * 1024;

/** Answers with a whole value as a download, without redacted parts. @throws the same errors as the operation "show" */
export async function answerValue(request: Request, context: SharedContext): Promise<Response> {
  const { thread, checkpoint, namespace, channel, path } = inputOf(request);
  const saver = await context.saver();
  const { point, stored } = await lookOnly(async () => {
    const at = await resolvePoint(saver, { at: thread, namespace, checkpoint });
    return { point: at, ...(await (await State.read(saver, at)).existing(channel)) };
  });
  const redaction = new Redaction(context.redact);
  const bytes = valueBytes(channel, stored, redaction, parsePath(path));
  if (bytes === undefined)
    throw new InvalidOptionError("path", path, `It leads nowhere in the channel ${JSON.stringify(channel)}.`);
  const isJson = stored[0] === "json";
  return new Response(pieces(bytes), {
    headers: {
      "content-type": isJson ? "application/json" : "application/octet-stream",
      "content-length": String(bytes.length),
      "content-disposition": disposition(`${point.threadId}-${channel}`, isJson ? "json" : "bin"),
    },
  });
}

function inputOf(request: Request): z.output<typeof input> {
  const result = input.safeParse(Object.fromEntries(queryOf(request)));
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0]!;
  throw new InvalidOptionError(path.join(".") || "query", "something else", `${message}.`);
}

function pieces(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream(
    {
      pull(controller) {
        if (at >= bytes.length) return controller.close();
        controller.enqueue(bytes.subarray(at, at + pieceBytes));
        at += pieceBytes;
      },
    },
    { highWaterMark: 1 },
  );
}

/** The header that names the file. The name has no characters with a special meaning in headers or file systems. */
function disposition(name: string, ending: string): string {
  const plain = name
    .slice(0, 100)
    .replaceAll(/[^\w-]+/g, "_")
    .replaceAll(/^_+|_+$/g, "");
  return `attachment; filename="${plain === "" ? "value" : plain}.${ending}"`;
}
