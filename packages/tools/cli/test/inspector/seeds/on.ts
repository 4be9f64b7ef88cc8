import { AIMessage, type AIMessageFields } from "@langchain/core/messages";

/** The config of a run. `user_id` becomes a tag of the thread, where the saver has `threadTags: ["user_id"]`. */
export const on = (thread_id: string, user_id?: string) => ({
  configurable: { thread_id, ...(user_id === undefined ? {} : { user_id }) },
  durability: "sync" as const,
});

/** Lets a node take the time that it says, so that histories have durations to show. */
export const takes = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What a model says, with the tokens that it took. A plain object: LangChain types the tokens as undefined under exact optional types. */
export const says = (fields: object): AIMessage => new AIMessage(fields as AIMessageFields);

/** Waits for a run that has to fail. */
export async function failing(run: Promise<unknown>): Promise<void> {
  if (
    await run.then(
      () => true,
      () => false,
    )
  )
    throw new Error("this run was to fail");
}
