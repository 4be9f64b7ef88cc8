/** Options with every name that there is: one that is forgotten does not compile. */
export type Complete<T> = { readonly [Name in keyof Required<T>]: T[Name] };
