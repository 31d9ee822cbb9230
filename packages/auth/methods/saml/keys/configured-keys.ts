import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { inHome, StartupError } from '@warder/base'
import { pemText, privateKeyText } from '@warder/pki'

/** A key of the service provider that signs or decrypts. */
export interface SpKey {
  /** PEM. */
  readonly certificate: string
  readonly privateKey: KeyObject
}

/**
 * Reads the operator's keys from PEM files: the first one signs, all are published.
 * @param home base folder of relative names
 * @throws StartupError that names the file
 */
export function readConfiguredKeys(
  home: string,
  keyFiles: readonly string[],
  certificateFiles: readonly string[],
): readonly SpKey[] {
  if (keyFiles.length !== certificateFiles.length)
    throw new StartupError(
      'saml_sp_key_files and saml_sp_certificate_files must have the same number of files',
    )
  return keyFiles.map((keyFile, index) => {
    const certificateFile = certificateFiles[index] ?? ''
    const privateKey = readFile(home, keyFile, (bytes) => createPrivateKey(privateKeyText(bytes)))
    const certificate = readFile(
      home,
      certificateFile,
      (bytes) => new X509Certificate(pemText(bytes, 'CERTIFICATE')),
    )
    const bits = privateKey.asymmetricKeyDetails?.modulusLength ?? 0
    if (privateKey.asymmetricKeyType !== 'rsa' || bits < 2048)
      throw new StartupError(
        `${keyFile}: the key of the SAML service provider must be RSA of at least 2048 bits`,
      )
    if (!certificate.checkPrivateKey(privateKey))
      throw new StartupError(`${certificateFile}: the certificate does not belong to the key in ${keyFile}`)
    return { certificate: certificate.toString(), privateKey }
  })
}

function readFile<T>(home: string, file: string, parse: (bytes: Buffer) => T): T {
  try {
    return parse(readFileSync(inHome(home, file)))
  } catch (error) {
    throw new StartupError(`cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
