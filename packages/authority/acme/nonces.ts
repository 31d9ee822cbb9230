import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '@warder/base'
import { type Database, UniqueViolation } from '@warder/storage'
import { useNonce } from './nonce-store.ts'
import { acmeProblem } from './problem.ts'

/** Lifetime of a nonce. */
const lifetimeMs = 3_600_000
const timeBytes = 6
const randomPart = 12
const macBytes = 14

/**
 * Nonces (RFC 8555 §6.5). A nonce contains its expiry and a MAC, so issuing it writes nothing: a client that requests
 * nonces without end fills no table. A used nonce is a row, unique across all nodes, until it expires.
 */
export interface Nonces {
  /** Base64url. */
  issue(): string
  /** Does not consume the nonce. @throws badNonce for an unknown or expired nonce */
  check(nonce: string): void
  /**
   * Consumes the nonce. Called for requests whose signature is valid.
   * @throws badNonce when it was used before, on any node
   */
  use(nonce: string): Promise<void>
}

/** @param key 32 bytes that all nodes share */
export function createNonces(db: Database, clock: Clock, key: Uint8Array): Nonces {
  const computeMac = (bytes: Uint8Array): Buffer =>
    createHmac('sha256', key).update(bytes).digest().subarray(0, macBytes)
  /** The expiry of a nonce; undefined: this service did not issue it. */
  const readExpiry = (nonce: string): number | undefined => {
    const bytes = Buffer.from(nonce, 'base64url')
    if (bytes.length !== timeBytes + randomPart + macBytes || bytes.toString('base64url') !== nonce)
      return undefined
    const body = bytes.subarray(0, timeBytes + randomPart)
    if (!timingSafeEqual(computeMac(body), bytes.subarray(body.length))) return undefined
    return body.readUIntBE(0, timeBytes)
  }
  const requireGood = (nonce: string): number => {
    const end = readExpiry(nonce)
    if (end === undefined || end <= clock.now())
      throw acmeProblem('badNonce', 'The nonce was not issued by this server, or has expired.')
    return end
  }
  return {
    issue() {
      const body = Buffer.alloc(timeBytes + randomPart)
      body.writeUIntBE(clock.now() + lifetimeMs, 0, timeBytes)
      randomBytes(randomPart).copy(body, timeBytes)
      return Buffer.concat([body, computeMac(body)]).toString('base64url')
    },
    check: (nonce) => void requireGood(nonce),
    async use(nonce) {
      const end = requireGood(nonce)
      try {
        await db.commit([useNonce(nonce, end)])
      } catch (error) {
        if (error instanceof UniqueViolation) throw acmeProblem('badNonce', 'The nonce was used before.')
        throw error
      }
    },
  }
}
