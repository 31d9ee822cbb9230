import { FileRefused } from '../cli/refused.ts'

/** Members of a flattened JWE (RFC 7516 §7.2.2), as the key management service makes and opens it. */
const jweMembers = ['protected', 'encrypted_key', 'iv', 'ciphertext', 'tag', 'aad'] as const
export type JweMember = (typeof jweMembers)[number]

/** The wrapped data key. */
export type WrappedKey = Readonly<Record<JweMember, string>>

/** The JWE's additional data, whatever the format: a data key of a file is nothing else, and nothing else is one. */
export const wrappingContext = Buffer.from('warder file v1').toString('base64url')

/** The one way in which a wrapped key is written. */
export function formatWrappedKey(wrapped: WrappedKey): string {
  return JSON.stringify(Object.fromEntries(jweMembers.map((name) => [name, wrapped[name]])))
}

/** @throws FileRefused when it is not a flattened JWE of a data key */
export function parseWrappedKey(text: string): WrappedKey {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw createBrokenHeaderError()
  }
  return toWrappedKey(json)
}

/** @throws FileRefused when it is not a flattened JWE of a data key */
export function toWrappedKey(json: unknown): WrappedKey {
  if (typeof json !== 'object' || json === null) throw createBrokenHeaderError()
  const found = json as Readonly<Record<string, unknown>>
  const readMember = (name: JweMember): string => {
    const value = found[name]
    if (typeof value !== 'string' || !/^[A-Za-z0-9_-]*$/.test(value)) throw createBrokenHeaderError()
    return value
  }
  if (Object.keys(found).length !== jweMembers.length) throw createBrokenHeaderError()
  const wrapped = {
    protected: readMember('protected'),
    encrypted_key: readMember('encrypted_key'),
    iv: readMember('iv'),
    ciphertext: readMember('ciphertext'),
    tag: readMember('tag'),
    aad: readMember('aad'),
  }
  if (wrapped.aad !== wrappingContext) throw createBrokenHeaderError()
  return wrapped
}

/** The key that a wrapped data key names. @throws FileRefused */
export function readKeyId(wrapped: WrappedKey): string {
  return readProtectedHeader(wrapped).kid
}

/** Whether the data key is encrypted for a policy: a user key opens it, which the header cannot name. @throws FileRefused */
export function isForPolicy(wrapped: WrappedKey): boolean {
  return readProtectedHeader(wrapped).alg === 'ABE'
}

/** Members of the JWE's protected header. @throws FileRefused when they are not there */
export function readProtectedHeader(wrapped: WrappedKey): {
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
  throw createBrokenHeaderError()
}

export function createBrokenHeaderError(): FileRefused {
  return new FileRefused('the header of the file is broken')
}
