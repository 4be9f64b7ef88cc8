// long file: all that can be done with prompts, each in a few lines
import { createHash } from "node:crypto";
import type { BaseStore } from "@langchain/langgraph-checkpoint";
import { lineage } from "@stratigraph/branch";
import { InvalidOptionError, NotFoundError, StratigraphError, type TierSaver } from "@stratigraph/core";
import { checkedCount, checkOptions, kindOf, validId } from "@stratigraph/core/internal";
import type { Author } from "../author.ts";
import { checkedName } from "../names.ts";
import type { WorkspaceItem } from "../workspaceItem.ts";
import { runMetrics, type PromptMetrics } from "./metrics.ts";
import { PromptVersion, type StoredVersion } from "./promptVersion.ts";
import { runsOf, type PromptCheckpoint } from "./runs.ts";
import { checkedTemplate, type PromptTemplate } from "./template.ts";
import { textDiff, type TextChange } from "./textDiff.ts";

/** What prompts need of a workspace, or of a role's part of it. */
export interface PromptRoom {
  get(namespace: string[], key: string): Promise<WorkspaceItem | null>;
  search(
    namespace: string[],
    options: { readonly limit: number; readonly offset?: number },
  ): Promise<WorkspaceItem[]>;
  store(): BaseStore;
  put(
    namespace: string[],
    key: string,
    value: Record<string, unknown>,
    options: { readonly ifVersion: number; readonly reason?: string | undefined },
  ): Promise<{ readonly ok: true } | { readonly ok: false; readonly current: WorkspaceItem | null }>;
  transact(
    steps: readonly {
      readonly put: {
        readonly namespace: readonly string[];
        readonly key: string;
        readonly value: Record<string, unknown>;
        readonly ifVersion?: number | undefined;
      };
    }[],
    options?: { readonly reason?: string | undefined },
  ): Promise<{ readonly ok: boolean }>;
}

/** Options of createPrompts. */
export interface PromptsOptions {
  /** Where the threads of the runs are: metrics and feedback need it. */
  readonly checkpointer?: TierSaver | undefined;
  /** Where the prompts are in the workspace. Default: `["prompts"]`. */
  readonly namespace?: readonly string[] | undefined;
}

/** A version to be added. */
export interface NewPrompt<Template extends PromptTemplate = PromptTemplate> {
  readonly template: Template;
  /** The version that it was made from. Default: the current one. */
  readonly parent?: string | undefined;
  /** What was said of the parent, and led to this version. */
  readonly feedback?: readonly string[] | undefined;
  /** Why, for the workspace's log. */
  readonly reason?: string | undefined;
}

/** Options of a change of which version is current. */
export interface PromotePromptOptions {
  /** The version that the caller believes to be current. If another one is, nothing is changed. */
  readonly from?: string | undefined;
  /** Why, for the workspace's log. */
  readonly reason?: string | undefined;
}

/** What a person thinks of a run. */
export interface PromptFeedback {
  /** From 0, useless, to 1, just right. */
  readonly score: number;
  readonly comment?: string | undefined;
  /** A checkpoint of the run. Default: the head of the thread. */
  readonly checkpointId?: string | undefined;
  /** Whose feedback it is: a later one of the same person on the same run takes its place. */
  readonly by?: string | undefined;
  /** Only for this prompt. Default: for all that the run used. */
  readonly prompt?: string | undefined;
}

/** A version with what became of its runs. */
export interface PromptReport extends PromptMetrics {
  readonly version: PromptVersion;
  readonly isCurrent: boolean;
}

/** Two versions side by side. */
export interface PromptComparison {
  readonly a: PromptReport;
  readonly b: PromptReport;
  /** What has to be removed from the text of `a` and added to it to get that of `b`. */
  readonly text: readonly TextChange[];
}

/** The one cell of a prompt that changes. */
interface Current {
  readonly version: string;
  /** Those that were current before, oldest first. */
  readonly before: readonly string[];
}

/** How many earlier current versions are remembered. */
const mostBefore = 100;
/** How many others may add a version while one is added. */
const mostAttempts = 100;
const page = 100;
const mostListed = 1000;
const longestFeedback = 10_000;
const mostFeedback = 100;

/** Prompts, their versions, and which version of each is current. Made by {@link createPrompts}. */
export class Prompts {
  readonly #room: PromptRoom;
  readonly #saver: TierSaver | undefined;
  readonly #namespace: readonly string[];

  /** @internal */
  constructor(room: PromptRoom, saver: TierSaver | undefined, namespace: readonly string[]) {
    this.#room = room;
    this.#saver = saver;
    this.#namespace = namespace;
  }

