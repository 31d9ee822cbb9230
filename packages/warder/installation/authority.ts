import { X509Certificate } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { StartupError } from '@warder/base'

/** @throws StartupError for a file without a certificate, which could verify no server */
export function requireAuthority(file: string): void {
  if (!existsSync(file)) throw new StartupError(`${file} does not exist`)
  try {
    new X509Certificate(readFileSync(file))
  } catch {
    throw new StartupError(`${file} contains no certificate in PEM`)
  }
}
