import { X509Certificate } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { StartupError } from '@warder/foundation/errors'

/** @throws StartupError for a file without a certificate, which could verify no server */
export function requireAuthority(file: string): void {
  if (!existsSync(file)) throw new StartupError(`${file} is not there`)
  try {
    new X509Certificate(readFileSync(file))
  } catch {
    throw new StartupError(`${file} holds no certificate in PEM`)
  }
}
