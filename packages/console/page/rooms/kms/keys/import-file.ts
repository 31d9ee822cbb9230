import type { Input } from '@warder/client/browser'
import { texts } from '../../../texts.ts'

export type KeyRequest = Input<'crypto.keys.create'>['body']

const problems = texts.newKey.problems
/** A key in PEM or as a JWK is much smaller. */
export const maxKeyBytes = 64 * 1024
const secretMembers = ['k', 'd', 'priv']
const materialMembers = [...secretMembers, 'n', 'e', 'p', 'q', 'dp', 'dq', 'qi', 'x', 'y', 'pub']

/** Why a file is no key that can be imported here, for the user. */
export class KeyFileError extends Error {}

const pkcs8Algorithms: readonly (RsaHashedImportParams | EcKeyImportParams | { readonly name: string })[] = [
  { name: 'RSA-PSS', hash: 'SHA-256' },
  ...['P-256', 'P-384', 'P-521'].map((namedCurve) => ({ name: 'ECDSA', namedCurve })),
  ...[{ name: 'Ed25519' }, { name: 'X25519' }],
]

/** The private key in PKCS#8 (RFC 5958) as a JWK. @throws KeyFileError */
async function readPkcs8(pem: string): Promise<JsonWebKey> {
  const [, base64 = ''] =
    /-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----/.exec(pem) ?? []
  let der: Uint8Array<ArrayBuffer>
  try {
    der = Uint8Array.from(atob(base64.replaceAll(/\s/g, '')), (char) => char.charCodeAt(0))
  } catch {
    throw new KeyFileError(problems.format)
  }
  for (const algorithm of pkcs8Algorithms)
    try {
      const use: KeyUsage = algorithm.name === 'X25519' ? 'deriveBits' : 'sign'
      const key = await crypto.subtle.importKey('pkcs8', der, algorithm, true, [use])
      // Of the members only the material says something about the key: the others are those of this call.
      const { alg: _alg, key_ops: _ops, ext: _ext, ...material } = await crypto.subtle.exportKey('jwk', key)
      return material
    } catch {
      // It is a key of another algorithm.
    }
  throw new KeyFileError(problems.unsupported)
}

function readJwk(text: string): Readonly<Record<string, unknown>> {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    // The message of the parser quotes a part of the text, which may be a key.
  }
  if (typeof json !== 'object' || json === null || !('kty' in json)) throw new KeyFileError(problems.format)
  return json as Readonly<Record<string, unknown>>
}

/**
 * The request that imports one private or secret key: a JWK (RFC 7517), or PEM. Members that identify the key elsewhere are
 * left out.
 * @throws KeyFileError
 */
export async function readKeyText(text: string): Promise<KeyRequest> {
  if (text.trim() === '') throw new KeyFileError(problems.empty)
  if (text.length > maxKeyBytes) throw new KeyFileError(problems.large)
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(text))
    throw new KeyFileError(problems.encrypted)
  if (/-----BEGIN (RSA|EC|DSA|OPENSSH) PRIVATE KEY-----/.test(text)) throw new KeyFileError(problems.legacy)
  if (/-----BEGIN (RSA )?PUBLIC KEY-----/.test(text)) throw new KeyFileError(problems.public)
  const isPem = text.includes('-----BEGIN PRIVATE KEY-----')
  const jwk: Readonly<Record<string, unknown>> = isPem ? { ...(await readPkcs8(text)) } : readJwk(text)
  if (!secretMembers.some((name) => Object.hasOwn(jwk, name))) throw new KeyFileError(problems.public)
  const kept = ['kty', 'crv', 'alg', 'use', 'key_ops', 'oth', ...materialMembers]
  const members = Object.entries(jwk).filter(([name]) => kept.includes(name))
  return { ...Object.fromEntries(members), ...(jwk.ext === false && { ext: false }) } as unknown as KeyRequest
}
