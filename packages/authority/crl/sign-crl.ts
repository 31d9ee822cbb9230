import { createHash } from 'node:crypto'
import { type ManagedObject, useNowChanges } from '@warder/keys'
import type { Database } from '@warder/storage'
import { type RevocationConfig, serviceName } from '../register/settings.ts'
import { crlChanges, crlPlace, readRevokedPage } from './crl-store.ts'
import { type CrlPage, type CrlSigner, makeCrl } from './make-crl.ts'

/** Entries that are read at a time: some milliseconds of the database. */
const pageEntries = 1000

/**
 * Signs the revocation list of an issuer and replaces the previous one. Its number is that of the last revocation, or
 * one more than that of the previous list if nothing was revoked since (RFC 5280 §5.2.3).
 * @param authorities identifiers under which the list is found
 * @param key that signs, used on behalf of the service
 * @throws GuardFailed when another node was faster
 */
export async function signCrl(
  { db, revocation }: { readonly db: Database; readonly revocation: RevocationConfig },
  issuer: { readonly id: string; readonly authorities: readonly string[] },
  signer: CrlSigner,
  key: ManagedObject,
  now: number,
): Promise<void> {
  const place = await crlPlace(db, issuer.id)
  if (place === undefined) return
  const { wanted, last } = place
  const thisUpdate = Math.floor(now / 1000) * 1000
  const dates = {
    number: Math.max(wanted, (last?.number ?? 0) + 1),
    thisUpdate,
    nextUpdate: thisUpdate + revocation.crlValidityMs,
  }
  const der = await makeCrl(
    readPages(db, issuer.id, Math.min(last?.thisUpdate ?? 0, thisUpdate)),
    dates,
    signer,
  )
  const etag = `"${createHash('sha256').update(der).digest('hex').slice(0, 32)}"`
  const dueAt = dates.nextUpdate - revocation.crlOverlapMs
  await db.commit([
    ...crlChanges(db, issuer.id, { ...dates, etag, der }, dueAt, issuer.authorities),
    ...(await useNowChanges(db, key, serviceName, now)),
  ])
}

async function* readPages(db: Database, issuer: string, last: number): AsyncGenerator<CrlPage, void> {
  let after: string | undefined = ''
  while (after !== undefined) {
    const page: Awaited<ReturnType<typeof readRevokedPage>> = await readRevokedPage(db, issuer, {
      after,
      last,
      limit: pageEntries,
    })
    yield page
    after = page.next
  }
}
