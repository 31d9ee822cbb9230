import { failure } from '@warder/base'
import Type, { type Static } from 'typebox'

/** Ten years, in practice unlimited. */
const maxSeconds = 10 * 366 * 86_400

/** A duration as Vault clients send it: whole seconds, or text. The meaning of 0 depends on the member. */
export const Duration = Type.Union([
  Type.Integer({ minimum: 0, maximum: maxSeconds }),
  Type.String({ maxLength: 32, description: 'Such as 3600, 30s, 90m, 1h30m or 2d.' }),
])

const parts = /^(?:\d{1,10}[dhms])+$/
const unitSeconds: Readonly<Record<string, number>> = { d: 86_400, h: 3600, m: 60, s: 1 }

/** Whole seconds. @throws failure('bad_request') that names the member */
export function readDuration(member: string, value: Static<typeof Duration>): number {
  if (typeof value === 'number') return value
  let seconds = Number.NaN
  if (/^\d{1,10}$/.test(value)) seconds = Number(value)
  else if (parts.test(value)) {
    seconds = 0
    for (const [, amount, unit] of value.matchAll(/(\d+)([dhms])/g))
      seconds += Number(amount) * (unitSeconds[unit ?? ''] ?? Number.NaN)
  }
  if (seconds <= maxSeconds) return seconds
  throw failure(
    'bad_request',
    `${member}: must be whole seconds up to ${maxSeconds}, or text such as 30s, 90m, 1h30m or 2d.`,
  )
}

const maxNameLength = 256
const maxNames = 1000

/** Names as an array, or as one comma-separated text. */
export const NameList = Type.Union([
  Type.Array(Type.String({ minLength: 1, maxLength: maxNameLength }), { maxItems: maxNames }),
  Type.String({ maxLength: 64 * 1024, description: 'Comma-separated names.' }),
])

/** @throws failure('bad_request') for more names than an array may hold, or longer ones */
export function readNameList(
  member: string,
  value: Static<typeof NameList> | readonly string[],
): readonly string[] {
  const names =
    typeof value !== 'string'
      ? value
      : value
          .split(',')
          .map((name) => name.trim())
          .filter((name) => name !== '')
  if (names.length <= maxNames && names.every(({ length }) => length <= maxNameLength)) return names
  throw failure(
    'bad_request',
    `${member}: must have at most ${maxNames} names of ${maxNameLength} characters.`,
  )
}

/** A count as Vault clients send it: a number, or digits. */
export const Count = Type.Union([
  Type.Integer({ minimum: 0, maximum: 1_000_000_000 }),
  Type.String({ pattern: '^[0-9]{1,9}$' }),
])

export const readCount = (value: Static<typeof Count>): number => Number(value)

/** A flag as Vault clients send it. */
export const Flag = Type.Union([Type.Boolean(), Type.Literal('true'), Type.Literal('false')])

export const readFlag = (value: Static<typeof Flag>): boolean => value === true || value === 'true'
