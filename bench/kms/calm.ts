import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import type { HttpsClient } from '@warder/command-line/https-client'
import { startInstallation } from 'warder/testing'
import { measureCost } from '../server/cost.ts'

/**
 * Measures what large encryptions cost a calm caller: one who encrypts 64 bytes every few milliseconds, alone and then
 * beside several who encrypt 10 MB at a time; and the memory of the service before, during and after.
 *
 * Run: `node bench/kms/calm.ts [--seconds 10] [--callers 8] [--megabytes 10]`
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    callers: { type: 'string', default: '8' },
    megabytes: { type: 'string', default: '10' },
  },
})
const milliseconds = Number(values.seconds) * 1000
const betweenMs = 5
/** After this time an idle service has released its memory. */
const restMs = 15_000
const print = (line: string): void => void process.stdout.write(`${line}\n`)
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const warder = await startInstallation()
const headers = {
  authorization: `Bearer ${await warder.adminToken()}`,
  'content-type': 'application/json',
}
const pid = warder.pid('kms')
const residentMiB = (): number => Math.round(measureCost([pid]).residentMiB)

async function post(kms: HttpsClient, path: string, json: unknown): Promise<{ readonly kid: string }> {
  const answer = await kms.ask(path, { json, headers })
  if (answer.status !== 200)
    throw new Error(`${path} answered ${answer.status}: ${answer.text.slice(0, 200)}`)
  return answer.json as { kid: string }
}

const calm = warder.client('kms')
const { kid } = await post(calm, '/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
const encryption = (bytes: number) => ({
  kid,
  alg: 'dir',
  enc: 'A256GCM',
  data: Buffer.alloc(bytes, 1).toString('base64url'),
})
const small = encryption(64)
const big = Buffer.from(JSON.stringify(encryption(Number(values.megabytes) * 1_000_000)))

async function latencies(): Promise<number[]> {
  const list: number[] = []
  for (const end = performance.now() + milliseconds; performance.now() < end; ) {
    const began = performance.now()
    await post(calm, '/v1/crypto/encrypt', small)
    list.push(performance.now() - began)
    await sleep(betweenMs)
  }
  return list.sort((a, b) => a - b)
}

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.floor(sorted.length * share)] ?? Number.NaN
const formatTimes = (list: readonly number[]): string =>
  `p50 ${at(list, 0.5).toFixed(2)} ms, p99 ${at(list, 0.99).toFixed(2)} ms, ${list.length} requests`

try {
  await latencies()
  const memoryBefore = residentMiB()
  const alone = await latencies()
  print(`alone    ${formatTimes(alone)}, ${memoryBefore} MiB`)
  const thread = new Worker(new URL('./large-callers.ts', import.meta.url), {
    workerData: {
      url: warder.kmsUrl,
      home: warder.home,
      headers,
      body: big,
      callers: Number(values.callers),
    },
  })
  await once(thread, 'online')
  const beside = await latencies()
  const memoryDuring = residentMiB()
  thread.postMessage('end')
  const [done] = (await once(thread, 'message')) as [number]
  print(`beside   ${formatTimes(beside)}, ${memoryDuring} MiB, ${done} large encryptions`)
  await sleep(restMs)
  print(`after    ${residentMiB()} MiB`)
  print(`p99 beside large encryptions is ${(at(beside, 0.99) / at(alone, 0.99)).toFixed(1)} times that alone`)
} finally {
  calm.close()
  await warder.stop()
}
