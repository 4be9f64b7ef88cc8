/** Options in which every name is required: code that forgets one doesn't compile. */
export type Complete<T> = { readonly [Name in keyof Required<T>]: T[Name] };
