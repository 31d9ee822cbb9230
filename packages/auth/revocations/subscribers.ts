import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'
import type { Clock } from '@warder/base'

/** Replies wait for at most this many subscribers. Further subscribers get the feed, but no reply waits for them. */
const maxSubscribers = 64
/** Each slot: identity, acknowledged number, time of the last request (monotonic ms), whether it was late. */
const slotSize = 4
const bytes = 16 + maxSubscribers * slotSize * 8
/** A subscriber counts as gone when its last request is older than the longest poll and its transfer time. */
const aliveMs = 30_000

const key = 'warder.auth.subscribers'

/** Runs in the primary before it starts workers, so that all workers share the same subscribers. */
export function shareSubscribers(): void {
  setEnvironmentData(key, new SharedArrayBuffer(bytes))
}

/**
 * Subscribers of the revocation feed and their positions. The workers of a process share them: one worker commits a
 * revocation, another one serves the subscriber.
 */
export interface Subscribers {
  /** Records that a subscriber has seen everything up to `seq`. */
  acknowledge(id: string, seq: number): void
  /** Announces an append: wakes the callers of `waitForAppend`. */
  announce(): void
  /** Resolves with true at the next `announce`, or with false after `ms`. */
  waitForAppend(ms: number): Promise<boolean>
  /** Whether there is an active subscriber. */
  isAnyActive(): boolean
  /**
   * Resolves when every active subscriber has seen `seq`, or after `ms`. A late subscriber is skipped until its next
   * request.
   */
  waitUntilSeen(seq: number, ms: number): Promise<void>
}

const appendedAt = 0
const acknowledgedAt = 1

export function createSubscribers(clock: Clock): Subscribers {
  const shared = getEnvironmentData(key)
  const memory = shared instanceof SharedArrayBuffer ? shared : new SharedArrayBuffer(bytes)
  const counters = new Int32Array(memory, 0, 2)
  const slots = new BigInt64Array(memory, 16)
  const now = (): bigint => BigInt(Math.floor(clock.monotonic()))

  const field = (slot: number, index: number): number => slot * slotSize + index
  const isActive = (slot: number): boolean =>
    Atomics.load(slots, field(slot, 0)) !== 0n &&
    Atomics.load(slots, field(slot, 3)) === 0n &&
    now() - Atomics.load(slots, field(slot, 2)) < BigInt(aliveMs)

  function claimSlot(identity: bigint): number | undefined {
    let free: number | undefined
    for (let slot = 0; slot < maxSubscribers; slot++) {
      const holder = Atomics.load(slots, field(slot, 0))
      if (holder === identity) return slot
      if (free === undefined && !isActive(slot)) free = slot
    }
    return free
  }

  const behind = (seq: bigint): number[] => {
    const found: number[] = []
    for (let slot = 0; slot < maxSubscribers; slot++)
      if (isActive(slot) && Atomics.load(slots, field(slot, 1)) < seq) found.push(slot)
    return found
  }

  async function waitForChange(index: number, seenBefore: number, ms: number): Promise<boolean> {
    const wait = Atomics.waitAsync(counters, index, seenBefore, ms)
    return (wait.async ? await wait.value : wait.value) !== 'timed-out'
  }

  const wake = (index: number): void => {
    Atomics.add(counters, index, 1)
    Atomics.notify(counters, index)
  }

  return {
    acknowledge(id, seq) {
      const identity = toIdentity(id)
      const slot = claimSlot(identity)
      if (slot === undefined) return
      Atomics.store(slots, field(slot, 1), BigInt(seq))
      Atomics.store(slots, field(slot, 2), now())
      Atomics.store(slots, field(slot, 3), 0n)
      Atomics.store(slots, field(slot, 0), identity)
      wake(acknowledgedAt)
    },
    announce: () => wake(appendedAt),
    waitForAppend: (ms) => waitForChange(appendedAt, Atomics.load(counters, appendedAt), ms),
    isAnyActive() {
      for (let slot = 0; slot < maxSubscribers; slot++) if (isActive(slot)) return true
      return false
    },
    async waitUntilSeen(seq, ms) {
      const wanted = BigInt(seq)
      const deadline = AbortSignal.timeout(ms)
      for (;;) {
        const before = Atomics.load(counters, acknowledgedAt)
        const late = behind(wanted)
        if (late.length === 0) return
        if (deadline.aborted || !(await waitForChange(acknowledgedAt, before, ms))) {
          for (const slot of behind(wanted)) Atomics.store(slots, field(slot, 3), 1n)
          return
        }
      }
    },
  }
}

/** 63 bits of the UUID of a subscriber, never 0. */
function toIdentity(id: string): bigint {
  return BigInt(`0x${id.replaceAll('-', '').slice(0, 15)}`) | 1n
}
