import { checkOptions, shown, type OptionAdvice, type OptionNames } from "../contract/checkOptions.ts";
import { InvalidOptionError } from "../contract/errors.ts";

/** How a thread is pruned. */
export interface PruneOptions {
  /** "keep_latest": the newest checkpoints of every namespace stay; "delete": the whole thread is deleted. */
  readonly strategy: "keep_latest" | "delete";
  /** How many of each namespace stay. Default 1. */
  readonly keepLast?: number | undefined;
}

const names: OptionNames<PruneOptions> = { strategy: true, keepLast: true };
const advice: OptionAdvice = {
  keep: "Write keepLast.",
  limit: "Write keepLast.",
  olderThan: "Pruning by age is trimAfter, an option of the saver, and maintain().",
  threadIds: "They are the first argument.",
};

/** Checks how to prune. The strategy has no default, because what is removed is gone for good. @throws InvalidOptionError */
export function checkPruneOptions(options: PruneOptions | undefined): void {
  const ways = 'Use "keep_latest", with keepLast beside it, or "delete".';
  if (options === undefined)
    throw new InvalidOptionError("strategy", "nothing", `Say what stays of a thread. ${ways}`);
  checkOptions("prune", options, names, advice);
  const { strategy, keepLast } = options;
  if (strategy !== "keep_latest" && strategy !== "delete")
    throw new InvalidOptionError("strategy", shown(strategy), ways);
  if (keepLast === undefined) return;
  if (strategy === "delete") {
    throw new InvalidOptionError(
      "keepLast",
      shown(keepLast),
      'Under "delete" nothing stays. Leave it out, or use the strategy "keep_latest".',
    );
  }
  if (!Number.isInteger(keepLast) || keepLast < 1)
    throw new InvalidOptionError("keepLast", shown(keepLast), "Use a whole number, 1 or more.");
}
