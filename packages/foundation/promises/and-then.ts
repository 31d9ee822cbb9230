/** A value, or a promise of it where it must be waited for. Whoever has the value goes on in the same turn. */
export type MaybePromise<T> = T | Promise<T>

/**
 * What follows from a value, at once where it is there. What `next` throws is thrown at once, too, and rejects else.
 * It is not named `then`: a module that exports that name is taken for a promise by `import()`.
 */
export function andThen<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}
