import { setImmediate } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { type CertificateSigner, encodeEntries, type Issuer, issueCrl } from '@warder/pki'
import { type CrlDates, type FromCrlThread, type ToCrlThread, unpackEntries } from './crl-messages.ts'
import type { PackedEntries } from './crl-store.ts'

let lists = 0

/** Revocation lists that threads of this event loop are putting together. */
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

/** Some entries, as they were read together. */
export interface CrlPage {
  readonly count: number
  readonly packed: PackedEntries
}

/** Signer of a list, whose key may be kept elsewhere. */
export type CrlSigner = Issuer & { readonly key: CertificateSigner }

/**
 * Signs a revocation list. A worker thread assembles a long list and has its data signed here: the key does not leave
 * this thread, and the rest of the work does not block it.
 * @param pages entries, some at a time
 * @returns DER
 */
export async function makeCrl(
  pages: AsyncIterator<CrlPage>,
  dates: CrlDates,
  issuer: CrlSigner,
): Promise<Buffer> {
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
