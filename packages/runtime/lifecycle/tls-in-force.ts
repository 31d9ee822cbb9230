import type { TlsMaterials } from './messages.ts'

/** The certificates and trust that one worker serves with, from before its listeners are made. */
export interface TlsInForce {
  current(): TlsMaterials
  set(next: TlsMaterials): void
  /** @param change is called at each `set` from now on */
  follow(change: (tls: TlsMaterials) => void): void
}

/**
 * A reload can come while the worker still starts: a listener made with `current` that follows in the same turn of the
 * event loop never serves with an authority that was taken away.
 */
export function createTlsInForce(first: TlsMaterials): TlsInForce {
  let current = first
  const followers: ((tls: TlsMaterials) => void)[] = []
  return {
    current: () => current,
    set(next) {
      current = next
      for (const change of followers) change(next)
    },
    follow: (change) => void followers.push(change),
  }
}
