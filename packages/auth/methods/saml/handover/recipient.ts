import { randomBytes } from 'node:crypto'
import { failure } from '@warder/base'
import type { Recipient } from '../store/pending-store.ts'

/** Lifetime of a code in seconds, from the response of the identity provider. */
export const handoverSeconds = 60

export const statePattern = '^[A-Za-z0-9_-]{16,256}$'
/** Of 32 bytes in base64url. */
export const challengePattern = '^[A-Za-z0-9_-]{43}$'

/** @throws failure('bad_request') when one of the parameters is missing */
export function readRecipient(query: {
  readonly return_to?: string
  readonly state?: string
  readonly code_challenge?: string
}): Recipient | undefined {
  const { return_to, state, code_challenge: challenge } = query
  if (state === undefined && challenge === undefined) return undefined
  if (state === undefined || challenge === undefined || return_to === undefined)
    throw failure('bad_request', 'return_to, state and code_challenge must be given together.')
  return { challenge, state }
}

/** 256 random bits. */
export function newCode(): string {
  return randomBytes(32).toString('base64url')
}

/** URL that delivers the code to the recipient. @param url without a fragment */
export function urlWithCode(url: string, code: string, state: string): string {
  return `${url}${url.includes('?') ? '&' : '?'}code=${code}&state=${state}`
}
