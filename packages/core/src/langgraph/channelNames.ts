/**
 * Whether a channel is LangGraph's own, by its name. Such a channel holds nothing of the graph's author, and is no DeltaChannel.
 */
export function isLangGraphChannel(name: string): boolean {
  return /^(__|branch:|join:)/.test(name);
}

/** Whether a channel says what runs next, by its name. Unlike in {@link isLangGraphChannel}, "__" in front isn't enough. */
export function isControlChannel(name: string): boolean {
  return /^(__start__$|__pregel_|branch:|join:)/.test(name);
}
