/**
 * Whether a channel is LangGraph's own, by its name. Such a channel holds no data of the graph's author, and is never a DeltaChannel.
 */
export function isLangGraphChannel(name: string): boolean {
  return /^(__|branch:|join:)/.test(name);
}

/** The channel that LangGraph writes null to for a task that wrote nothing, so that the task counts as done. */
export const noWrites = "__no_writes__";

/** Whether a channel says what runs next, by its name. Unlike in {@link isLangGraphChannel}, "__" in front isn't enough. */
export function isControlChannel(name: string): boolean {
  return /^(__start__$|__pregel_|branch:|join:)/.test(name);
}
