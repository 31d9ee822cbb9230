import { type ContentOpener, type ContentSealer, encodeBase64Url, openNow, sealNow } from '@warder/crypto'
import { type LargeBody, type RawReply, rawReply } from '@warder/server'
import { JobThread, type ThreadBounds } from './job-thread.ts'
import type { Job, Results } from './jobs.ts'

/**
 * Min size of bodies that are parsed, encrypted and decrypted on the thread: for smaller ones the transfer costs more.
 */
export const bulkBytes = 256 * 1024

const bounds: ThreadBounds = {
  maxBytes: 256 * 1024 * 1024,
  idleMs: 5_000,
  thread: new URL('./bulk-thread.ts', import.meta.url),
}

/** The thread of large data. The data of a job is transferred and must not be used again. */
export class BulkThread extends JobThread<Job, Results> {
  constructor(others: Partial<ThreadBounds> = {}) {
    super('large data', { ...bounds, ...others })
  }

  /** @throws failure('overloaded') when too much waits already */
  run<Type extends Job['type']>(job: Extract<Job, { type: Type }>, data: Uint8Array): Promise<Results[Type]> {
    return this.send(job, data.byteLength, [data.buffer as ArrayBuffer])
  }
}

/** Of this worker of the service. */
export const bulkThread = new BulkThread()

/** Large bodies whose `member` is base64url are read on the thread. */
export function largeMember(member: string): LargeBody {
  return { fromBytes: bulkBytes, read: (body) => bulkThread.run({ type: 'read', body, member }, body) }
}

/** Seals on the thread; the reply is the flattened JWE as JSON. */
export const sealLarge: ContentSealer<Promise<RawReply>> = async (held, plan, content) => {
  const { local: key } = held
  // A key of another place encrypts there.
  if (key === undefined) return jsonReply(Buffer.from(JSON.stringify(await sealNow(held, plan, content))))
  const { plaintext, ...rest } = content
  return jsonReply(await bulkThread.run({ type: 'seal', key, plan, plaintext, ...rest }, plaintext))
}

/** Decrypts on the thread; the reply names the key and contains the plaintext. */
export const openLarge =
  (kid: string): ContentOpener<Promise<RawReply>> =>
  async (held, plan, sealed, additional) => {
    const { local: key } = held
    if (key === undefined) {
      const data = await openNow(held, plan, sealed, additional)
      return jsonReply(Buffer.from(JSON.stringify({ kid, data: encodeBase64Url(data) })))
    }
    const { iv, ciphertext, tag } = sealed
    const job = { type: 'open', key, plan, iv, ciphertext, tag, additional, kid } as const
    return jsonReply(await bulkThread.run(job, ciphertext))
  }

function jsonReply(raw: Uint8Array): RawReply {
  return rawReply({ raw, contentType: 'application/json' })
}
