import type { Clock } from '@warder/foundation/runtime'

/** Signatures that are made for people who need not say who they are. */
export interface SignatureBudget {
  /** false: there are too many, in this second or under way. Each one that is taken is to be given back by `done`. */
  take(): boolean
  done(): void
}

const mostUnderWay = 256

/** @param perSecond signatures that begin in one second */
export function signatureBudget(clock: Clock, perSecond: number): SignatureBudget {
  let second = Number.NEGATIVE_INFINITY
  let begun = 0
  let underWay = 0
  return {
    take() {
      const now = clock.monotonic()
      if (now - second >= 1000) {
        second = now
        begun = 0
      }
      if (begun >= perSecond || underWay >= mostUnderWay) return false
      begun += 1
      underWay += 1
      return true
    },
    done() {
      underWay -= 1
    },
  }
}
