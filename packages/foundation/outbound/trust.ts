import { readFileSync } from 'node:fs'
import { rootCertificates } from 'node:tls'
import { pemText } from '@warder/pki/pem'
import { StartupError } from '../errors/index.ts'

/**
 * The usual authorities, and those of a file besides.
 * @param caFile PEM
 * @throws StartupError when it cannot be read
 */
export function trustedAuthorities(caFile: string | undefined): { ca?: string[] } {
  if (caFile === undefined) return {}
  try {
    return { ca: [...rootCertificates, pemText(readFileSync(caFile), 'CERTIFICATE')] }
  } catch (error) {
    throw new StartupError(`cannot read ${caFile}: ${error instanceof Error ? error.message : error}`)
  }
}
