import { FileRefused } from '@warder/command-line/files'

/** Members of a flattened JWE (RFC 7516 §7.2.2) of the key management service. */
const jweMembers = ['protected', 'encrypted_key', 'iv', 'ciphertext', 'tag', 'aad'] as const
export type JweMember = (typeof jweMembers)[number]

/** The wrapped data key. */
export type WrappedKey = Readonly<Record<JweMember, string>>

/** Additional data of the JWE in every format, which separates data keys of files from other JWEs. */
export const wrappingContext = Buffer.from('warder file v1').toString('base64url')

/** Formats a wrapped key in its canonical form. */
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

/** Reads the id of the key that wraps the data key. @throws FileRefused */
export function readKeyId(wrapped: WrappedKey): string {
  return readProtectedHeader(wrapped).kid
}

/** Whether the data key is encrypted for a policy; the header cannot name the user key that decrypts it. @throws FileRefused */
export function isForPolicy(wrapped: WrappedKey): boolean {
  return readProtectedHeader(wrapped).alg === 'ABE'
}

/** Reads the protected header of the JWE. @throws FileRefused when it is invalid */
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
    // Reported below.
  }
  throw createBrokenHeaderError()
}

export function createBrokenHeaderError(): FileRefused {
  return new FileRefused('the header of the file is invalid')
}
