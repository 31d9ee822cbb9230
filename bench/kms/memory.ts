import { parseArgs } from 'node:util'
import type { HttpsClient } from '@warder/command-line/https-client'
import { startInstallation } from 'warder/testing'
import { median } from '../median.ts'
import { measureCost } from '../server/cost.ts'

/**
 * Runs very many operations on a started service and measures its memory, which must not grow after warm-up. Every
 * round makes keys, uses them in batches, is refused, and destroys them again, so that caches and counters turn over.
 *
 * Run: `node bench/kms/memory.ts [--operations 10000000] [--connections 8]`; exit code 1 when memory grew.
 */
const { values } = parseArgs({
  options: {
    operations: { type: 'string', default: '10000000' },
    connections: { type: 'string', default: '8' },
  },
})
const wanted = Number(values.operations)
const itemsOfBatch = 1000
/** The first part of the run warms caches and the heap; growth is measured after it. */
const warmShare = 0.4
const most = 1.1
const print = (line: string): void => void process.stdout.write(`${line}\n`)

const warder = await startInstallation()
const headers = { authorization: `Bearer ${await warder.adminToken()}` }

const pid = warder.pid('kms')
const samples: { readonly done: number; readonly mib: number }[] = []
let done = 0
let shown = 0

async function work(kms: HttpsClient): Promise<void> {
  const post = async (path: string, json: unknown): Promise<Readonly<Record<string, never>>> => {
    const answer = await kms.ask(path, { json, headers })
    if (answer.status !== 200)
      throw new Error(`${path} answered ${answer.status}: ${answer.text.slice(0, 200)}`)
    return answer.json as Readonly<Record<string, never>>
  }
  while (done < wanted) {
    const { kid: aes } = await post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', tags: ['memory'] })
    const { kid: hmac } = await post('/v1/crypto/keys', { kty: 'oct', alg: 'HS256' })
    const data = Buffer.alloc(64, done).toString('base64url')
    const operations = Array.from({ length: itemsOfBatch }, (_, index) =>
      index % 3 === 0
        ? { op: 'mac', kid: hmac, alg: 'HS256', data }
        : index % 100 === 1
          ? { op: 'mac', kid: `nobody ${done} ${index}`, alg: 'HS256', data }
          : { op: 'encrypt', kid: aes, alg: 'dir', enc: 'A256GCM', data },
    )
    await post('/v1/crypto/batch', { operations })
    await post('/access/grant', {
      unique_identifier: aes,
      user_id: `user ${done}`,
      operation_types: ['encrypt'],
    })
    for (const kid of [aes, hmac]) await kms.ask(`/v1/crypto/keys/${kid}`, { method: 'DELETE', headers })
    done += itemsOfBatch + 5
    if (done - shown < wanted / 40) continue
    shown = done
    const { residentMiB: mib, cpuSeconds } = measureCost([pid])
    samples.push({ done, mib })
    print(
      `${done.toLocaleString('en').padStart(12)} operations   ${mib.toFixed(0).padStart(5)} MiB   ${cpuSeconds.toFixed(0)} s`,
    )
  }
}

const clients = Array.from({ length: Number(values.connections) }, () => warder.client('kms'))
try {
  await Promise.all(clients.map(work))
} finally {
  for (const client of clients) client.close()
  await warder.stop()
}
const warm = samples.filter((sample) => sample.done > wanted * warmShare)
const middle = Math.floor(warm.length / 2)
const memory = warm.map(({ mib }) => mib)
const growth = median(memory.slice(middle)) / median(memory.slice(0, middle))
print(`\nmemory of the second half of the warm part is ${growth.toFixed(3)} times that of the first`)
process.exitCode = growth < most ? 0 : 1
