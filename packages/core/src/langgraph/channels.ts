/** LangGraph's channel for interrupts among pending writes; not exported by its checkpoint package. */
export const INTERRUPT = "__interrupt__";
