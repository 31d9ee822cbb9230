import type { KeyObject } from 'node:crypto'
import type { Clock } from '@warder/base'
import { parseStrictObject } from '@warder/base'
import {
  createSignature,
  type ExpectedToken,
  type KeySet,
  type VerificationKey,
  type VerifiedToken,
  verifySignature,
} from './algorithms.ts'

/** A rejected token. The reason goes to the log; the caller receives only 401. */
export class JwtRejected extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options)
    this.name = 'JwtRejected'
  }
}

/** Characters of a compact token at most. */
const maxTokenLength = 16 * 1024

/** A compact JWS (RFC 7515 §3.1) taken apart. Nothing of it was verified. */
interface CompactJws {
  /** First segment, unchanged. */
  readonly header: string
  /** Second segment, unchanged. */
  readonly payload: string
  readonly signingInput: Uint8Array
  readonly signature: Uint8Array
}

/** @throws JwtRejected unless it has three segments of base64url within the limit */
export function readCompact(compact: string): CompactJws {
  if (compact.length > maxTokenLength) throw new JwtRejected('longer than 16 KiB')
  const parts = compact.split('.')
  const [header, payload, tail] = parts
  if (parts.length !== 3 || header === undefined || payload === undefined || tail === undefined) {
    throw new JwtRejected('not three parts')
  }
  return {
    header,
    payload,
    signingInput: Buffer.from(compact.slice(0, header.length + 1 + payload.length), 'latin1'),
    signature: decodeBase64Url(tail),
  }
}

/** Last characters whose unused bits are zero, by the number of characters in the last group of four. */
const lastOfGroup: Readonly<Record<number, string>> = { 2: 'AQgw', 3: 'AEIMQUYcgkosw048' }

/**
 * Base64url without padding whose unused bits are zero (RFC 4648 §3.5), so that a token has one spelling.
 * @throws JwtRejected
 */
export function decodeBase64Url(text: string): Buffer {
  const rest = text.length % 4
  const last = lastOfGroup[rest]?.includes(text.charAt(text.length - 1)) ?? rest === 0
  if (!last || !/^[A-Za-z0-9_-]*$/.test(text)) throw new JwtRejected('bad base64url')
  return Buffer.from(text, 'base64url')
}

/** A segment of a compact token with JSON. */
export function encodeJsonSegment(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** Signs claims with a prepared header segment. The key must allow the algorithm. */
export function signCompact(
  algorithm: string,
  header: string,
  claims: Readonly<Record<string, unknown>>,
  key: KeyObject,
): string {
  const input = `${header}.${encodeJsonSegment(claims)}`
  return `${input}.${createSignature(algorithm, key, Buffer.from(input)).toString('base64url')}`
}

const maxKidLength = 512
const maxTime = 253_402_300_800 // the year 10000, in seconds: anything later is not a date

/** A token that has not been verified. */
export class PeekedToken {
  readonly #decoded: Decoded
  readonly kid: string | undefined
  readonly issuer: string | undefined
  readonly subject: string | undefined

  constructor(decoded: Decoded) {
    const { header, claims } = decoded
    const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
    this.#decoded = decoded
    this.kid = text(header.kid)
    this.issuer = text(claims.iss)
    this.subject = text(claims.sub)
  }

  /** For `verifyToken`, which then need not parse the token again. */
  static getDecoded(token: PeekedToken): Decoded {
    return token.#decoded
  }
}

/**
 * The `kid` and claims of a token that has not been verified: only to choose an issuer. @throws JwtRejected
 */
export function peekToken(compact: string): PeekedToken {
  return new PeekedToken(decode(compact))
}

/**
 * Verifies a compact JWT (RFC 7519, RFC 8725): signature by a key of the set with an algorithm that the key
 * allows, `exp` required, `nbf` and `iat` not in the future, issuer and audience as expected. Keys or URLs in
 * the header (`jwk`, `jku`, `x5u`, `x5c`) are never used.
 * @throws JwtRejected
 */
export async function verifyToken(
  token: string | PeekedToken,
  keys: KeySet,
  expected: ExpectedToken,
  clock: Clock,
): Promise<VerifiedToken> {
  const decoded = typeof token === 'string' ? decode(token) : PeekedToken.getDecoded(token)
  const { header, claims, signingInput, signature } = decoded
  const algorithm = header.alg
  if (typeof algorithm !== 'string') throw new JwtRejected('no alg')
  if (expected.algorithms !== undefined && !expected.algorithms.includes(algorithm)) {
    throw new JwtRejected('alg is not allowed')
  }
  const kid = header.kid
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > maxKidLength))
    throw new JwtRejected('kid is malformed')
  const fits = (candidate: VerificationKey): boolean =>
    verifySignature(algorithm, candidate, signingInput, signature)
  const candidates = await keys.find(kid)
  const verified =
    candidates.some(fits) || (kid === undefined && (await keys.renewed?.())?.some(fits) === true)
  if (!verified) throw new JwtRejected(candidates.length === 0 ? 'no matching key' : 'the signature is wrong')
  checkClaims(claims, expected, clock)
  return { header, claims }
}

