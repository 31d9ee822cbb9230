import { readFileSync, statSync } from 'node:fs'
import type { Outbound } from '../outbound/types.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../telemetry/types.ts'
import { keysOfSet } from './jwk.ts'
import { parseStrictObject } from './strict-json.ts'
import type { KeySet, VerificationKey } from './types.ts'

/** Until the first fetch has succeeded it is tried again after this time. */
const retryFirstMs = 5_000

const matching = (keys: readonly VerificationKey[], kid: string | undefined): readonly VerificationKey[] =>
  kid === undefined ? keys : keys.filter((key) => key.kid === kid)

/** Keys that are given as they are. */
export function inlineKeySet(set: unknown): KeySet {
  const keys = keysOfSet(set)
  return { find: async (kid) => matching(keys, kid) }
}

/** Keys of a local file, read again when the file changed (looked at once a second at most). */
export function fileKeySet(path: string, clock: Clock, log: Logger): KeySet {
  let keys = keysOfSet(parseStrictObject(readFileSync(path)))
  let modified = statSync(path).mtimeMs
  let lookedAt = clock.monotonic()
  return {
    async find(kid) {
      if (clock.monotonic() - lookedAt >= 1000) {
        lookedAt = clock.monotonic()
        try {
          const now = statSync(path).mtimeMs
          if (now !== modified) {
            keys = keysOfSet(parseStrictObject(readFileSync(path)))
            modified = now
          }
        } catch (error) {
          log.warn({ path, error }, 'the key set file cannot be read; the keys read before stay')
        }
      }
      return matching(keys, kid)
    },
  }
}

export interface RemoteKeySetOptions {
  readonly url: string
  readonly outbound: Outbound
  readonly clock: Clock
  readonly log: Logger
  /** An unknown kid asks again at most once in this time; default 60. */
  readonly smallestRefreshSeconds?: number
  /** Keys are asked for again after this time even when every kid is known, so that withdrawn ones go; default 3600. */
  readonly refreshAfterSeconds?: number
}

/**
 * Keys at a URL. Fetched when first needed, by one request for all who wait; an unknown kid asks again, throttled; a
 * failure keeps the keys there were.
 */
export function remoteKeySet(options: RemoteKeySetOptions): KeySet {
  const { clock, outbound, url, log } = options
  const smallestRefreshMs = (options.smallestRefreshSeconds ?? 60) * 1000
  const refreshAfterMs = (options.refreshAfterSeconds ?? 3600) * 1000
  let keys: readonly VerificationKey[] | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  let asking: Promise<void> | undefined

  const ask = (): Promise<void> => {
    asking ??= refresh().finally(() => {
      asking = undefined
    })
    return asking
  }
  const refresh = async (): Promise<void> => {
    askedAt = clock.monotonic()
    try {
      const answer = await outbound.get(url, {
        headers: { accept: 'application/jwk-set+json, application/json' },
      })
      if (answer.status !== 200) throw new Error(`it answered ${answer.status}`)
      keys = keysOfSet(parseStrictObject(answer.body))
    } catch (error) {
      log.warn({ url, error }, 'the key set cannot be fetched; the keys fetched before stay')
    }
  }

  return {
    async find(kid) {
      const age = clock.monotonic() - askedAt
      // A first fetch that failed is tried again a little sooner, for a service that starts beside its issuer.
      const patience = keys === undefined ? Math.min(smallestRefreshMs, retryFirstMs) : refreshAfterMs
      if (asking !== undefined && keys === undefined) await asking
      else if (age >= patience) await ask()
      const found = matching(keys ?? [], kid)
      if (found.length > 0 || clock.monotonic() - askedAt < smallestRefreshMs) return found
      await ask()
      return matching(keys ?? [], kid)
    },
  }
}
