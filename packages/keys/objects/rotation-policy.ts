import { createHash } from 'node:crypto'
import type { ManagedObject } from './managed-object.ts'

/** How often keys are rotated. undefined: not by this. */
export interface RotationSchedule {
  /** Seconds between two rotations. */
  readonly every: number | undefined
  /** AES-GCM messages of a version. */
  readonly afterMessages: number | undefined
}

/** A rule of the settings: for which keys, and how often. */
export interface RotationRule extends RotationSchedule {
  /** undefined: keys with any tags. */
  readonly tag: string | undefined
  /** `AES`, `RSA` …; undefined: any algorithm. */
  readonly algorithm: string | undefined
}

/** Rotation by the settings, for keys without a schedule of their own. */
export interface RotationPolicy {
  readonly rules: readonly RotationRule[]
  /** Of the rules that fit a key the shortest interval and the fewest messages. */
  of(algorithm: string | undefined, tags: readonly string[]): RotationSchedule
  /** Seconds; 0: no rule rotates by time. */
  readonly maxInterval: number
  /** The fewest messages after which a rule rotates; undefined: none does so by use. */
  readonly minMessages: number | undefined
  /** SHA-256 of all settings that determine when keys are checked. */
  readonly digest: string
  /** Notice before a rotation, milliseconds; 0 = none. */
  readonly noticeMs: number
}

export function createRotationPolicy(rules: readonly RotationRule[], noticeMs: number): RotationPolicy {
  return {
    rules,
    noticeMs,
    maxInterval: Math.max(0, ...rules.map(({ every }) => every ?? 0)),
    minMessages: least(rules.map(({ afterMessages }) => afterMessages)),
    digest: createHash('sha256')
      .update(JSON.stringify([rules, noticeMs]))
      .digest('base64url'),
    of(algorithm, tags) {
      const fit = rules.filter(
        (rule) =>
          (rule.algorithm === undefined || rule.algorithm === algorithm) &&
          (rule.tag === undefined || tags.includes(rule.tag)),
      )
      return {
        every: least(fit.map(({ every }) => every)),
        afterMessages: algorithm === 'AES' ? least(fit.map(({ afterMessages }) => afterMessages)) : undefined,
      }
    },
  }
}

function least(numbers: readonly (number | undefined)[]): number | undefined {
  const known = numbers.filter((number) => number !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

/** Schedule of a key: its own setting, else the policy; for time and use apart. */
export function resolveSchedule(
  { rotateEvery, rotateAfter }: Pick<ManagedObject, 'rotateEvery' | 'rotateAfter'>,
  policy: RotationSchedule,
): RotationSchedule {
  return { every: rotateEvery ?? policy.every, afterMessages: rotateAfter ?? policy.afterMessages }
}

/** Intervals, in seconds: an hour to ten years. */
export const minInterval = 3600
export const maxInterval = 315_360_000
/** Messages after which a policy may rotate: fewer are not found by an index. */
export const minMessages = 1_048_576
/** Leaves a reserve for messages until the next check: blocks of several workers and nodes. */
export const maxMessages = 4_000_000_000

const members = ['tag', 'algorithm', 'every', 'after_messages'] as const

/**
 * Reads one rule: a table of the settings as JSON, or `tag=payments, every=90d`.
 * @param algorithms names that keys can have
 * @returns the rule, or the error in it
 */
export function readRotationRule(text: string, algorithms: readonly string[]): RotationRule | string {
  const found = text.startsWith('{') ? parseTable(text) : parsePairs(text)
  if (typeof found === 'string') return found
  const unknown = [...found.keys()].find((name) => !(members as readonly string[]).includes(name))
  if (unknown !== undefined) return `${unknown}: is unknown; a rule may contain ${members.join(', ')}`
  const [tag, algorithm] = [found.get('tag'), found.get('algorithm')]
  if (tag === undefined && algorithm === undefined) return 'a rule needs tag or algorithm'
  if (tag === '' || tag?.startsWith('_')) return 'tag: must be a tag that users can set'
  if (algorithm !== undefined && !algorithms.includes(algorithm))
    return `algorithm: must be one of ${algorithms.join(', ')} (got ${algorithm})`
  const every = found.has('every') ? parseSeconds(found.get('every') ?? '') : undefined
  if (every === null) return 'every: must be hours or days from 1h to 3650d, such as 12h or 90d'
  const messages = found.has('after_messages') ? parseMessages(found.get('after_messages') ?? '') : undefined
  if (messages === null) return `after_messages: must be ${minMessages} to ${maxMessages}`
  if (every === undefined && messages === undefined) return 'a rule needs every or after_messages'
  if (messages !== undefined && algorithm !== undefined && algorithm !== 'AES')
    return 'after_messages: is only for AES keys'
  return { tag, algorithm, every, afterMessages: messages }
}

/** The members of a rule, or an error message. */
function parseTable(text: string): ReadonlyMap<string, string> | string {
  try {
    const entries = Object.entries(JSON.parse(text) as object)
    const wrong = entries.find(([, value]) => typeof value !== 'string' && typeof value !== 'number')
    return wrong === undefined
      ? new Map(entries.map(([name, value]) => [name, String(value)]))
      : `${wrong[0]}: must be a string or a number`
  } catch {
    return 'must be a table, or a string like tag=payments, every=90d'
  }
}

function parsePairs(text: string): ReadonlyMap<string, string> | string {
  const found = new Map<string, string>()
  for (const part of text.split(',')) {
    const [, name, value] = /^\s*([a-z_]+)\s*=\s*(.*?)\s*$/s.exec(part) ?? []
    if (name === undefined || value === undefined)
      return 'must be a table, or a string like tag=payments, every=90d'
    if (found.has(name)) return `${name}: twice`
    found.set(name, value)
  }
  return found
}

/** null: no such interval. */
function parseSeconds(text: string): number | null {
  const [, count, unit] = /^([1-9]\d{0,4})([hd])$/.exec(text) ?? []
  if (count === undefined) return null
  const seconds = Number(count) * (unit === 'h' ? 3600 : 86_400)
  return seconds <= maxInterval ? seconds : null
}

function parseMessages(text: string): number | null {
  const count = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : 0
  return count >= minMessages && count <= maxMessages ? count : null
}
