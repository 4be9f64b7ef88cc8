// What is used of @langchain/langgraph-api beyond its public types.

/** A thread as LangGraph's API shows it. */
export interface ApiThread {
  readonly thread_id: string;
  created_at: Date;
  updated_at: Date;
  metadata: Record<string, unknown>;
  status: "idle" | "busy" | "interrupted" | "error";
  config?: unknown;
  values?: unknown;
  interrupts?: Record<string, unknown>;
}

/** A run as LangGraph's API shows it. */
export interface ApiRun {
  readonly run_id: string;
  readonly thread_id: string;
  readonly assistant_id?: string;
  status: string;
  /** `temporary`: the thread is deleted when the run ends. */
  readonly kwargs?: {
    readonly temporary?: boolean;
    readonly input?: unknown;
    readonly command?: unknown;
    readonly context?: unknown;
    readonly config?:
      | { readonly configurable?: Record<string, unknown>; readonly metadata?: object }
      | undefined;
  };
  readonly multitask_strategy?: string;
  readonly created_at: Date;
  updated_at: Date;
}

/** What the server knows besides checkpoints and items. */
export interface OpsData {
  runs: Record<string, ApiRun>;
  threads: Record<string, ApiThread>;
  assistants: Record<string, unknown>;
  assistant_versions: unknown[];
  retry_counter: Record<string, number>;
}

/** A run that a worker gets. */
export interface BegunRun {
  readonly run: ApiRun;
  readonly signal: AbortSignal;
}

/** What is used of a compiled graph. */
export interface Graph {
  getState(config: object): Promise<{
    readonly next: readonly string[];
    readonly config: { readonly configurable?: Readonly<Record<string, unknown>> };
  }>;
  invoke(input: unknown, config: object): Promise<unknown>;
}

/** Where the server keeps that. */
export interface Persistence {
  flush(): Promise<void>;
  with<T>(work: (data: OpsData) => T): Promise<Awaited<T>>;
  withGenerator<T>(
    work: (data: OpsData, options: { schedulePersist(): void }) => AsyncGenerator<T>,
  ): AsyncGenerator<T>;
}

/** Who asks; absent for the server itself. */
type Auth = unknown;

/** A state of a thread, as LangGraph's `getState` returns it. */
export interface ApiState {
  readonly values: unknown;
  readonly createdAt?: string | undefined;
  readonly tasks: readonly {
    readonly id: string;
    readonly interrupts?: unknown[];
  }[];
}

/** Which threads are asked for. */
export interface ThreadSearch {
  readonly ids?: readonly string[] | undefined;
  readonly metadata?: unknown;
  readonly status?: unknown;
  readonly values?: unknown;
  readonly limit?: number;
  readonly offset?: number;
}

/** How the server reads and writes threads, runs and assistants. */
export interface Ops {
  readonly threads: {
    search(options: ThreadSearch, auth: Auth): AsyncGenerator<{ readonly thread: ApiThread }>;
    count(options: ThreadSearch, auth: Auth): Promise<number>;
    get(threadId: string, auth: Auth): Promise<ApiThread>;
    put: (threadId: string, options: unknown, auth: Auth) => Promise<ApiThread>;
    patch: (threadId: string, options: unknown, auth: Auth) => Promise<ApiThread>;
    delete(threadId: string, auth: Auth): Promise<unknown>;
    copy(threadId: string, auth: Auth): Promise<ApiThread>;
    setStatus(threadId: string, ended: { readonly exception?: unknown }): Promise<unknown>;
    readonly state: {
      get: (config: object, options: object, auth: Auth) => Promise<ApiState>;
      list: (config: object, options: object, auth: Auth) => Promise<readonly ApiState[]>;
    };
  };
  readonly assistants: {
    put(assistantId: string, options: object, auth: Auth): Promise<unknown>;
    patch(assistantId: string, options: object, auth: Auth): Promise<unknown>;
    delete(assistantId: string, deleteThreads: boolean, auth: Auth): Promise<unknown>;
  };
  readonly runs: {
    next(): AsyncGenerator<BegunRun | undefined>;
    put(
      runId: string,
      assistantId: string,
      kwargs: unknown,
      options: { readonly threadId?: string | undefined; readonly ifNotExists?: "create" | "reject" },
      auth: Auth,
    ): Promise<readonly ApiRun[]>;
    delete(runId: string, threadId: string | undefined, auth: Auth): Promise<unknown>;
    setStatus(runId: string, status: string): Promise<unknown>;
    cancel(
      threadId: string | undefined,
      runIds: readonly string[],
      options: { readonly action?: "interrupt" | "rollback" },
      auth: Auth,
    ): Promise<unknown>;
    readonly stream: {
      join: (runId: string, threadId: string | undefined, ...more: unknown[]) => AsyncGenerator<unknown>;
    };
  };
  truncate(flags: Readonly<Record<string, boolean | undefined>>): unknown;
}

/** One of the two objects that every graph gets from the server: a checkpointer and a store. */
export type GraphStorage = object;

/** The options of `startServer`. */
export interface StartOptions {
  readonly port: number;
  readonly host: string;
  readonly nWorkers: number;
  readonly cwd: string;
}

/** The server's log, of winston. */
export interface Logger {
  level: string;
  readonly levels: Readonly<Record<string, number>>;
  readonly transports: readonly { stderrLevels?: Record<string, boolean> }[];
  warn(message: string, data?: object): void;
  error(message: string, data?: object): void;
}
