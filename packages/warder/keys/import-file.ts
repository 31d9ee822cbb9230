import { readFileSync } from 'node:fs'
import { factorJwkMembers, publicJwkMembers, StartupError, secretJwkMembers } from '@warder/base'
import { readSecretFile, toFileRefused } from '@warder/command-line/files'
import { privateKeyText, withoutByteOrderMark } from '@warder/pki'
import type { KeyOptions, KeyRequest } from './key-request.ts'
import { isEncryptedPem, isPem, pemToJwk, pssOnly } from './pem.ts'

/** Without RSA keys of more than two primes (`oth`) and drafts, which the service does not support. */
const materialMembers = [...secretJwkMembers, ...factorJwkMembers, ...publicJwkMembers]
/** Bounds the size of a key file. */
export const maxKeyBytes = 64 * 1024

export interface ImportOptions extends Pick<KeyOptions, 'alg' | 'tags' | 'notExtractable'> {
  /** Returns the passphrase; called only for an encrypted file. */
  readonly passphrase: () => string
}

/** Reads a key file as text. @throws StartupError */
export function readKeyFile(file: string): string {
  try {
    return toKeyText(file, readFileSync(file))
  } catch (error) {
    throw toFileRefused(error, file)
  }
}

/**
 * Creates a function that reads the passphrase of an encrypted key, once.
 * @param file file with the passphrase
 * @throws StartupError when it is called without a file
 */
export function createPassphraseReader(keyFile: string, file: string | undefined): () => string {
  let known: string | undefined
  return () => {
    if (file === undefined)
      throw new StartupError(`${keyFile}: the key is encrypted: give its passphrase with --passphrase-file F`)
    known ??= readSecretFile(file, 'the passphrase')
    return known
  }
}

/** Converts a key in PEM, DER or JWK to text. @throws StartupError for a PKCS#12 file */
export function toKeyText(name: string, bytes: Uint8Array): string {
  try {
    return privateKeyText(bytes)
  } catch (error) {
    throw toFileRefused(error, name)
  }
}

/**
 * Builds the import request for a file: one JWK (RFC 7517), or one private key in PEM. `use` and `key_ops` are kept; members
 * that identify the key elsewhere (`kid`, `x5c` …) are dropped, because the service assigns its own id.
 * @param name name of the file, for errors
 * @throws StartupError unless the file contains exactly one complete private or secret key
 */
export function buildImportRequest(name: string, content: string, options: ImportOptions): KeyRequest {
  const jwk = readKey(name, content, options.passphrase)
  const text = (member: string): string | undefined => {
    const value = jwk[member]
    if (value === undefined || typeof value === 'string') return value
    throw new StartupError(`${name}: the member ${member} is not a string`)
  }
  if (Array.isArray(jwk.keys)) {
    throw new StartupError(`${name}: is a JWK set; put one of its keys into a file of its own`)
  }
  const kty = text('kty')
  if (kty === undefined) throw new StartupError(`${name}: the member kty is missing, so this is not a JWK`)
  // Without any of these the service would create a new key instead of importing one.
  if (!secretJwkMembers.some((member) => text(member) !== undefined)) {
    throw new StartupError(`${name}: contains no private or secret key`)
  }
  // An invalid value must not make a key extractable.
  if (jwk.ext !== undefined && typeof jwk.ext !== 'boolean')
    throw new StartupError(`${name}: the member ext is neither true nor false`)
  const alg = selectPssAlg(name, jwk[pssOnly], options.alg ?? text('alg'))
  const ops = readOps(name, jwk.key_ops)
  const use = text('use')
  const crv = text('crv')
  const material: Partial<Record<(typeof materialMembers)[number], string>> = {}
  for (const member of materialMembers) {
    const value = text(member)
    if (value !== undefined) material[member] = value
  }
  return {
    kty,
    ...(alg !== undefined && { alg }),
    ...(crv !== undefined && { crv }),
    ...(options.tags.length > 0 && { tags: options.tags }),
    ...(use !== undefined && { use }),
    ...(ops !== undefined && { key_ops: ops }),
    ...((options.notExtractable || jwk.ext === false) && { ext: false }),
    ...material,
  }
}

/** @throws StartupError */
function readOps(name: string, ops: unknown): readonly string[] | undefined {
  if (ops === undefined) return undefined
  if (Array.isArray(ops) && ops.every((op): op is string => typeof op === 'string')) return ops
  throw new StartupError(`${name}: the member key_ops is not an array of strings (RFC 7517 §4.3)`)
}

/** Binds a key that is only for RSASSA-PSS to one of its algorithms. @throws StartupError */
function selectPssAlg(name: string, only: unknown, alg: string | undefined): string | undefined {
  if (only === undefined) return alg
  const permitted = only === 'any' ? ['PS256', 'PS384', 'PS512'] : [String(only)]
  if (alg === undefined && only !== 'any') return String(only)
  if (alg !== undefined && permitted.includes(alg)) return alg
  throw new StartupError(`${name}: is a key for RSASSA-PSS only: use --alg ${permitted.join(', ')}`)
}

function readKey(
  name: string,
  text: string,
  passphrase: () => string,
): Readonly<Record<string | symbol, unknown>> {
  const content = withoutByteOrderMark(text)
  if (content.length > maxKeyBytes) throw new StartupError(`${name}: is too large for one key`)
  if (content.startsWith('PuTTY-User-Key-File'))
    throw new StartupError(
      `${name}: is a private key of PuTTY: export it as an OpenSSH key and convert that to PKCS#8`,
    )
  if (isPem(content)) return pemToJwk(name, content, isEncryptedPem(content) ? passphrase() : undefined)
  let json: unknown
  try {
    json = JSON.parse(content)
  } catch {
    // The message of the parser quotes a part of the text, which may be a key.
  }
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) {
    if (Object.hasOwn(json, 'oth'))
      throw new StartupError(`${name}: is an RSA key of more than two primes (oth), which is not supported`)
    return json as Readonly<Record<string, unknown>>
  }
  throw new StartupError(`${name}: is neither a JWK (one JSON object) nor a private key in PEM`)
}
