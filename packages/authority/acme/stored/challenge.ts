import type { Problem } from '../protocol/problem.ts'

/** RFC 8555 §8.3 and §8.4, RFC 8737. */
export const challengeTypes = ['http-01', 'dns-01', 'tls-alpn-01'] as const
export type ChallengeType = (typeof challengeTypes)[number]

/** Identifier in a certificate: a DNS name, or an address (RFC 8738). */
export interface Identifier {
  readonly type: 'dns' | 'ip'
  readonly value: string
}

/** One method to prove control of an identifier. */
export interface Challenge {
  readonly type: ChallengeType
  readonly token: string
  readonly status: 'pending' | 'valid' | 'invalid'
  /** Unix milliseconds. */
  readonly validatedAt?: number
  readonly error?: Problem
}
