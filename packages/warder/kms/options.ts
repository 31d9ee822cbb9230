import { accountOptions } from './account.ts'
import { endpointOptions } from './service-endpoints.ts'

export const outputOptions = {
  json: { type: 'flag', help: 'prints one JSON document instead of text' },
  yes: { type: 'flag', help: 'does not ask for confirmation' },
} as const

/** Options of every verb of `warder keys`, `crypto` and `access`. */
export const commonOptions = { ...accountOptions, ...endpointOptions, ...outputOptions } as const
