import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { StartupError, systemClock } from '@warder/base'
import { UsageError } from '@warder/command-line'
import type { ClientCertificate } from '@warder/server'

/** Reasons of RFC 5280 §5.3.1 for clients; the first is the default. */
export const clientReasons = [
  'keyCompromise',
  'affiliationChanged',
  'superseded',
  'cessationOfOperation',
] as const

export interface RevocationRequest {
  /** The common name. */
  readonly name: string
  readonly home: string
  /** A single certificate instead of all with that name. */
  readonly cert: string | undefined
  readonly reason: (typeof clientReasons)[number]
}

/** Services check the CRL four times per second. */
const seenAfterMs = 500

/**
 * Revokes the certificates that the local authority issued to a user, and waits until the services of the home have read
 * the new CRL.
 * @throws StartupError when there are none, or all are already revoked; UsageError for a certificate of another name
 */
export async function revokeCertificates({
  name,
  home,
  cert,
  reason,
}: RevocationRequest): Promise<readonly ClientCertificate[]> {
  const folder = join(home, 'tls')
  const { revokeClientCertificates } = await import('@warder/server')
  const certificates =
    cert === undefined ? await findCertificates(folder, name) : [await readCertificateFor(cert, name)]
  const revoked = await revokeClientCertificates(folder, certificates, reason, systemClock)
  if (revoked.length === 0) throw new StartupError(`every certificate of ${name} is already revoked`)
  await pause(seenAfterMs)
  return revoked
}

async function findCertificates(folder: string, name: string): Promise<readonly ClientCertificate[]> {
  const { listClientCertificates } = await import('@warder/server')
  const found = listClientCertificates(folder).filter((each) => each.name === name)
  if (found.length > 0) return found
  throw new StartupError(
    `no certificate of ${name} is recorded in ${join(folder, 'clients')}: give its file with --cert`,
  )
}

async function readCertificateFor(file: string, name: string): Promise<ClientCertificate> {
  const { readClientCertificate } = await import('@warder/server')
  const certificate = readClientCertificate(file)
  if (certificate.name === name) return certificate
  throw new UsageError(`${file} is the certificate of ${certificate.name}, not of ${name}`)
}
