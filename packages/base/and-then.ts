/**
 * A value, or a promise of it when it is not available yet. An available value is used in the same turn: a request for a
 * cached key passes the dispatcher without a promise, and its reply is written with those of its batch (`RequestBatcher`).
 *
 * It is for the path of such a request alone. `scripts/maybe-promises.test.ts` lists the files that may use it, each with
 * its reason: the dispatcher, authentication, the access to keys and the caches beneath, encrypt, decrypt and MAC.
 * Everything else is an `async` function; awaiting a value that is there is right, too.
 */
export type MaybePromise<T> = T | Promise<T>

/**
 * Applies `next` to a value, synchronously if it is not a promise. An error of `next` is thrown at once, too,
 * and rejects else. It is not named `then`: a module that exports that name is taken for a promise by
 * `import()`.
 * @param failed called if the promise of the value rejects, as the second parameter of
 *   `Promise.then`: a value that is already available cannot, and errors of `next` are not passed to it
 */
export function andThen<T, U, F = never>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
  failed?: (thrown: unknown) => MaybePromise<F>,
): MaybePromise<U | F> {
  return value instanceof Promise ? value.then(next, failed) : next(value)
}
