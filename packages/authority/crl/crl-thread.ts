// The thread that assembles a long revocation list. It sends the data to be signed back to the thread with the key.
import { parentPort } from 'node:worker_threads'
import { lowerThreadPriority } from '@warder/base'
import { encodeEntries, issueCrl } from '@warder/pki'
import type { PackedEntries } from './crl-store.ts'
import {
  type CrlDates,
  type CrlIssuer,
  type FromCrlThread,
  type ToCrlThread,
  unpackEntries,
} from './make-crl.ts'

/** Pages are encoded as they arrive, while the next ones are read. */
const chunks: Uint8Array[] = []
let problem: unknown
let signed: ((signature: Buffer) => void) | undefined

function send(message: FromCrlThread, moved: ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, moved)
}

function take(packed: PackedEntries): void {
  try {
    chunks.push(...encodeEntries(unpackEntries(packed)).chunks)
  } catch (error) {
    problem ??= error
  }
}

async function issue(dates: CrlDates, { algorithm, ...issuer }: CrlIssuer): Promise<void> {
  const key = {
    algorithm: Buffer.from(algorithm),
    sign(data: Uint8Array) {
      const signature = new Promise<Buffer>((resolve) => {
        signed = resolve
      })
      send({ type: 'sign', data })
      return signature
    },
  }
  try {
    if (problem !== undefined) throw problem
    const crl = { ...dates, number: BigInt(dates.number), entries: { chunks } }
    const der = await issueCrl(crl, { ...issuer, key })
    // The bytes are transferred without a copy: a list of this size is not a slice of a buffer pool.
    const { buffer, byteLength } = der
    send({ type: 'crl', der }, buffer.byteLength === byteLength ? [buffer as ArrayBuffer] : [])
  } catch (error) {
    send({ type: 'failed', problem: String(error) })
  }
}

lowerThreadPriority()
parentPort?.on('message', (message: ToCrlThread) => {
  switch (message.type) {
    case 'entries':
      take(message.packed)
      return
    case 'issue':
      void issue(message.dates, message.issuer)
      return
    case 'signature':
      signed?.(Buffer.from(message.signature))
  }
})
