/** One checkpoint of the reference: what it holds, and what it was made from. */
export interface Commit {
  readonly messages: ReadonlySet<string>;
  readonly title: string;
  readonly parents: readonly number[];
  readonly at: { readonly threadId: string; readonly checkpointId: string };
}

/** Merging as it is meant to be, on sets: three-way from the nearest common ancestors, these merged with each other first. */
export class Reference {
  readonly commits: Commit[] = [];

  ancestors(id: number): Set<number> {
    const found = new Set([id]);
    for (const one of found) for (const parent of this.commits[one]!.parents) found.add(parent);
    return found;
  }

  base(a: number, b: number): Pick<Commit, "messages" | "title"> {
    const ofB = this.ancestors(b);
    const common = [...this.ancestors(a)].filter((id) => ofB.has(id));
    const all = common
      .filter((id) => !common.some((other) => other !== id && this.ancestors(other).has(id)))
      .sort((x, y) => y - x);
    let base: Pick<Commit, "messages" | "title"> = this.commits[all[0]!]!;
    for (const id of all.slice(1)) {
      const before = this.base(all[0]!, id);
      base = this.three(before, base, this.commits[id]!, before.title);
    }
    return base;
  }

  three(
    base: Pick<Commit, "messages" | "title">,
    ours: Pick<Commit, "messages" | "title">,
    theirs: Pick<Commit, "messages" | "title">,
    otherwise: string,
  ): Pick<Commit, "messages" | "title"> {
    const kept = [...base.messages, ...ours.messages, ...theirs.messages].filter((id) =>
      base.messages.has(id) ? ours.messages.has(id) && theirs.messages.has(id) : true,
    );
    const title =
      theirs.title === base.title || ours.title === theirs.title
        ? ours.title
        : ours.title === base.title
          ? theirs.title
          : otherwise;
    return { messages: new Set(kept), title };
  }
}
