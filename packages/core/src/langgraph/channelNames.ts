/**
 * Whether a channel is LangGraph's own by its name: it holds nothing that a graph's author put there, and is no DeltaChannel.
 */
export function isLangGraphChannel(name: string): boolean {
  return /^(__|branch:|join:)/.test(name);
}

/** Whether a channel says what runs next, by its name. Unlike {@link isLangGraphChannel}, "__" alone doesn't tell. */
export function isControlChannel(name: string): boolean {
  return /^(__start__$|__pregel_|branch:|join:)/.test(name);
}