  /**
   * Adds a version of a prompt. The first one becomes current, later ones have to be promoted.
   * @throws InvalidOptionError; NotFoundError if there is no such parent; StratigraphError "ACCESS_DENIED", "SERIALIZATION"
   */
  async add<Template extends PromptTemplate>(
    name: string,
    prompt: NewPrompt<Template>,
  ): Promise<PromptVersion<Template>> {
    checkedName("name", name);
    checkOptions<NewPrompt>("add", prompt, { template: true, parent: true, feedback: true, reason: true });
    const template = checkedTemplate(prompt.template);
    const feedback = checkedFeedback(prompt.feedback);
    const { reason } = prompt;
    const current = await this.#current(name);
    const parent = prompt.parent ?? (current?.value as Current | undefined)?.version;
    if (prompt.parent !== undefined) await this.get(name, prompt.parent);
    const [newest] = await this.#room.search(this.#versions(name), { limit: 1 });
    for (let attempt = 0, last = Number(newest?.key ?? 0); attempt < mostAttempts; attempt += 1) {
      const version = String(last + 1 + attempt);
      const value = { template, feedback, ...(parent !== undefined && { parent }) } satisfies StoredVersion;
      const steps = [{ put: { namespace: this.#versions(name), key: version, value, ifVersion: 0 } }];
      const first = { namespace: this.#cells, key: name, value: { version, before: [] }, ifVersion: 0 };
      const made = await this.#room.transact(current === null ? [...steps, { put: first }] : steps, {
        reason,
      });
      if (made.ok) return (await this.get(name, version)) as PromptVersion<Template>;
      // Somebody else added the first version meanwhile: this one is made from it, as it would have been a moment later.
      if (current === null) return await this.add(name, prompt);
    }
    throw new StratigraphError(
      "VERSION_CONFLICT",
      `Others added ${mostAttempts} versions of prompt ${JSON.stringify(name)} meanwhile. Nothing was added. Repeat it.`,
      { name },
    );
  }

  /** A version of a prompt. Default: the current one. @throws NotFoundError */
  async get(name: string, version?: string): Promise<PromptVersion> {
    checkedName("name", name);
    const wanted = version ?? (await this.#currentOf(name)).version;
    const item = await this.#room.get(this.#versions(name), validId("version", wanted));
    if (item !== null) return new PromptVersion(name, item);
    if ((await this.#current(name)) === null) throw unknownPrompt(name);
    throw new NotFoundError(
      `Prompt ${JSON.stringify(name)} has no version ${JSON.stringify(wanted)}. Look them up with versions().`,
      { name, version: wanted },
    );
  }

  /** All versions, oldest first. @throws NotFoundError */
  async versions(name: string): Promise<PromptVersion[]> {
    await this.#currentOf(checkedName("name", name));
    const found: PromptVersion[] = [];
    for await (const item of this.#items(this.#versions(name))) found.push(new PromptVersion(name, item));
    return found.sort((a, b) => Number(a.version) - Number(b.version));
  }

  /** The current versions of all prompts, by name; of more than 1,000, those that were changed last. */
  async list(): Promise<PromptVersion[]> {
    const cells: WorkspaceItem[] = [];
    for await (const cell of this.#items(this.#cells)) if (cells.push(cell) === mostListed) break;
    cells.sort((one, other) => (one.key < other.key ? -1 : 1));
    const items = await this.#room.store().batch(
      cells.map(({ key, value }) => ({
        namespace: this.#versions(key),
        key: (value as unknown as Current).version,
      })),
    );
    return (items as (WorkspaceItem | null)[]).flatMap((item, place) =>
      item === null ? [] : [new PromptVersion(cells[place]!.key, item)],
    );
  }

  /**
   * Makes a version current.
   * @throws NotFoundError; StratigraphError "VERSION_CONFLICT" if another version than `from` is current, or somebody else changed that at the
   * same time: nothing is changed then
   */
  async promote(name: string, version: string, options: PromotePromptOptions = {}): Promise<PromptVersion> {
    checkOptions("promote", options, { from: true, reason: true });
    const promoted = await this.get(name, version);
    await this.#move(name, options, ({ version: from, before }) =>
      from === version ? undefined : { version, before: [...before, from].slice(-mostBefore) },
    );
    return promoted;
  }

  /** Makes the version current that was so before. Again: the one before that. @throws NotFoundError; StratigraphError "VERSION_CONFLICT" */
  async rollback(name: string, options: PromotePromptOptions = {}): Promise<PromptVersion> {
    checkOptions("rollback", options, { from: true, reason: true });
    const { version } = await this.#move(checkedName("name", name), options, ({ version: from, before }) => {
      const to = before.at(-1);
      if (to !== undefined) return { version: to, before: before.slice(0, -1) };
      throw new NotFoundError(
        `No version of prompt ${JSON.stringify(name)} was current before version ${from}. Choose one with promote().`,
        { name, version: from },
      );
    });
    return await this.get(name, version);
  }

  /**
   * Keeps what a person thinks of a run, for the versions of prompts that it used.
   * @returns these versions
   * @throws InvalidOptionError; NotFoundError if there is no such run, or it names no version
   */
  async feedback(threadId: string, feedback: PromptFeedback): Promise<PromptVersion[]> {
    checkOptions("feedback", feedback, {
      score: true,
      comment: true,
      checkpointId: true,
      by: true,
      prompt: true,
    });
    const { score, comment, checkpointId, by = "", prompt } = feedback;
    if (typeof score !== "number" || !(score >= 0 && score <= 1))
      throw new InvalidOptionError(
        "score",
        typeof score === "number" ? score : kindOf(score),
        "Pass a number from 0 to 1.",
      );
    if (comment !== undefined) checkedComment("comment", comment);
    if (by !== "") checkedName("by", by);
    const at = await runAt(this.#checkpointer("feedback"), validId("threadId", threadId), checkpointId);
    const used = at === undefined ? new Map<string, string>() : usedIn(at);
    const wanted = [...used].filter(([name]) => prompt === undefined || name === prompt);
    if (at === undefined || wanted.length === 0)
      throw new NotFoundError(
        `The run of thread ${JSON.stringify(threadId)} names no version of ${prompt === undefined ? "a prompt" : `prompt ${JSON.stringify(prompt)}`}. ` +
          "Pass prompt.metadata in its config: graph.invoke(input, { ...config, metadata: prompt.metadata }).",
        { threadId, checkpointId, prompt },
      );
    const run = (at.run.own[0] ?? at.run.all[0]!).id;
    const key = createHash("sha256")
      .update(JSON.stringify([run, by]))
      .digest("hex");
    const kept = {
      score,
      threadId,
      run,
      ...(comment !== undefined && { comment }),
      ...(by !== "" && { by }),
    };
    const versions = await Promise.all(wanted.map(async ([name, version]) => await this.get(name, version)));
    await this.#room.transact(
      versions.map(({ name, version }) => ({
        put: { namespace: this.#feedbackOf(name), key, value: { ...kept, version } },
      })),
    );
    return versions;
  }

  /**
   * All versions of a prompt, oldest first, with what became of the runs that used them. Runs are found by their metadata in the
   * checkpointer's threads, archived ones too; those of deleted threads aren't there any more.
   * @param options `limit`: only the newest so many versions. Default: all
   * @throws NotFoundError; InvalidOptionError, also without a checkpointer
   */
  async report(name: string, options: { readonly limit?: number | undefined } = {}): Promise<PromptReport[]> {
    checkOptions("report", options, { limit: true });
    const limit = checkedCount("limit", options.limit, Infinity);
    const versions = await this.versions(name);
    return await this.#reports(name, versions.slice(Math.max(0, versions.length - limit)));
  }

  /**
   * Compares two versions: their texts, by lines or by words, and what became of their runs.
   * @throws NotFoundError; InvalidOptionError
   */
  async compare(
    name: string,
    a: string,
    b: string,
    options: { readonly by?: "lines" | "words" | undefined } = {},
  ): Promise<PromptComparison> {
    checkOptions("compare", options, { by: true });
    const { by = "lines" } = options;
    if (by !== "lines" && by !== "words")
      throw new InvalidOptionError("by", kindOf(by), 'Use "lines" or "words".');
    const both = await Promise.all([this.get(name, a), this.get(name, b)]);
    const [first, second] = await this.#reports(name, both);
    return { a: first!, b: second!, text: textDiff(textOf(both[0]), textOf(both[1]), by) };
  }

  async #reports(name: string, versions: readonly PromptVersion[]): Promise<PromptReport[]> {
    const saver = this.#checkpointer("Metrics");
    const current = await this.#currentOf(name);
    const scores = new Map<unknown, { sum: number; ratings: number }>();
    for await (const { value } of this.#items(this.#feedbackOf(name))) {
      const known = scores.get(value["version"]) ?? { sum: 0, ratings: 0 };
      scores.set(value["version"], { sum: known.sum + Number(value["score"]), ratings: known.ratings + 1 });
    }
    const reports: PromptReport[] = [];
    for (const version of versions) {
      const { sum, ratings } = scores.get(version.version) ?? { sum: 0, ratings: 0 };
      const metrics = await runMetrics(saver, name, version.version);
      const satisfaction = ratings > 0 ? { satisfaction: sum / ratings } : {};
      const isCurrent = version.version === current.version;
      reports.push({ version, isCurrent, ...metrics, ...satisfaction, ratings });
    }
    return reports;
  }

  /** Changes which version is current, by compare-and-set. @param next returns undefined to leave it */
  async #move(
    name: string,
    { from, reason }: PromotePromptOptions,
    next: (current: Current) => Current | undefined,
  ): Promise<Current> {
    const item = await this.#current(name);
    if (item === null) throw unknownPrompt(name);
    const current = item.value as unknown as Current;
    if (from !== undefined && from !== current.version) throw overtaken(name, item);
    const value = next(current);
    if (value === undefined) return current;
    const written = await this.#room.put(
      this.#cells,
      name,
      { ...value },
      { ifVersion: item.version, reason },
    );
    if (!written.ok) throw overtaken(name, written.current);
    return value;
  }

  async #current(name: string): Promise<WorkspaceItem | null> {
    return await this.#room.get(this.#cells, name);
  }

