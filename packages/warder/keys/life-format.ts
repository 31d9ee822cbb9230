import type { Reply } from '@warder/client'

/** Members of replies about the lifecycle of a key. */
interface Life {
  readonly state: string
  readonly disabled_at?: string
  readonly archived_at?: string
  readonly destruction_at?: string
  readonly deactivation_at?: string
  readonly protect_stop_at?: string
}

/** Formats the state, with the reasons why the key cannot be used. */
export function formatState({ state, disabled_at, archived_at, destruction_at }: Life): string {
  return [
    state,
    ...(disabled_at === undefined ? [] : ['disabled']),
    ...(archived_at === undefined ? [] : ['archived']),
    ...(destruction_at === undefined ? [] : [`destroyed on ${formatDate(destruction_at)}`]),
  ].join(', ')
}

/** Returns the date of a time in RFC 3339. */
export function formatDate(moment: string): string {
  return moment.slice(0, 10)
}

/** Rotation schedule of a key. */
export type Rotation = Reply<'crypto.keys.rotation.get'>

const maxMessages = 2 ** 32

/** `1048576 AES-GCM messages of 4294967296 (0 %)`; undefined: not counted. */
export function formatMessageCount({ messages }: Rotation): string | undefined {
  if (messages === undefined) return undefined
  return `${messages} AES-GCM messages of ${maxMessages} (${Math.floor((messages / maxMessages) * 100)} %)`
}

/** `every 90 days (policy), after 2147483648 messages, next 2026-01-01T…`; undefined: there is no schedule. */
export function formatRotation(rotation: Rotation): string | undefined {
  const { rotate_every: own, rotate_after_messages: ownMessages, policy, rotates_at: next } = rotation
  const formatSource = (mine: number | undefined) => (mine === undefined ? ' (policy)' : '')
  const every = own ?? policy?.rotate_every
  const messages = ownMessages ?? policy?.rotate_after_messages
  const parts = [
    every === undefined ? undefined : `every ${formatInterval(every)}${formatSource(own)}`,
    messages === undefined ? undefined : `after ${messages} messages${formatSource(ownMessages)}`,
    next === undefined ? undefined : `next ${next}`,
  ].filter((part) => part !== undefined)
  return parts.length === 0 ? undefined : parts.join(', ')
}

function formatInterval(seconds: number): string {
  if (seconds % 86_400 === 0) return `${seconds / 86_400} days`
  return seconds % 3600 === 0 ? `${seconds / 3600} hours` : `${seconds} seconds`
}
