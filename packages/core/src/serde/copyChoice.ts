/**
 * Objects that were made of classes of our own copies of LangChain and LangGraph, in this process. That an application puts
 * them again says nothing about which copy is the application's.
 */
const revived = new WeakSet<object>();

/** Notes that `value` was made here. */
export function noteRevived(value: object): void {
  revived.add(value);
}

/** Whether `value` was made here. */
export function wasRevived(value: object): boolean {
  return revived.has(value);
}

/**
 * Which copy of one class values are revived as, where the package may be installed more than once: the class that was
 * chosen by an option; else our own, once the application stored an instance of it; else the first other one that it stored an
 * instance of; else our own. Only classes of living values count, never what stored data says. (docs/decisions/0017)
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

  /** Uses this copy for good, whatever is stored. */
  choose(copy: T): void {
    this.#used = copy;
    this.#final = true;
  }

  /** An instance of our own copy is being stored. */
  storedOwn(value: object): void {
    if (!this.#final && !revived.has(value)) this.choose(this.#own);
  }

  /** An instance of another copy is being stored; `copy` can stand in for our own. */
  storedOther(copy: T): void {
    if (!this.#final && this.#used === this.#own) this.#used = copy;
  }

  /** The copy in use turned out to make other values than ours does. */
  giveUp(): void {
    this.choose(this.#own);
  }

  /** An instance of our own copy was made. */
  madeOwn(value: object): void {
    if (!this.#final) revived.add(value);
  }
}
