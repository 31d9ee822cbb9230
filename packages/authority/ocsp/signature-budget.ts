import { type Clock, KeyedLimiter } from '@warder/base'

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
  const running = new KeyedLimiter(maxUnderWay, maxUnderWay * shareOfOnce)
  const createBegun = () => new KeyedLimiter(perSecond, Math.ceil(perSecond * shareOfOnce))
  let begun = createBegun()
  let second = Number.NEGATIVE_INFINITY
  const owners = { kept: undefined, once: 'once' } as const
  return {
    take(purpose) {
      const now = clock.monotonic()
      if (now - second >= 1000) {
        second = now
        begun = createBegun()
      }
      const owner = owners[purpose]
      if (!running.tryAcquire(owner, 1)) return false
      if (begun.tryAcquire(owner, 1)) return true
      running.release(owner, 1)
      return false
    },
    done(purpose) {
      running.release(owners[purpose], 1)
    },
  }
}
