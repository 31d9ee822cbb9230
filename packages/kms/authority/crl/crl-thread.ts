// The thread that puts a long revocation list together. What is to be signed goes back to who has the key.
import { parentPort } from 'node:worker_threads'
import { giveWay } from '@warder/foundation/threads'
import { issueCrl } from '@warder/pki/x509/crl'
import {
  type CrlDates,
  type CrlIssuer,
  entryOf,
  type FromCrlThread,
  type ToCrlThread,
} from './crl-messages.ts'
import type { PlainEntry } from './crl-store.ts'

const chunks: (readonly PlainEntry[])[] = []
let signed: ((signature: Buffer) => void) | undefined

function send(message: FromCrlThread): void {
  parentPort?.postMessage(message)
}

function* entries() {
  for (const chunk of chunks) for (const entry of chunk) yield entryOf(entry)
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
    const crl = { ...dates, number: BigInt(dates.number), entries: entries() }
    send({ type: 'crl', der: await issueCrl(crl, { ...issuer, key }) })
  } catch (error) {
    send({ type: 'failed', problem: String(error) })
  }
}

giveWay()
parentPort?.on('message', (message: ToCrlThread) => {
  switch (message.type) {
    case 'entries':
      chunks.push(message.entries)
      return
    case 'issue':
      void issue(message.dates, message.issuer)
      return
    case 'signature':
      signed?.(Buffer.from(message.signature))
  }
})
