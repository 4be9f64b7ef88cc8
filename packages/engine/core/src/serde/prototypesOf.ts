/** The prototypes that an instance inherits from, nearest first, without the `Object.prototype` at the end. */
export function prototypesOf(prototype: object): object[] {
  const chain: object[] = [];
  for (let level = prototype; ;) {
    const parent: object | null = Object.getPrototypeOf(level);
    if (parent === null) return chain;
    chain.push(level);
    level = parent;
  }
}

/** The class that a prototype belongs to; undefined if the two don't refer to each other. */
export function classOf(prototype: object): (new (...args: never[]) => object) | undefined {
  const found: unknown = Object.getOwnPropertyDescriptor(prototype, "constructor")?.value;
  return typeof found === "function" && found.prototype === prototype
    ? (found as new (...args: never[]) => object)
    : undefined;
}
