import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'
import type { Clock } from '@warder/base'
import { createTokenBuckets, type TokenBuckets, tokenBucketMemory } from '@warder/server'

/** Number of address buckets; addresses that collide share tokens. */
const slots = 65_536
/** Worker threads inherit the environment data of the primary, so all of them use the same buckets. */
const key = 'warder.auth.login-buckets'

/** In the primary, before any worker. */
export function shareLoginBuckets(): void {
  setEnvironmentData(key, tokenBucketMemory(slots))
}

/** Logins of every kind, by address: in the memory that the primary shares, or in memory of its own. */
export function createLoginBuckets(parts: {
  readonly ratePerSecond: number
  readonly burst: number
  readonly clock: Clock
}): TokenBuckets {
  const memory = getEnvironmentData(key)
  return createTokenBuckets({ ...parts, slots, ...(memory instanceof SharedArrayBuffer ? { memory } : {}) })
}
