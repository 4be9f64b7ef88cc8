/** An event of a stream. */
export interface Event {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The events of a response, as they come. */
export interface Events {
  readonly status: number;
  /** The next event. @throws Error where none comes within 20 seconds, or the stream ends */
  next(): Promise<Event>;
  /** The next event of this name; others before it are dropped. */
  named(name: string): Promise<Event>;
  /** Waits until the stream ends. */
  ended(): Promise<void>;
  /** Leaves. */
  close(): Promise<void>;
}

const patienceMs = 20_000;

/** Reads a stream of server-sent events. */
export function readEvents(response: Response): Events {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const read = async (): Promise<string> => {
    for (;;) {
      const end = text.indexOf("\n\n");
      if (end >= 0) {
        const block = text.slice(0, end);
        text = text.slice(end + 2);
        if (!block.startsWith(":")) return block;
        continue;
      }
      const { done, value } = await reader.read();
      if (done) throw new Error("the stream has ended");
      text += value;
    }
  };
  const next = async (): Promise<Event> => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error("no event came")), patienceMs);
    });
    const block = await Promise.race([read(), late]).finally(() => clearTimeout(timer));
    const [, event, data] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? [];
    return { event: event!, data: JSON.parse(data!) as Event["data"] };
  };
  return {
    status: response.status,
    next,
    named: async (name) => {
      for (;;) {
        const found = await next();
        if (found.event === name) return found;
      }
    },
    ended: async () => {
      while (!(await reader.read()).done);
    },
    close: () => reader.cancel(),
  };
}
