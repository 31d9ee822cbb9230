import { createPrivateKey, type KeyObject } from 'node:crypto'
import { StartupError } from '@warder/foundation/errors'

/** Whether the text is PEM (RFC 7468), of whatever it may be. */
export function isPem(text: string): boolean {
  return /^-----BEGIN [A-Z0-9 ]+-----\r?$/m.test(text)
}

/** Whether a passphrase is needed to read it: PKCS#8 (RFC 5958), or the older form of OpenSSL. */
export function isEncryptedPem(text: string): boolean {
  return /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(text)
}

/**
 * The private key of a PEM file as a JWK (RFC 7517).
 * @throws StartupError for what is not one private key that has a JWK
 */
export function jwkOfPem(
  name: string,
  text: string,
  passphrase: string | undefined,
): Readonly<Record<string, unknown>> {
  const found = text.match(/-----BEGIN [A-Z ]*PRIVATE KEY-----/g) ?? []
  if (found.length === 0) throw new StartupError(`${name}: holds no private key`)
  if (found.length > 1) throw new StartupError(`${name}: holds several private keys; import one at a time`)
  let key: KeyObject
  try {
    key = createPrivateKey({ key: text, ...(passphrase !== undefined && { passphrase }) })
  } catch (error) {
    // OpenSSL's own words say where it stopped, which helps nobody, and the cause may be a wrong passphrase.
    const why = passphrase === undefined ? 'it is broken' : 'the passphrase is wrong, or it is broken'
    throw new StartupError(`${name}: the private key cannot be read: ${why}`, { cause: error })
  }
  try {
    return { ...key.export({ format: 'jwk' }) }
  } catch (error) {
    throw new StartupError(
      `${name}: keys of the type ${key.asymmetricKeyType ?? 'unknown'} are not supported`,
      {
        cause: error,
      },
    )
  }
}
