import type { KeyObject } from 'node:crypto'
import type { Clock } from '@warder/base'
import { verifySignature } from './algorithms.ts'
import { decodeBase64Url, encodeJsonSegment, JwtRejected, readCompact, signCompact } from './compact.ts'
import { parseStrictObject } from './strict-json.ts'
import type { ExpectedToken, KeySet, VerificationKey, VerifiedToken } from './types.ts'

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

  /** For `verifyToken`, which then need not take the token apart again. */
  static getDecoded(token: PeekedToken): Decoded {
    return token.#decoded
  }
}

/** The `kid` and claims of a token that has not been verified: to choose an issuer, for nothing else. @throws JwtRejected */
export function peekToken(compact: string): PeekedToken {
  return new PeekedToken(decode(compact))
}

/**
 * Verifies a compact JWT (RFC 7519, RFC 8725): signature by a key of the set with an algorithm that the key allows,
 * `exp` required, `nbf` and `iat` not in the future, issuer and audience as expected. Keys or URLs that the header
 * brings along (`jwk`, `jku`, `x5u`, `x5c`) are never used.
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
