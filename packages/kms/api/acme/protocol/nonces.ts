import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '@warder/foundation/runtime'
import { type Database, UniqueViolation } from '@warder/foundation/sql'
import { useNonce } from './nonce-store.ts'
import { acmeProblem } from './problem.ts'

/** How long a nonce is good for. */
const lifetimeMs = 3_600_000
const timeBytes = 6
const randomPart = 12
const macBytes = 14

/**
 * Nonces (RFC 8555 §6.5). A nonce tells when it ends and carries a MAC, so that issuing one writes nothing: who asks for
 * nonces without end fills no table. That it was used is a row, which is unique on every node, until it ends.
 */
export interface Nonces {
  /** Base64url. */
  issue(): string
  /** @throws badNonce when it is not one of these, or has ended; it is not used by this */
  check(nonce: string): void
  /** Uses it up. Called for requests whose signature holds. @throws badNonce when it was used before, on any node */
  use(nonce: string): Promise<void>
}

/** @param key 32 bytes that all nodes share */
export function createNonces(db: Database, clock: Clock, key: Uint8Array): Nonces {
  const computeMac = (bytes: Uint8Array): Buffer =>
    createHmac('sha256', key).update(bytes).digest().subarray(0, macBytes)
  /** Until when it is good; undefined: it is none of these. */
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
      throw acmeProblem('badNonce', 'The nonce is not one of this server, or is too old.')
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
