import { X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { isName, type Logger } from '@warder/base'
import { parseCertificate } from '@warder/pki'
import { listLocalRevocations, readPeerCommonName } from '@warder/server'
import type { Change, Database } from '@warder/storage'
import {
  certificateChanges,
  type DeviceCertificate,
  isKnownCertificate,
  keptMs,
  localRevocationChange,
} from './device-store.ts'
import { describeCertificate } from './sightings.ts'

/** Files of one commit. */
const filesPerCommit = 100
const revocationsPerCommit = 500

/**
 * Records the client certificates that the local authority of a home issued, and their revocations, so that every node
 * lists them. Other requests have their turn between the commits.
 * @param folder `tls` of the home
 * @param done files that were read before; those that are read now are added
 * @param now Unix milliseconds
 */
export async function importLocalCertificates(
  { db, log }: { readonly db: Database; readonly log: Logger },
  folder: string,
  done: Set<string>,
  now: number,
): Promise<void> {
  const clients = join(folder, 'clients')
  const recorded = existsSync(clients) ? (await readdir(clients)).map((name) => join(clients, name)) : []
  const first = join(folder, 'client.crt')
  const files = [...recorded, ...(existsSync(first) ? [first] : [])].filter(
    (file) => file.endsWith('.crt') && !done.has(file),
  )
  for (let from = 0; from < files.length; from += filesPerCommit) {
    const some = files.slice(from, from + filesPerCommit)
    const changes: Change[] = []
    for (const file of some) changes.push(...(await readChanges({ db, log }, file, now)))
    if (changes.length > 0) await db.commit(changes)
    for (const file of some) done.add(file)
    await setImmediate()
  }
  const revocations = listLocalRevocations(folder).map(({ serial, revokedAt, reason }) =>
    localRevocationChange(Buffer.from(serial).toString('hex'), revokedAt, reason),
  )
  for (let from = 0; from < revocations.length; from += revocationsPerCommit) {
    await db.commit(revocations.slice(from, from + revocationsPerCommit))
    await setImmediate()
  }
}

async function readChanges(
  { db, log }: { readonly db: Database; readonly log: Logger },
  file: string,
  now: number,
): Promise<readonly Change[]> {
  const read = await readDevice(file).catch((error: unknown) => {
    log.warn({ error, file }, 'a client certificate of the local authority cannot be read')
    return undefined
  })
  if (read === undefined || read.certificate.notAfter < now - keptMs) return []
  const { name, certificate } = read
  if (await isKnownCertificate(db, name, certificate.fingerprint, true)) return []
  return certificateChanges(name, certificate, { isLocal: true })
}

/** undefined: its common name is not that of a user. */
async function readDevice(
  file: string,
): Promise<{ readonly name: string; readonly certificate: DeviceCertificate } | undefined> {
  const certificate = new X509Certificate(await readFile(file))
  const name = readPeerCommonName(certificate)
  if (name === undefined || !isName(name)) return undefined
  return { name, certificate: describeCertificate(parseCertificate(certificate.raw)) }
}
