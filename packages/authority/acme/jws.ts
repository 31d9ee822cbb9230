import { createPublicKey, type KeyObject } from 'node:crypto'
import { Failure, parseStrictObject, privateJwkMembers } from '@warder/base'
import { decodeBase64Url } from '@warder/crypto'
import { getKeyAlgorithms, jwsAlgorithmsOnce, thumbprint, verifySignature } from '@warder/server'
import { acmeProblem } from './problem.ts'

type Members = Readonly<Record<string, unknown>>

/** A JWS in flattened serialization, read and not verified. */
export interface Jws {
  readonly header: Members
  readonly payload: Buffer
  /** The signed bytes. */
  readonly input: Buffer
  readonly signature: Buffer
}

/** A public key that signs requests. */
export interface SigningKey {
  readonly jwk: Members
  readonly key: KeyObject
  /** RFC 7638, base64url. */
  readonly thumbprint: string
}

const maxMemberLength = 65_536
const malformedError = (sentence: string): Failure => acmeProblem('malformed', sentence)

/** Reads a body, which is JSON (RFC 8555 §6.2). @throws malformed */
export function readJwsBody(bytes: Uint8Array): Jws {
  const body = parseStrictObject(bytes)
  if (body === undefined) throw malformedError('The body is not a JSON object without repeated members.')
  return readJws(body)
}

/**
 * Flattened serialization with a protected header alone (RFC 8555 §6.2).
 * @throws malformed
 */
export function readJws(body: unknown): Jws {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw malformedError('The value is not a JWS.')
  const members = body as Members
  for (const name of Object.keys(members))
    if (!known.has(name)) throw malformedError(`A JWS must not have a member '${name.slice(0, 32)}'.`)
  const [protectedText, payload, signature] = ['protected', 'payload', 'signature'].map((name) =>
    readText(members, name),
  ) as [string, string, string]
  const header = parseStrictObject(decodeMember(protectedText, 'protected'))
  if (header === undefined) throw malformedError("'protected' is not a JSON object without repeated members.")
  // Critical header extensions are not supported (RFC 7515 §4.1.11, RFC 7797).
  for (const name of ['crit', 'b64'])
    if (Object.hasOwn(header, name)) throw malformedError(`The header member '${name}' is not supported.`)
  return {
    header,
    payload: decodeMember(payload, 'payload'),
    input: Buffer.from(`${protectedText}.${payload}`),
    signature: decodeMember(signature, 'signature'),
  }
}

const known: ReadonlySet<string> = new Set(['protected', 'payload', 'signature'])

function readText(members: Members, name: string): string {
  const value = Object.hasOwn(members, name) ? members[name] : undefined
  if (typeof value !== 'string' || value.length > maxMemberLength)
    throw malformedError(`A JWS must have a string '${name}'.`)
  return value
}

function decodeMember(text: string, name: string): Buffer {
  try {
    return decodeBase64Url(text, name)
  } catch (error) {
    throw error instanceof Failure ? malformedError(error.message) : error
  }
}

/** The text of a header member; undefined when it is absent. @throws malformed for anything else */
export function headerText({ header }: Jws, name: string): string | undefined {
  const value = Object.hasOwn(header, name) ? header[name] : undefined
  if (value === undefined) return undefined
  if (typeof value !== 'string') throw malformedError(`The header member '${name}' must be a string.`)
  return value
}

/**
 * Reads a JWK as a public key of a signature algorithm and of sufficient strength.
 * @throws malformed, badPublicKey
 */
export function readSigningKey(jwk: unknown): SigningKey {
  if (typeof jwk !== 'object' || jwk === null || Array.isArray(jwk))
    throw malformedError("'jwk' is not a key.")
  const members = jwk as Members
  if (privateJwkMembers.some((name) => Object.hasOwn(members, name)))
    throw acmeProblem('badPublicKey', "'jwk' is not a public key.")
  let key: KeyObject
  try {
    key = createPublicKey({ key: members as never, format: 'jwk' })
  } catch {
    throw acmeProblem('badPublicKey', "'jwk' cannot be read as a public key.")
  }
  if (getKeyAlgorithms(key).length === 0)
    throw acmeProblem(
      'badPublicKey',
      'Keys must be RSA of 2048 to 8192 bits, P-256, P-384, P-521 or Ed25519.',
    )
  // The key as OpenSSL exports it, so that different spellings of one key have the same thumbprint.
  const canonical = key.export({ format: 'jwk' }) as Members
  return { jwk: canonical, key, thumbprint: thumbprint(canonical) }
}

/**
 * MACs and `none` are not among the algorithms (RFC 8555 §6.2).
 * @throws badSignatureAlgorithm, unauthorized
 */
export function requireSignature(jws: Jws, key: KeyObject): void {
  const algorithm = headerText(jws, 'alg')
  if (algorithm === undefined || !jwsAlgorithmsOnce.includes(algorithm))
    throw acmeProblem('badSignatureAlgorithm', `'alg' must be one of ${jwsAlgorithmsOnce.join(', ')}.`, {
      members: { algorithms: jwsAlgorithmsOnce },
    })
  if (!getKeyAlgorithms(key).includes(algorithm))
    throw acmeProblem('badSignatureAlgorithm', `The key cannot sign with ${algorithm}.`, {
      members: { algorithms: getKeyAlgorithms(key) },
    })
  if (!verifySignature(algorithm, { key, algorithms: getKeyAlgorithms(key) }, jws.input, jws.signature))
    throw acmeProblem('unauthorized', 'The signature of the request is wrong.')
}
