import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { type ManagedObject, useNowChanges } from '@warder/keys'
import {
  type CertificateSigner,
  type CrlEntry,
  encodeEntries,
  type Issuer,
  issueCrl,
  type RevocationReason,
  readKeyUsage,
} from '@warder/pki'
import type { Database } from '@warder/storage'
import type { StoredAuthority } from '../register/authority-store.ts'
import { parseOnce } from '../register/certificates.ts'
import { type RevocationConfig, serviceName } from '../register/settings.ts'
import { crlChanges, crlPlace, type PackedEntries, readRevokedPage } from './crl-store.ts'

/** Times in Unix milliseconds. */
export interface CrlDates {
  readonly number: number
  readonly thisUpdate: number
  readonly nextUpdate: number
}

/** The signing authority without its key, for the thread. */
export interface CrlIssuer {
  readonly name: Uint8Array
  readonly spki: Uint8Array
  readonly keyIdentifier: Uint8Array | undefined
  /** DER of the AlgorithmIdentifier. */
  readonly algorithm: Uint8Array
}

export type ToCrlThread =
  | { readonly type: 'entries'; readonly packed: PackedEntries }
  | { readonly type: 'issue'; readonly dates: CrlDates; readonly issuer: CrlIssuer }
  | { readonly type: 'signature'; readonly signature: Uint8Array }

export type FromCrlThread =
  | { readonly type: 'sign'; readonly data: Uint8Array }
  | { readonly type: 'crl'; readonly der: Uint8Array }
  | { readonly type: 'failed'; readonly problem: string }

/** The entries of a page, one at a time. */
export function* unpackEntries(packed: PackedEntries): Generator<CrlEntry, void> {
  if (packed === '') return
  for (const entry of packed.split(',')) {
    const [serial = '', revokedAt, reason = '', invalidityDate = ''] = entry.split(' ')
    yield {
      serial: Buffer.from(serial, 'hex'),
      revokedAt: Number(revokedAt),
      ...(reason !== '' && { reason: reason as RevocationReason }),
      ...(invalidityDate !== '' && { invalidityDate: Number(invalidityDate) }),
    }
  }
}

/**
 * Whether relying parties accept a revocation list of this authority: its certificate has the key usage cRLSign, or no
 * key usage (RFC 5280 §6.3.3 f).
 */
export function maySignCrl({ certificate }: Pick<StoredAuthority, 'certificate'>): boolean {
  return readKeyUsage(parseOnce(certificate).extensions)?.includes('cRLSign') !== false
}

let lists = 0

/** Number of revocation lists that threads of this event loop are assembling. */
export const listsInWork = (): number => lists

async function trackList<R>(make: () => Promise<R>): Promise<R> {
  lists += 1
  try {
    return await make()
  } finally {
    lists -= 1
  }
}

/** Max entries of lists that are assembled in the calling thread: starting another thread costs more. */
const maxInPlace = 2000

/** Entries that were read together. */
interface CrlPage {
  readonly count: number
  readonly packed: PackedEntries
}

/** Signer of a list; its key may be in another backend. */
type CrlSigner = Issuer & { readonly key: CertificateSigner }

/**
 * Signs a revocation list. A worker thread assembles a long list and has its data signed here: the key does not leave
 * this thread, and the rest of the work does not block it.
 * @param pages entries, some at a time
 * @returns DER
 */
async function makeCrl(pages: AsyncIterator<CrlPage>, dates: CrlDates, issuer: CrlSigner): Promise<Buffer> {
  const first: PackedEntries[] = []
  let count = 0
  for (let page = await pages.next(); page.done !== true; page = await pages.next()) {
    first.push(page.value.packed)
    count += page.value.count
    if (count > maxInPlace) return trackList(() => inThread(first, pages, dates, issuer))
  }
  const chunks = first.flatMap((packed) => encodeEntries(unpackEntries(packed)).chunks)
  return issueCrl({ ...dates, number: BigInt(dates.number), entries: { chunks } }, issuer)
}

async function inThread(
  first: readonly PackedEntries[],
  rest: AsyncIterator<CrlPage>,
  dates: CrlDates,
  { key, name, spki, keyIdentifier }: CrlSigner,
): Promise<Buffer> {
  const worker = new Worker(new URL('./crl-thread.ts', import.meta.url), { name: 'crl' })
  const made = new Promise<Buffer>((resolve, reject) => {
    worker.on('error', reject)
    worker.on('exit', () => reject(new Error('the thread that signs revocation lists has ended')))
    worker.on('message', (message: FromCrlThread) => {
      if (message.type === 'crl')
        resolve(Buffer.from(message.der.buffer, message.der.byteOffset, message.der.length))
      else if (message.type === 'failed') reject(new Error(message.problem))
      else
        key
          .sign(message.data)
          .then((signature) => worker.postMessage({ type: 'signature', signature } satisfies ToCrlThread))
          .catch(reject)
    })
  })
  const send = (message: ToCrlThread): void => worker.postMessage(message)
  // An error while the pages are read is reported by `made`, once they are.
  made.catch(() => undefined)
  try {
    for (const packed of first) send({ type: 'entries', packed })
    for (let page = await rest.next(); page.done !== true; page = await rest.next()) {
      send({ type: 'entries', packed: page.value.packed })
      await setImmediate()
    }
    send({ type: 'issue', dates, issuer: { name, spki, keyIdentifier, algorithm: key.algorithm } })
    return await made
  } finally {
    await worker.terminate()
  }
}

/** Entries per read, which takes the database some milliseconds. */
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
