import { accountOptions } from './account.ts'
import { placeOptions } from './places.ts'

export const outputOptions = {
  json: { type: 'flag', help: 'prints one JSON document instead of lines for people' },
  yes: { type: 'flag', help: 'does not ask before something is destroyed' },
} as const

/** Options of every verb of `warder keys`, `crypto` and `access`. */
export const commonOptions = { ...accountOptions, ...placeOptions, ...outputOptions } as const
