import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fillClientNames } from '@warder/authority'
import { importLocalCertificates } from '@warder/kmip-server'
import type { ServiceEnvironment } from '@warder/runtime'
import type { Database } from '@warder/storage'
import type { KmsConfig } from './settings.ts'

type Environment = ServiceEnvironment<KmsConfig>

/** What was read of the local authority of a home. */
interface Read {
  /** Times of change of its files. */
  changes: string
  readonly files: Set<string>
}
const reads = new WeakMap<Database, Read>()

/** Folder and files that change when the local authority issues or revokes the certificate of a client. */
const watched = ['clients', 'client.crt', 'ca.crl']

async function findChanges(home: string): Promise<string> {
  const times = watched.map(async (name) => {
    const found = await stat(join(home, 'tls', name)).catch(() => undefined)
    return found?.mtimeMs ?? 0
  })
  return (await Promise.all(times)).join(' ')
}

/** Three calls of the file system: usually nothing was issued. */
export async function isLocalAuthorityChanged({ config, home, db }: Environment): Promise<boolean> {
  if (config.clients_ca_cert_file === undefined) return false
  return (await findChanges(home)) !== reads.get(db)?.changes
}

/** Records certificates and revocations of the local authority of this node's home. */
export async function importLocalDevices({ home, db, log, clock }: Environment): Promise<void> {
  const read: Read = reads.get(db) ?? { changes: '', files: new Set() }
  const changes = await findChanges(home)
  // At the start: an earlier version may have written the registers.
  if (read.changes === '') await fillClientNames(db)
  await importLocalCertificates({ db, log }, join(home, 'tls'), read.files, clock.now())
  reads.set(db, { ...read, changes })
}
