import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import type { Started } from '@warder/kms/testing'
import type * as jose from 'jose'

export const text = 'attack at dawn'
export const data = Buffer.from(text).toString('base64url')
type Jwk = Readonly<Record<string, unknown>>

/** A message of the service; the client has the key. */
export interface Encrypted {
  /** `alg`, and the curve if there is one. */
  readonly name: string
  readonly alg: string
  readonly key: Jwk
  readonly jwe: jose.FlattenedJWE
}

export interface Signed {
  readonly alg: string
  readonly key: Jwk
  readonly jws: { readonly protected: string; readonly signature: string }
}

/** A key of the service to encrypt for. */
export interface Recipient {
  readonly name: string
  readonly alg: string
  readonly kid: string
  /** The public key, or the secret one of a wrap. */
  readonly key: Jwk
}

export interface Messages {
  readonly encrypted: readonly Encrypted[]
  readonly signed: readonly Signed[]
  readonly recipients: readonly Recipient[]
}

const toJwk = (key: KeyObject): Jwk => key.export({ format: 'jwk' }) as Jwk
const createSecret = (bits: number): Jwk => ({ kty: 'oct', k: randomBytes(bits / 8).toString('base64url') })
const curves = ['P-256', 'P-384', 'P-521', 'X25519'] as const
const agreements = ['ECDH-ES', 'ECDH-ES+A128KW', 'ECDH-ES+A192KW', 'ECDH-ES+A256KW'] as const

/** Private or secret keys, each for one key management. */
function createKeys(rsa: Jwk): readonly { readonly alg: string; readonly jwk: Jwk }[] {
  const pair = (crv: (typeof curves)[number]) =>
    crv === 'X25519' ? generateKeyPairSync('x25519') : generateKeyPairSync('ec', { namedCurve: crv })
  return [
    { alg: 'dir', jwk: createSecret(256) },
    { alg: 'RSA-OAEP', jwk: rsa },
    { alg: 'RSA-OAEP-256', jwk: rsa },
    ...[128, 192, 256].flatMap((bits) =>
      [`A${bits}KW`, `A${bits}GCMKW`].map((alg) => ({ alg, jwk: createSecret(bits) })),
    ),
    ...curves.flatMap((crv) => agreements.map((alg) => ({ alg, jwk: toJwk(pair(crv).privateKey) }))),
  ]
}

/** Messages of the service under keys that the client brought, and those keys for messages to the service. */
export async function createMessages(kms: Started): Promise<Messages> {
  const alice = kms.user('alice')
  const importKey = async (jwk: Jwk): Promise<string> => {
    const { status, json, text: told } = await alice.post('/v1/crypto/keys', jwk)
    if (status !== 200) throw new Error(told)
    return json.kid
  }
  const rsa = toJwk(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey)
  const ec = toJwk(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)
  const encrypted: Encrypted[] = []
  const recipients: Recipient[] = []
  for (const { alg, jwk } of createKeys(rsa)) {
    const kid = await importKey({ ...jwk, alg: alg === 'dir' ? 'A256GCM' : alg })
    const name = jwk.crv === undefined ? alg : `${alg} ${jwk.crv}`
    const request = { kid, alg, enc: 'A256GCM', data }
    encrypted.push({ name, alg, key: jwk, jwe: (await alice.post('/v1/crypto/encrypt', request)).json })
    recipients.push({ name, alg, kid, key: toPublic(jwk) })
  }
  const signed: Signed[] = []
  for (const [alg, jwk] of [
    ['RS256', rsa],
    ['PS256', rsa],
    ['ES256', ec],
  ] as const) {
    const request = { kid: await importKey({ ...jwk, alg }), alg, data }
    signed.push({ alg, key: toPublic(jwk), jws: (await alice.post('/v1/crypto/sign', request)).json })
  }
  return { encrypted, signed, recipients }
}

/** Of a pair the public half. */
function toPublic(jwk: Jwk): Jwk {
  const { d, p, q, dp, dq, qi, ...key } = jwk
  return key
}
