import { randomBytes } from 'node:crypto'
import { failure } from '@warder/foundation/errors'
import type { Recipient } from '../store/pending-store.ts'

/** Seconds from the response of the identity provider to the redemption. */
export const handoverSeconds = 60

export const statePattern = '^[A-Za-z0-9_-]{16,256}$'
/** Of 32 bytes in base64url. */
export const challengePattern = '^[A-Za-z0-9_-]{43}$'

/** @throws failure('bad_request') for one without the other, or without an address */
export function readRecipient(query: {
  readonly return_to?: string
  readonly state?: string
  readonly code_challenge?: string
}): Recipient | undefined {
  const { return_to, state, code_challenge: challenge } = query
  if (state === undefined && challenge === undefined) return undefined
  if (state === undefined || challenge === undefined || return_to === undefined)
    throw failure('bad_request', 'return_to, state and code_challenge belong together.')
  return { challenge, state }
}

/** 256 random bits. */
export function newCode(): string {
  return randomBytes(32).toString('base64url')
}

/** URL that takes the code to the recipient. @param url without a fragment */
export function urlWithCode(url: string, code: string, state: string): string {
  return `${url}${url.includes('?') ? '&' : '?'}code=${code}&state=${state}`
}
