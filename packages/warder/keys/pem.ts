import { createPrivateKey, type KeyObject } from 'node:crypto'
import { StartupError } from '@warder/base'
import {
  buildPkcs8,
  derMembers,
  derNull,
  openPkcs8,
  PkiError,
  type PssParameters,
  parsePkcs8,
  pssAlgorithm,
  requireOwnPublicHalf,
} from '@warder/pki'

/** Whether the text contains a PEM block (RFC 7468). */
export function isPem(text: string): boolean {
  return /^-----BEGIN [A-Z0-9 ]+-----\r?$/m.test(text)
}

/** Whether the private key is encrypted: PKCS#8 (RFC 5958), or the legacy format of OpenSSL. */
export function isEncryptedPem(text: string): boolean {
  return /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(text)
}

/**
 * Converts the private key of a PEM file to a JWK (RFC 7517).
 * @throws StartupError unless it contains exactly one private key of a supported type
 */
export function pemToJwk(
  name: string,
  text: string,
  passphrase: string | undefined,
): Readonly<Record<string | symbol, unknown>> {
  requireReadableForm(name, text)
  const found = text.match(/-----BEGIN [A-Z ]*PRIVATE KEY-----/g) ?? []
  if (found.length === 0) throw new StartupError(`${name}: contains no private key`)
  if (found.length > 1) throw new StartupError(`${name}: contains several private keys; import one at a time`)
  let key: KeyObject
  try {
    const [, plain] = /-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END/.exec(text) ?? []
    if (plain !== undefined) requireOwnPublicHalf(Buffer.from(plain, 'base64'))
    key = createPrivateKey({ key: text, ...(passphrase !== undefined && { passphrase }) })
  } catch (error) {
    if (error instanceof PkiError && error.code === 'invalid_value')
      throw new StartupError(`${name}: ${error.message}`)
    // The message of OpenSSL does not help the user, and the cause may be a wrong passphrase.
    const why = passphrase === undefined ? 'it is invalid' : 'the passphrase is wrong, or the key is invalid'
    throw new StartupError(`${name}: the private key cannot be read: ${why}`, { cause: error })
  }
  try {
    requireTwoPrimes(name, key)
    if (key.asymmetricKeyType === 'rsa-pss') return exportPssJwk(name, key)
    return { ...key.export({ format: 'jwk' }) }
  } catch (error) {
    if (error instanceof StartupError) throw error
    throw new StartupError(
      `${name}: keys of the type ${key.asymmetricKeyType ?? 'unknown'} are not supported`,
      {
        cause: error,
      },
    )
  }
}

const encryptedBlock =
  /-----BEGIN ENCRYPTED PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END ENCRYPTED PRIVATE KEY-----/

/**
 * Checks the public key inside an encrypted PKCS#8 key, like `pemToJwk` for a key in clear, because OpenSSL drops it. With an
 * encryption that only OpenSSL supports it is not checked; the JWK then contains the computed public key.
 * @throws StartupError for a public key of another private key
 */
export async function requireOwnHalfInside(
  name: string,
  text: string,
  passphrase: () => string,
): Promise<void> {
  const [, block] = encryptedBlock.exec(text) ?? []
  if (block === undefined) return
  let opened: Uint8Array | undefined
  try {
    opened = await openPkcs8(Buffer.from(block, 'base64'), passphrase())
    requireOwnPublicHalf(opened)
  } catch (error) {
    if (!(error instanceof PkiError)) throw error
    if (opened !== undefined) throw new StartupError(`${name}: ${error.message}`)
  } finally {
    opened?.fill(0)
  }
}

/** Refuses formats other than PKCS#8, PKCS#1 and SEC1 by name. @throws StartupError */
function requireReadableForm(name: string, text: string): void {
  if (text.includes('-----BEGIN OPENSSH PRIVATE KEY-----'))
    throw new StartupError(
      `${name}: is a private key of OpenSSH: convert a copy of it with ssh-keygen -p -m PKCS8 -f COPY, and import that`,
    )
}

/** RFC 8017 §A.1.2: version 1 has more than two primes. @throws StartupError */
function requireTwoPrimes(name: string, key: KeyObject): void {
  if (key.asymmetricKeyType !== 'rsa' && key.asymmetricKeyType !== 'rsa-pss') return
  const pkcs8 = parsePkcs8(key.export({ format: 'der', type: 'pkcs8' }))
  const [version] = derMembers(pkcs8.key, 'The PKCS#1 private key')
  if (version?.content[0] !== 0)
    throw new StartupError(`${name}: is an RSA key of more than two primes, which is not supported`)
}

/**
 * Exports a key of id-RSASSA-PSS (RFC 4055 §1.2), which signs only with RSASSA-PSS and the hash in its parameters, if any.
 * @returns a JWK with the only permitted algorithm
 * @throws StartupError for parameters outside RFC 7518 §3.5
 */
function exportPssJwk(name: string, key: KeyObject): Readonly<Record<string | symbol, unknown>> {
  let alg: string | undefined
  try {
    alg = pssAlgorithm((key.asymmetricKeyDetails ?? {}) as PssParameters)
  } catch (error) {
    throw new StartupError(`${name}: ${(error as Error).message}`)
  }
  const { key: pkcs1 } = parsePkcs8(key.export({ format: 'der', type: 'pkcs8' }))
  const plain = buildPkcs8({ identifier: '1.2.840.113549.1.1.1', parameters: derNull, key: pkcs1 })
  const jwk = createPrivateKey({ key: plain, format: 'der', type: 'pkcs8' }).export({ format: 'jwk' })
  plain.fill(0)
  return { ...jwk, [pssOnly]: alg ?? 'any' }
}

/** Extra member of a JWK: the RSASSA-PSS algorithm of the key, or `any`. */
export const pssOnly = Symbol('RSASSA-PSS')
