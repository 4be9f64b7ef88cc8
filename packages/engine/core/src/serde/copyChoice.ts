/**
 * Objects that this process revived with classes of our own copies of LangChain and LangGraph. When an application stores them
 * again, that says nothing about which copy the application uses.
 */
const revived = new WeakSet<object>();

/** Notes that `value` was revived with a class of our own copy. */
export function noteRevived(value: object): void {
  revived.add(value);
}

/** Whether `value` was revived with a class of our own copy. */
export function wasRevived(value: object): boolean {
  return revived.has(value);
}

/**
 * Decides as which copy of a class values are revived, if its package may be installed more than once. An option decides first.
 * Otherwise it is our own copy if the application stored an instance of it, or else the first other copy that it stored an
 * instance of. Before anything was stored, it is our own. Only the classes of living values count, never what stored data says.
 * (docs/decisions/0017)
 */
export class CopyChoice<T extends object> {
  readonly #own: T;
  #used: T;
  #final = false;

  constructor(own: T) {
    this.#own = own;
    this.#used = own;
  }

  /** The copy to use now. */
  get used(): T {
    return this.#used;
  }

  /** Uses this copy from now on, whatever is stored. */
  choose(copy: T): void {
    this.#used = copy;
    this.#final = true;
  }

  /** Notes that an instance of our own copy is being stored. */
  storedOwn(value: object): void {
    if (!this.#final && !revived.has(value)) this.choose(this.#own);
  }

  /** Notes that an instance of another copy is being stored. That copy can be used instead of our own. */
  storedOther(copy: T): void {
    if (!this.#final && this.#used === this.#own) this.#used = copy;
  }

  /** Goes back to our own copy for good, because the one in use makes other values than ours does. */
  giveUp(): void {
    this.choose(this.#own);
  }

  /** Notes that an instance of our own copy was made. */
  madeOwn(value: object): void {
    if (!this.#final) revived.add(value);
  }
}
