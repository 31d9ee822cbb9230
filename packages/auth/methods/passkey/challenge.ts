import { randomBytes } from 'node:crypto'
import type { IncomingRequest } from '@warder/server'
import { type Change, openText, type Seal, sealText } from '@warder/storage'
import { challengeUse } from './passkey-store.ts'
import { PasskeyRefused } from './verify.ts'

/** Seconds from the options of a ceremony to its result. */
export const challengeSeconds = 300

/** The ceremony for which a challenge was issued: a challenge is valid for this one only. */
export type Ceremony =
  | { readonly purpose: 'registration'; readonly realm: string; readonly session: string }
  | { readonly purpose: 'login'; readonly realm: string }
  | { readonly purpose: 'second factor'; readonly realm: string; readonly username: string }

/** Services that issue challenges. */
interface ChallengeServices {
  readonly seal: Seal
  /** Unix seconds. */
  now(): number
}

const cookieName = '_ea_passkey'
const attributes = 'HttpOnly; Secure; SameSite=Strict; Path=/'
/** `Set-Cookie` after a ceremony. */
export const removedChallengeCookie = `${cookieName}=; ${attributes}; Max-Age=0`

const sealContext = { table: 'passkey_challenge', row: 'cookie', column: 'value' } as const
/** WebAuthn Level 3 §13.4.3 requires at least 16. */
const challengeBytes = 32
const maxCookieLength = 4096

interface Issued {
  /** Canonical JSON of the ceremony. */
  readonly ceremony: string
  readonly challenge: string
  /** Unix seconds. */
  readonly expiresAt: number
}

/**
 * Issues a challenge. It is sealed in a cookie of the browser: no other browser can finish the ceremony, every node
 * can, and unfinished ceremonies take no space.
 * @returns the challenge in base64url, and `Set-Cookie`
 */
export function issueChallenge(
  { seal, now }: ChallengeServices,
  ceremony: Ceremony,
): { readonly challenge: string; readonly cookie: string } {
  const challenge = randomBytes(challengeBytes).toString('base64url')
  const issued: Issued = { ceremony: toText(ceremony), challenge, expiresAt: now() + challengeSeconds }
  const sealed = sealText(seal, sealContext, JSON.stringify(issued))
  const cookie = `${cookieName}=${sealed}; ${attributes}; Max-Age=${challengeSeconds}`
  return { challenge, cookie }
}

/**
 * Returns the challenge of the browser's ceremony, and the guard that consumes it.
 * @throws PasskeyRefused when the browser has none, or it has expired, or was issued for something else
 */
export async function readChallenge(
  { seal, now }: ChallengeServices,
  request: IncomingRequest,
  ceremony: Ceremony,
): Promise<{ readonly challenge: string; readonly use: Change }> {
  const [value, second] = request.cookies(cookieName)
  if (value === undefined || second !== undefined || value.length > maxCookieLength)
    throw new PasskeyRefused('challenge')
  const text = await openText(seal, sealContext, value)
  if (text === undefined) throw new PasskeyRefused('challenge')
  const issued = JSON.parse(text) as Issued
  if (issued.ceremony !== toText(ceremony) || issued.expiresAt <= now()) throw new PasskeyRefused('challenge')
  return { challenge: issued.challenge, use: challengeUse(issued.challenge, issued.expiresAt) }
}

function toText(ceremony: Ceremony): string {
  const { purpose, realm } = ceremony
  const bound = 'session' in ceremony ? ceremony.session : 'username' in ceremony ? ceremony.username : null
  return JSON.stringify([purpose, realm, bound])
}
