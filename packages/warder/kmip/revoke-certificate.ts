import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { StartupError } from '@warder/foundation/errors'
import { systemClock } from '@warder/foundation/runtime'
import {
  type ClientCertificate,
  listClientCertificates,
  readClientCertificate,
  revokeClientCertificates,
} from '@warder/foundation/tls'
import { UsageError } from '../cli/command.ts'

/** RFC 5280 §5.3.1: those that fit a client; the first is the usual one, for a key that is in wrong hands. */
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
  /** One certificate instead of all of that name. */
  readonly cert: string | undefined
  readonly reason: (typeof clientReasons)[number]
}

/** Services look at the CRL four times a second. */
const seenAfterMs = 500

/**
 * Revokes the certificates that the local authority issued to a user, and waits until services of the home have had the
 * time to see it.
 * @throws StartupError when there are none, or all of them were revoked before; UsageError for a file of another name
 */
export async function revokeCertificates({
  name,
  home,
  cert,
  reason,
}: RevocationRequest): Promise<readonly ClientCertificate[]> {
  const folder = join(home, 'tls')
  const certificates = cert === undefined ? findCertificates(folder, name) : [readCertificateFor(cert, name)]
  const revoked = await revokeClientCertificates(folder, certificates, reason, systemClock)
  if (revoked.length === 0) throw new StartupError(`every certificate of ${name} is revoked already`)
  await pause(seenAfterMs)
  return revoked
}

function findCertificates(folder: string, name: string): readonly ClientCertificate[] {
  const found = listClientCertificates(folder).filter((each) => each.name === name)
  if (found.length > 0) return found
  throw new StartupError(
    `no certificate of ${name} is recorded in ${join(folder, 'clients')}: name its file with --cert`,
  )
}

function readCertificateFor(file: string, name: string): ClientCertificate {
  const certificate = readClientCertificate(file)
  if (certificate.name === name) return certificate
  throw new UsageError(`${file} is the certificate of ${certificate.name}, not of ${name}`)
}
