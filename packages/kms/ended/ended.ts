import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'
import { failure } from '@warder/foundation/errors'
import type { Clock } from '@warder/foundation/runtime'
import { type EndedSet, endedKeys, endedMemory, endedSet, type Key, userWords } from './ended-set.ts'

/** Settings of the feed of ends. */
export interface EndedConfig {
  readonly auth_feed_when_lost: 'refuse' | 'accept'
  readonly auth_feed_max_age_secs: number
  readonly auth_feed_max_entries: number
}

/** Everything that has ended at the authentication service so far; read by all workers, written by one follower. */
export interface Ended {
  /** @throws failure('overloaded') when the feed is lost, or not read yet, and the settings say to refuse */
  requireCurrent(): void
  /** Whether what the feed says is young enough to be relied on. */
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

/** The same for the one who writes it. */
export interface EndedWriter {
  readonly set: EndedSet
  readonly keys: ReturnType<typeof endedKeys>
  /** Everything up to `seq` is in the set. */
  moveTo(seq: number): void
  /** The set was complete at this time (monotonic ms). */
  completeAt(time: number): void
}

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

const key = 'warder.kms.ended'

/** In the primary, before any worker: all workers read what it writes. @returns the memory */
export function shareEnded(config: EndedConfig): SharedArrayBuffer {
  const memory = endedMemory(config.auth_feed_max_entries)
  setEnvironmentData(key, memory)
  return memory
}

/** No feed is followed in this process. */
export function shareNothing(): void {
  setEnvironmentData(key, undefined)
}

/** Memory that the primary of this process shares; undefined = no feed is followed. */
export function sharedEnded(): SharedArrayBuffer | undefined {
  const memory = getEnvironmentData(key)
  return memory instanceof SharedArrayBuffer ? memory : undefined
}

export function endedWriter(memory: SharedArrayBuffer, config: EndedConfig): EndedWriter {
  const words = new Uint32Array(memory)
  return {
    set: endedSet(memory, config.auth_feed_max_entries),
    keys: endedKeys(memory),
    moveTo: (seq) => void Atomics.store(words, position, seq),
    completeAt: (time) => void Atomics.store(words, completeSeconds, Math.max(1, Math.floor(time / 1000))),
  }
}

export function readEnded(memory: SharedArrayBuffer, config: EndedConfig, clock: Clock): Ended {
  const words = new Uint32Array(memory)
  const set = endedSet(memory, config.auth_feed_max_entries)
  const keys = endedKeys(memory)
  const maxAge = config.auth_feed_max_age_secs
  const find = (found: Key): number => set.find(found) ?? 0
  const isCurrent = (): boolean => {
    const complete = Atomics.load(words, completeSeconds)
    return complete !== 0 && clock.monotonic() / 1000 - complete <= maxAge
  }
  return {
    isCurrent,
    requireCurrent() {
      if (config.auth_feed_when_lost === 'accept' || isCurrent()) return
      throw failure('overloaded', 'What has ended at the authentication service is not known now.', {
        detail: 'the feed of ends is lost (auth_feed_when_lost = refuse)',
        retryAfterSeconds: 1,
      })
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
