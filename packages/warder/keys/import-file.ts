import { readFileSync } from 'node:fs'
import { StartupError } from '@warder/foundation/errors'
import { factorJwkMembers, publicJwkMembers, secretJwkMembers } from '@warder/foundation/memory'
import { privateKeyText, withoutByteOrderMark } from '@warder/pki/pem'
import { toFileRefused } from '../cli/refused.ts'
import { readSecretFile } from '../cli/secret-file.ts'
import type { KeyOptions, KeyRequest } from './key-request.ts'
import { isEncryptedPem, isPem, pemToJwk, pssOnly } from './pem.ts'

/** RSA of more than two primes (`oth`) and drafts are left out: the service does not have them. */
const materialMembers = [...secretJwkMembers, ...factorJwkMembers, ...publicJwkMembers]
/** Larger files hold no key. */
export const maxKeyBytes = 64 * 1024

export interface ImportOptions extends Pick<KeyOptions, 'alg' | 'tags' | 'notExtractable'> {
  /** Gives the passphrase of an encrypted file; asked for such a file alone. */
  readonly passphrase: () => string
}

/** Text of a file with a key. @throws StartupError */
export function readKeyFile(file: string): string {
  try {
    return toKeyText(file, readFileSync(file))
  } catch (error) {
    throw toFileRefused(error, file)
  }
}

/**
 * Reads the passphrase of an encrypted key when it is asked for, once.
 * @param file with the passphrase
 * @throws StartupError when asked without a file
 */
export function createPassphraseReader(keyFile: string, file: string | undefined): () => string {
  let known: string | undefined
  return () => {
    if (file === undefined)
      throw new StartupError(
        `${keyFile}: the key is encrypted: give the file of its passphrase, --passphrase-file F`,
      )
    known ??= readSecretFile(file, 'the passphrase')
    return known
  }
}

/** Text of a key that is PEM, DER or a JWK. @throws StartupError for a PKCS#12 file */
export function toKeyText(name: string, bytes: Uint8Array): string {
  try {
    return privateKeyText(bytes)
  } catch (error) {
    throw toFileRefused(error, name)
  }
}

/**
 * Request for the key of a file: one JWK (RFC 7517), or one private key in PEM. Its `use` and `key_ops` limit the key,
 * too; members by which others name it (`kid`, `x5c` …) stay behind: the service names keys itself.
 * @param name of the file, for the person who has to put it right
 * @throws StartupError for what is not one whole private or secret key
 */
export function buildImportRequest(name: string, content: string, options: ImportOptions): KeyRequest {
  const jwk = readKey(name, content, options.passphrase)
  const text = (member: string): string | undefined => {
    const value = jwk[member]
    if (value === undefined || typeof value === 'string') return value
    throw new StartupError(`${name}: ${member} is not text`)
  }
  if (Array.isArray(jwk.keys)) {
    throw new StartupError(`${name}: is a set of keys; put one of them into a file of its own`)
  }
  const kty = text('kty')
  if (kty === undefined) throw new StartupError(`${name}: there is no kty: is it one JWK?`)
  // Without any of these the service would make a new key, and the file would seem to be imported.
  if (!secretJwkMembers.some((member) => text(member) !== undefined)) {
    throw new StartupError(`${name}: holds no private or secret key`)
  }
  // Taken for what it does not say, it would let a key out that was to stay.
  if (jwk.ext !== undefined && typeof jwk.ext !== 'boolean')
    throw new StartupError(`${name}: ext is neither true nor false`)
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
  throw new StartupError(`${name}: key_ops is not a list of texts (RFC 7517 §4.3)`)
}

/** A key that is for RSASSA-PSS alone is bound to one of its algorithms. @throws StartupError */
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
      `${name}: is a private key of PuTTY: export it as an OpenSSH key, and convert that to PKCS#8`,
    )
  if (isPem(content)) return pemToJwk(name, content, isEncryptedPem(content) ? passphrase() : undefined)
  let json: unknown
  try {
    json = JSON.parse(content)
  } catch {
    // The parser's own message shows a part of the text, which may be a key.
  }
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) {
    if (Object.hasOwn(json, 'oth'))
      throw new StartupError(`${name}: is an RSA key of more than two primes (oth), which is not supported`)
    return json as Readonly<Record<string, unknown>>
  }
  throw new StartupError(`${name}: is neither a JWK (one JSON object) nor a private key in PEM`)
}
