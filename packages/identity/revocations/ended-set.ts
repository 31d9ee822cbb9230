import { hash, randomBytes } from 'node:crypto'

/**
 * A lock-free set of revocations in memory that all threads of a process share: one thread writes, all threads read.
 * Each entry has a key of 64 bits, the time until which it matters, and a number. Open addressing with linear probing;
 * deletion shifts the following entries back. Readers see only consistent states of the table: the writer makes the
 * version odd while it moves entries, and a reader that overlaps with it reads again.
 */
export interface EndedSet {
  /** For an existing key it keeps the later `until` and the larger `value`. @throws RangeError when the set is full */
  put(key: Key, until: number, value: number): void
  /** The number of a key; undefined = it is not there. */
  find(key: Key): number | undefined
  /** Removes expired entries in a part of the table; repeated calls cover the whole table. */
  sweep(now: number): void
  readonly size: number
  /** Grows with each entry: the result of a look-up remains valid until the generation changes. */
  readonly generation: number
}

/** 64 bits. */
export interface Key {
  readonly high: number
  readonly low: number
}

const headerWords = 16
const slotWords = 4
/** Words of the header. */
const version = 0
const count = 1
const generation = 2
const seed = 4
const seedWords = 4
/** Words of the header that belong to the user of the set. */
export const userWords = { from: 8, words: 8 } as const

/** The latest time that fits into a word: in the year 2106. */
const forever = 2 ** 32 - 1

const slotsAtOnce = 65_536

/** Reserved memory for this many entries; unused memory costs only address space. */
export function createEndedMemory(maxEntries: number): SharedArrayBuffer {
  const slots = 2 ** Math.ceil(Math.log2(Math.max(1024, maxEntries * 1.5)))
  const memory = new SharedArrayBuffer((headerWords + slots * slotWords) * 4)
  // The seed is secret and random, so that no client can choose names that collide with the key of another.
  new Uint8Array(memory, seed * 4, seedWords * 4).set(randomBytes(seedWords * 4))
  return memory
}

export function openEndedSet(memory: SharedArrayBuffer, maxEntries: number): EndedSet {
  const words = new Uint32Array(memory)
  const slots = (words.length - headerWords) / slotWords
  const mask = slots - 1
  const at = (slot: number): number => toPlace(slot, mask)
  const home = ({ low }: Key): number => low & mask
  let swept = 0

  /** Slot of the key, or the free slot for it. */
  function locate(key: Key): number {
    for (let slot = home(key); ; slot++) {
      const place = at(slot)
      if (words[place + 2] === 0) return place
      if (words[place] === key.high && words[place + 1] === key.low) return place
    }
  }

  function change(work: () => void): void {
    Atomics.add(words, version, 1)
    work()
    Atomics.add(words, version, 1)
  }

  return {
    put(key, until, value) {
      const place = locate(key)
      const isNew = words[place + 2] === 0
      if (isNew && (words[count] ?? 0) >= maxEntries) throw new RangeError('the revocation table is full')
      change(() => {
        words[place] = key.high
        words[place + 1] = key.low
        words[place + 2] = Math.max(words[place + 2] ?? 0, Math.min(until, forever))
        words[place + 3] = Math.max(words[place + 3] ?? 0, value)
        if (isNew) words[count] = (words[count] ?? 0) + 1
      })
      Atomics.add(words, generation, 1)
    },
    find(key) {
      for (;;) {
        const before = Atomics.load(words, version)
        if ((before & 1) === 1) continue
        const place = locate(key)
        const found = words[place + 2] === 0 ? undefined : words[place + 3]
        if (Atomics.load(words, version) === before) return found
      }
    },
    sweep(now) {
      const end = Math.min(swept + slotsAtOnce, slots)
      for (let slot = swept; slot < end; ) {
        const until = words[at(slot) + 2] ?? 0
        // An entry that moves into its place is checked, too.
        if (until !== 0 && until <= now) change(() => remove(words, mask, at(slot)))
        else slot++
      }
      swept = end === slots ? 0 : end
    },
    get size() {
      return words[count] ?? 0
    },
    get generation() {
      return Atomics.load(words, generation)
    },
  }
}

/** Index of the first word of a slot. */
function toPlace(slot: number, mask: number): number {
  return headerWords + (slot & mask) * slotWords
}

/** Moves the following entries back. @param mask the number of slots less one */
function remove(words: Uint32Array, mask: number, place: number): void {
  let hole = place
  let slot = (place - headerWords) / slotWords
  for (;;) {
    slot = (slot + 1) & mask
    const next = toPlace(slot, mask)
    if (words[next + 2] === 0) break
    const from = (words[next + 1] ?? 0) & mask
    const holeSlot = (hole - headerWords) / slotWords
    // It may move back only as far as its home.
    if (((slot - from) & mask) < ((slot - holeSlot) & mask)) continue
    words.copyWithin(hole, next, next + slotWords)
    hole = next
  }
  words.fill(0, hole, hole + slotWords)
  words[count] = (words[count] ?? 0) - 1
}

/** Keys of a set. Ids of sessions are random themselves; everything else is hashed with the seed of the set. */
export function createEndedKeys(memory: SharedArrayBuffer): {
  session(id: string): Key
  other(kind: string, name: string): Key
} {
  const secret = Buffer.from(new Uint8Array(memory, seed * 4, seedWords * 4).slice()).toString('latin1')
  const other = (kind: string, name: string): Key => {
    const digest = hash('sha256', `${secret}${kind}:${name}`, 'buffer')
    return { high: digest.readUInt32BE(0), low: digest.readUInt32BE(4) }
  }
  return { session: (id) => randomKey(id) ?? other('session', id), other }
}

const dash = 0x2d
const four = 0x34

/** The last 64 bits of a UUID of version 4 in lower case, of which 62 are random; undefined for anything else. */
function randomKey(id: string): Key | undefined {
  if (id.length !== 36 || id.charCodeAt(14) !== four || id.charCodeAt(23) !== dash) return undefined
  let high = 0
  let low = 0
  for (let index = 19; index < 28; index++) {
    if (index === 23) continue
    const digit = hexDigit(id.charCodeAt(index))
    if (digit < 0) return undefined
    high = (high << 4) | digit
  }
  for (let index = 28; index < 36; index++) {
    const digit = hexDigit(id.charCodeAt(index))
    if (digit < 0) return undefined
    low = (low << 4) | digit
  }
  return { high: high >>> 0, low: low >>> 0 }
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  return code >= 0x61 && code <= 0x66 ? code - 0x57 : -1
}
