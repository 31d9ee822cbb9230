import { setTimeout as sleep } from 'node:timers/promises'
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'
import { type Clock, failure } from '@warder/base'
import {
  createEndedKeys,
  createEndedMemory,
  type EndedSet,
  type Key,
  openEndedSet,
  userWords,
} from './ended-set.ts'

/** Settings of the revocation feed. */
export interface EndedConfig {
  readonly auth_feed_when_lost: 'refuse' | 'accept'
  readonly auth_feed_max_age_secs: number
  readonly auth_feed_max_entries: number
}

/** Everything that has ended at the authentication service so far; read by all workers, written by one follower. */
export interface Ended {
  /**
   * Waits for the feed if this process was suspended, because it may have missed revocations meanwhile.
   * @throws failure('overloaded') if the feed is lost or not read yet, and the settings refuse requests in this case
   */
  requireCurrent(): Promise<void>
  /** Whether the state of the feed is recent enough to be relied on. */
  isCurrent(): boolean
  readonly generation: number
  /** Number of the last entry of the feed that is known here. */
  position(): number
  hasSession(id: string): boolean
  hasPerson(subjectId: string): boolean
  /** Unix seconds at which a user of this name ended last; 0 = never. */
  nameEndedAt(name: string): number
  /** Number of the entry that last ended the logins of a user; 0 = there is none. */
  loginsEndedBy(realm: string, username: string): number
  /** Number of the entry that last ended tokens of a machine; 0 = there is none. */
  machineEndedBy(entity: string): number
}

/** The same for the thread that writes it. */
export interface EndedWriter {
  readonly set: EndedSet
  readonly keys: ReturnType<typeof createEndedKeys>
  /** Everything up to `seq` is in the set. */
  moveTo(seq: number): void
  /** The set was complete at this time (monotonic ms). */
  completeAt(time: number): void
  /** The follower is at work, and has missed no time since it last asked. */
  beat(): void
}

/** The authentication service waits a second for acknowledgement, so a shorter gap cannot miss a revocation. */
export const maxGapMs = 700
/** Max time that a request waits until the feed is read again. */
const maxWaitMs = 2000
const waitStepMs = 5

export const keyKinds = {
  person: 'person',
  name: 'name',
  logins: 'logins',
  realm: 'realm',
  machine: 'machine',
} as const

/** Of the words of the header that are the user's. */
const position = userWords.from
const completeSeconds = userWords.from + 1
/** Low 32 bits of the milliseconds of the last beat, by the monotonic and by the wall clock, which counts a suspension, too. */
const lastBeatMonotonic = userWords.from + 2
const lastBeatWallClock = userWords.from + 3

const key = 'warder.kms.ended'

/** Called in the primary before any worker starts: all workers read its data. @returns the memory */
export function shareEnded(config: EndedConfig): SharedArrayBuffer {
  const memory = createEndedMemory(config.auth_feed_max_entries)
  setEnvironmentData(key, memory)
  return memory
}

/** No feed is followed in this process. */
export function shareNothing(): void {
  setEnvironmentData(key, undefined)
}

/** Memory that the primary of this process shares; undefined = no feed is followed. */
export function readSharedMemory(): SharedArrayBuffer | undefined {
  const memory = getEnvironmentData(key)
  return memory instanceof SharedArrayBuffer ? memory : undefined
}

export function createEndedWriter(memory: SharedArrayBuffer, config: EndedConfig, clock: Clock): EndedWriter {
  const words = new Uint32Array(memory)
  return {
    set: openEndedSet(memory, config.auth_feed_max_entries),
    keys: createEndedKeys(memory),
    moveTo: (seq) => void Atomics.store(words, position, seq),
    completeAt: (time) => void Atomics.store(words, completeSeconds, Math.max(1, Math.floor(time / 1000))),
    beat() {
      Atomics.store(words, lastBeatWallClock, lowBits(clock.now()))
      Atomics.store(words, lastBeatMonotonic, lowBits(clock.monotonic()))
    },
  }
}

export function readEnded(memory: SharedArrayBuffer, config: EndedConfig, clock: Clock): Ended {
  const words = new Uint32Array(memory)
  const set = openEndedSet(memory, config.auth_feed_max_entries)
  const keys = createEndedKeys(memory)
  const maxAge = config.auth_feed_max_age_secs
  const find = (found: Key): number => set.find(found) ?? 0
  /** A clock that was set back is no lost time. */
  const gapSince = (word: number, now: number): number => (lowBits(now) - Atomics.load(words, word)) | 0
  const isFollowed = (): boolean =>
    gapSince(lastBeatMonotonic, clock.monotonic()) <= maxGapMs &&
    gapSince(lastBeatWallClock, clock.now()) <= maxGapMs
  const isCurrent = (): boolean => {
    const complete = Atomics.load(words, completeSeconds)
    return complete !== 0 && clock.monotonic() / 1000 - complete <= maxAge && isFollowed()
  }
  const refuse = (): void => {
    if (config.auth_feed_when_lost === 'accept') return
    throw failure('overloaded', 'Revocations of the authentication service are not known at present.', {
      detail: 'the revocation feed is not available (auth_feed_when_lost = refuse)',
      retryAfterSeconds: 1,
    })
  }
  const waitUntilFollowed = async (): Promise<void> => {
    const until = performance.now() + maxWaitMs
    while (!isFollowed()) {
      if (performance.now() > until) return refuse()
      await sleep(waitStepMs)
    }
    if (!isCurrent()) refuse()
  }
  return {
    isCurrent,
    async requireCurrent() {
      if (isCurrent()) return
      if (isFollowed()) refuse()
      else await waitUntilFollowed()
    },
    get generation() {
      return set.generation
    },
    position: () => Atomics.load(words, position),
    hasSession: (id) => set.find(keys.session(id)) !== undefined,
    hasPerson: (id) => set.find(keys.other(keyKinds.person, id)) !== undefined,
    nameEndedAt: (name) => find(keys.other(keyKinds.name, name)),
    loginsEndedBy: (realm, username) =>
      Math.max(
        find(keys.other(keyKinds.logins, `${realm}/${username}`)),
        find(keys.other(keyKinds.realm, realm)),
      ),
    machineEndedBy: (entity) => find(keys.other(keyKinds.machine, entity)),
  }
}

function lowBits(time: number): number {
  return Math.floor(time) % 2 ** 32
}
