import type { Clock } from '@warder/foundation/runtime'

/**
 * Purpose of a signature: `kept`, a response about a certificate of the register, cached for all clients; `once`, a
 * response for one request only, of which any client can request any number.
 */
export type SignaturePurpose = 'kept' | 'once'

/** Limits signatures for unauthenticated clients. */
export interface SignatureBudget {
  /** false: too many in this second or running now. The caller releases each acquired signature by `done`. */
  take(purpose: SignaturePurpose): boolean
  done(purpose: SignaturePurpose): void
}

const maxUnderWay = 256
/** Max share for `once`: a flood of such requests leaves the rest to cached responses, so revocations are published. */
const shareOfOnce = 3 / 4

/** @param perSecond signatures that begin in one second */
export function signatureBudget(clock: Clock, perSecond: number): SignatureBudget {
  const limits = {
    all: { begun: perSecond, underWay: maxUnderWay },
    once: { begun: Math.ceil(perSecond * shareOfOnce), underWay: maxUnderWay * shareOfOnce },
  }
  const counts = { all: { begun: 0, underWay: 0 }, once: { begun: 0, underWay: 0 } }
  const kinds = { kept: ['all'], once: ['all', 'once'] } as const
  let second = Number.NEGATIVE_INFINITY
  return {
    take(purpose) {
      const now = clock.monotonic()
      if (now - second >= 1000) {
        second = now
        counts.all.begun = 0
        counts.once.begun = 0
      }
      const counted = kinds[purpose]
      const isFull = (kind: 'all' | 'once') =>
        counts[kind].begun >= limits[kind].begun || counts[kind].underWay >= limits[kind].underWay
      if (counted.some(isFull)) return false
      for (const kind of counted) {
        counts[kind].begun += 1
        counts[kind].underWay += 1
      }
      return true
    },
    done(purpose) {
      for (const kind of kinds[purpose]) counts[kind].underWay -= 1
    },
  }
}