  async #currentOf(name: string): Promise<Current> {
    const item = await this.#current(name);
    if (item === null) throw unknownPrompt(name);
    return item.value as unknown as Current;
  }

  async *#items(namespace: string[]): AsyncGenerator<WorkspaceItem> {
    for (let offset = 0; ; offset += page) {
      const items = await this.#room.search(namespace, { limit: page, offset });
      yield* items;
      if (items.length < page) return;
    }
  }

  #checkpointer(what: string): TierSaver {
    if (this.#saver !== undefined) return this.#saver;
    throw new InvalidOptionError(
      "checkpointer",
      "nothing",
      `${what} needs the threads of the runs. Write createPrompts(workspace, { checkpointer }).`,
    );
  }

  get #cells(): string[] {
    return [...this.#namespace, "current"];
  }

  #versions(name: string): string[] {
    return [...this.#namespace, "versions", name];
  }

  #feedbackOf(name: string): string[] {
    return [...this.#namespace, "feedback", name];
  }
}

/** A checkpoint, with its run. What a thread inherited, as a fork, is looked up where it comes from, if that is still there. */
async function runAt(
  saver: TierSaver,
  threadId: string,
  checkpointId: string | undefined,
): Promise<PromptCheckpoint | undefined> {
  const find = async (thread: string, wanted: string | undefined): Promise<PromptCheckpoint | undefined> =>
    (await runsOf(saver, thread)).find(({ id, listed }) => id === (wanted ?? listed.head));
  const at = await find(threadId, checkpointId);
  if (at === undefined || at.run.own.length > 0) return at;
  for (const origin of await lineage(saver, threadId)) {
    const there = await find(origin.threadId, at.id);
    if (there !== undefined && there.run.own.length > 0) return there;
  }
  return at;
}

