import { createHmac, randomBytes } from 'node:crypto'
import { isIPv4 } from 'node:net'
import { BoundedMap, type Clock } from '@warder/base'
import { normalAddress } from './client-address.ts'

export interface RateDecision {
  readonly allowed: boolean
  /** Whole seconds until one request would be allowed; 0 when this one was. */
  readonly retryAfterSeconds: number
}

/** One token bucket for each peer: `burst` tokens at most, `ratePerSecond` new ones a second, one a request. */
export interface TokenBuckets {
  take(address: string): RateDecision
}

export interface TokenBucketOptions {
  readonly ratePerSecond: number
  readonly burst: number
  /** Number of buckets. Peers that share one by chance share its tokens. */
  readonly slots: number
  /** Its `monotonic` must be the same time line in all threads that share `memory`. */
  readonly clock: Clock
  /** From `tokenBucketMemory`, to share the buckets between threads; undefined = buckets of one's own. */
  readonly memory?: SharedArrayBuffer
  /** Key of a bucket; default: the peer's address, or its /64. */
  readonly key?: (name: string) => string
}

const keyBytes = 32
const allowed: RateDecision = Object.freeze({ allowed: true, retryAfterSeconds: 0 })

/** Addresses whose slot is remembered, so that a hash is not computed for each request. */
const rememberedSlots = 4096

/**
 * Memory of a fixed number of buckets, shared by all worker threads. It begins with a random key, so that clients cannot
 * compute which addresses share a bucket.
 */
export function tokenBucketMemory(slots: number): SharedArrayBuffer {
  if (!Number.isInteger(slots) || slots < 1)
    throw new Error('token buckets: slots must be a positive integer')
  const memory = new SharedArrayBuffer(keyBytes + slots * 8)
  new Uint8Array(memory, 0, keyBytes).set(randomBytes(keyBytes))
  return memory
}

/**
 * Token buckets in the form of GCRA (ITU-T I.371): a slot contains one number, the time at which its bucket will be
 * full again, and one compare-and-exchange consumes a token. Usable from many threads at once; time that goes backwards
 * gives no tokens.
 */
export function createTokenBuckets(options: TokenBucketOptions): TokenBuckets {
  const { ratePerSecond, burst, slots, clock } = options
  if (!(ratePerSecond > 0) || !(burst >= 1)) throw new Error('token buckets: rate and burst must be positive')
  const memory = options.memory ?? tokenBucketMemory(slots)
  if (memory.byteLength !== keyBytes + slots * 8)
    throw new Error('token buckets: the memory has the wrong size')
  const key = Buffer.from(new Uint8Array(memory, 0, keyBytes))
  const full = new BigInt64Array(memory, keyBytes, slots)
  const interval = Math.max(1, Math.round(1e6 / ratePerSecond)) // microseconds for one token
  const tolerance = Math.round(interval * burst)
  const findSlot = createSlotFinder(key, slots, options.key ?? bucketKey)
  return {
    take(address) {
      const slot = findSlot(address)
      const now = Math.floor(clock.monotonic() * 1000)
      for (;;) {
        const before = Atomics.load(full, slot)
        const next = Math.max(Number(before), now) + interval
        const over = next - now - tolerance
        if (over > 0) return { allowed: false, retryAfterSeconds: Math.max(1, Math.ceil(over / 1e6)) }
        // Loses only against another thread that took a token: at most `burst` times.
        if (Atomics.compareExchange(full, slot, before, BigInt(next)) === before) return allowed
      }
    },
  }
}

function createSlotFinder(
  key: Uint8Array,
  slots: number,
  toKey: (address: string) => string,
): (address: string) => number {
  const remembered = new BoundedMap<string, number>(rememberedSlots)
  return (address) => {
    const known = remembered.get(address)
    if (known !== undefined) return known
    const digest = createHmac('sha256', key).update(toKey(address)).digest()
    const slot = Number(digest.readBigUInt64BE(0) % BigInt(slots))
    remembered.set(address, slot)
    return slot
  }
}

/** An IPv4 address, or the /64 of an IPv6 address: a client usually controls all addresses of its /64. */
export function bucketKey(address: string): string {
  const normal = normalAddress(address)
  if (normal === undefined || isIPv4(normal)) return normal ?? 'unknown'
  const [head = '', tail = ''] = normal.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === '' ? [] : tail.split(':')
  const zeros = normal.includes('::') ? 8 - left.length - right.length : 0
  const groups = [...left, ...Array<string>(zeros).fill('0'), ...right]
  return `${groups.slice(0, 4).join(':')}::/64`
}