/** Signs claims as a compact JWT. The header's `alg` must be one that the key allows. */
export function signToken(
  header: Readonly<Record<string, unknown>> & { readonly alg: string },
  claims: Readonly<Record<string, unknown>>,
  key: KeyObject,
): string {
  return signCompact(header.alg, encodeJsonSegment(header), claims, key)
}

interface Decoded {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
  readonly signingInput: Uint8Array
  readonly signature: Uint8Array
}

function decode(compact: string): Decoded {
  const { header: head, payload, signingInput, signature } = readCompact(compact)
  const header = parseStrictObject(decodeBase64Url(head))
  if (header === undefined) throw new JwtRejected('the header is not a JSON object without repeated members')
  for (const refused of ['crit', 'b64', 'zip', 'enc']) {
    if (Object.hasOwn(header, refused)) throw new JwtRejected(`${refused} is not supported`)
  }
  const type = header.typ
  if (
    type !== undefined &&
    (typeof type !== 'string' || !/^(application\/)?(jwt|at\+jwt|jose)$/i.test(type))
  ) {
    throw new JwtRejected('typ is not JWT')
  }
  const claims = parseStrictObject(decodeBase64Url(payload))
  if (claims === undefined) throw new JwtRejected('the claims are not a JSON object without repeated members')
  return { header, claims, signingInput, signature }
}

function checkClaims(claims: Readonly<Record<string, unknown>>, expected: ExpectedToken, clock: Clock): void {
  const now = clock.now() / 1000
  const exp = timeClaim(claims, 'exp')
  if (exp === undefined) throw new JwtRejected('no exp')
  if (exp + expected.leewaySeconds <= now) throw new JwtRejected('expired')
  for (const name of ['nbf', 'iat'] as const) {
    const time = timeClaim(claims, name)
    if (time !== undefined && time - expected.leewaySeconds > now)
      throw new JwtRejected(`${name} is in the future`)
  }
  if (expected.issuer !== undefined && claims.iss !== expected.issuer) throw new JwtRejected('another issuer')
  for (const name of expected.requiredClaims) {
    const value = claims[name]
    if (value === undefined || value === null || value === '') throw new JwtRejected(`no ${name}`)
  }
  if (claims.sub !== undefined && typeof claims.sub !== 'string') throw new JwtRejected('sub is not a string')
  if (expected.audience !== undefined) {
    const given = claims.aud
    const audiences: readonly unknown[] = Array.isArray(given) ? given : [given]
    if (!audiences.some((one) => typeof one === 'string' && expected.audience?.includes(one) === true)) {
      throw new JwtRejected('another audience')
    }
  }
}

function timeClaim(claims: Readonly<Record<string, unknown>>, name: string): number | undefined {
  const value = claims[name]
  if (value === undefined) return undefined
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0 || value > maxTime) {
    throw new JwtRejected(`${name} is not a time`)
  }
  return value
}