/** The versions that a run used until a checkpoint: the last one of each prompt. */
function usedIn(at: PromptCheckpoint): Map<string, string> {
  const used = new Map<string, string>();
  for (let each: PromptCheckpoint | undefined = at; each?.run === at.run; each = each.parent)
    for (const [name, version] of each.versions) if (!used.has(name)) used.set(name, version);
  return used;
}

function checkedFeedback(feedback: readonly string[] = []): string[] {
  if (!Array.isArray(feedback) || feedback.length > mostFeedback)
    throw new InvalidOptionError(
      "feedback",
      Array.isArray(feedback) ? `${feedback.length} of them` : kindOf(feedback),
      `Pass a list of up to ${mostFeedback} texts.`,
    );
  return (feedback as unknown[]).map((text, place) => checkedComment(`feedback[${place}]`, text));
}

function checkedComment(field: string, text: unknown): string {
  if (typeof text === "string" && text !== "" && text.length <= longestFeedback && text.isWellFormed())
    return text;
  const found = typeof text === "string" ? `text of ${text.length} characters` : kindOf(text);
  throw new InvalidOptionError(field, found, `Pass well-formed text of 1 to ${longestFeedback} characters.`);
}

function textOf({ template }: PromptVersion): string {
  if (typeof template === "string") return template;
  return template.map(({ role, content }) => `${role}:\n${content}\n`).join("\n");
}

function unknownPrompt(name: string): NotFoundError {
  return new NotFoundError(
    `There is no prompt ${JSON.stringify(name)}. Look them up with list(), or add it.`,
    { name },
  );
}

function overtaken(name: string, item: WorkspaceItem | null): StratigraphError {
  const current = (item?.value as Current | undefined)?.version;
  const author: Author | undefined = item?.author;
  return new StratigraphError(
    "VERSION_CONFLICT",
    `Version ${current} of prompt ${JSON.stringify(name)} is current, as ${author?.agent ?? "somebody else"} made it so meanwhile. Nothing was ` +
      "changed. Compare the versions, and promote again if you still want to.",
    { name, current, by: author?.agent },
  );
}
