import { FileRefused } from '../cli/refused.ts'

/** Members of a flattened JWE (RFC 7516 §7.2.2), as the key management service makes and opens it. */
const jweMembers = ['protected', 'encrypted_key', 'iv', 'ciphertext', 'tag', 'aad'] as const
export type JweMember = (typeof jweMembers)[number]

/** The wrapped data key. */
export type WrappedKey = Readonly<Record<JweMember, string>>

/** The JWE's additional data, whatever the format: a data key of a file is nothing else, and nothing else is one. */
export const wrappingContext = Buffer.from('warder file v1').toString('base64url')

/** The one way in which a wrapped key is written. */
export function wrappedKeyText(wrapped: WrappedKey): string {
  return JSON.stringify(Object.fromEntries(jweMembers.map((name) => [name, wrapped[name]])))
}

/** @throws FileRefused when it is not a flattened JWE of a data key */
export function parseWrappedKey(text: string): WrappedKey {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw brokenHeader()
  }
  return toWrappedKey(json)
}

/** @throws FileRefused when it is not a flattened JWE of a data key */
export function toWrappedKey(json: unknown): WrappedKey {
  if (typeof json !== 'object' || json === null) throw brokenHeader()
  const found = json as Readonly<Record<string, unknown>>
  const read = (name: JweMember): string => {
    const value = found[name]
    if (typeof value !== 'string' || !/^[A-Za-z0-9_-]*$/.test(value)) throw brokenHeader()
    return value
  }
  if (Object.keys(found).length !== jweMembers.length) throw brokenHeader()
  const wrapped = {
    protected: read('protected'),
    encrypted_key: read('encrypted_key'),
    iv: read('iv'),
    ciphertext: read('ciphertext'),
    tag: read('tag'),
    aad: read('aad'),
  }
  if (wrapped.aad !== wrappingContext) throw brokenHeader()
  return wrapped
}

/** The key that a wrapped data key names. @throws FileRefused */
export function kidOf(wrapped: WrappedKey): string {
  return namedIn(wrapped).kid
}

/** Whether the data key is encrypted for a policy: a user key opens it, which the header cannot name. @throws FileRefused */
export function isForPolicy(wrapped: WrappedKey): boolean {
  return namedIn(wrapped).alg === 'ABE'
}

/** Members of the JWE's protected header. @throws FileRefused when they are not there */
export function namedIn(wrapped: WrappedKey): {
  readonly kid: string
  readonly alg: unknown
  readonly enc: unknown
} {
  try {
    const { kid, alg, enc } = JSON.parse(Buffer.from(wrapped.protected, 'base64url').toString('utf8')) as {
      kid?: unknown
      alg?: unknown
      enc?: unknown
    }
    if (typeof kid === 'string') return { kid, alg, enc }
  } catch {
    // Said below.
  }
  throw brokenHeader()
}

export function brokenHeader(): FileRefused {
  return new FileRefused('the header of the file is broken')
}
