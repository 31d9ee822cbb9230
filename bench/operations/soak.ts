import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { HttpsClient } from '@warder/command-line/https-client'
import { startInstallation } from 'warder/testing'

/**
 * Uses an installation at a bounded rate for a while, and prints how much memory its services take: whether it grows, and
 * where it ends. Keys are made, used, rotated, granted, listed and destroyed, users log in, and some requests are refused.
 *
 * Run: `nice -n 19 node bench/operations/soak.ts [--minutes 27] [--rate 60] [--keep 0.25] [--quiet 1]`. `keep` is the share of
 * keys that stay; `quiet` are minutes without requests at the end. The last line compares the last third of the busy time
 * with the third before.
 */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '27' },
    rate: { type: 'string', default: '60' },
    keep: { type: 'string', default: '0.25' },
    quiet: { type: 'string', default: '1' },
  },
})
const minutes = Number(values.minutes)
const everyMs = 1000 / Number(values.rate)
const keep = Number(values.keep)
const sampleEveryMs = 15_000
const maxUnderWay = 16
const services = ['auth', 'kms'] as const

interface Sample {
  readonly minute: number
  /** MiB: resident, and of that without a file behind it. */
  readonly auth: readonly [rss: number, anonymous: number]
  readonly kms: readonly [rss: number, anonymous: number]
}

const warder = await startInstallation()
const kms = warder.client('kms')
const headers = { authorization: `Bearer ${await warder.adminToken()}` }
const counts = { requests: 0, failures: 0, keys: 0 }

function readMemory(pid: number): readonly [number, number] {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  const mebibytes = (name: string): number =>
    Math.round(Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) / 1024)
  return [mebibytes('Rss'), mebibytes('Anonymous')]
}

async function ask(client: HttpsClient, path: string, options: object = {}): Promise<string> {
  const { status, text } = await client.ask(path, { headers, ...options })
  counts.requests += 1
  if (status >= 500) counts.failures += 1
  return text
}

/** The life of one key, with a login now and then. */
async function round(index: number): Promise<void> {
  const post = async (path: string, json: unknown) => JSON.parse(await ask(kms, path, { json }))
  const { kid } = await post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM', tags: [`soak-${index % 50}`] })
  const data = Buffer.alloc(256, index).toString('base64url')
  const jwe = await post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })
  await post('/v1/crypto/decrypt', jwe)
  await post('/access/grant', {
    unique_identifier: kid,
    user_id: `user ${index}`,
    operation_types: ['encrypt'],
  })
  await ask(kms, `/v1/crypto/keys/${kid}`)
  await ask(kms, `/v1/crypto/keys/nobody-${index}`)
  if (index % 5 === 0) await ask(kms, `/v1/crypto/keys/${kid}/rotate`, { json: {} })
  if (index % 20 === 0) await ask(kms, '/v1/crypto/keys?limit=50')
  if (index % 10 === 0) await warder.adminToken()
  if (Math.random() >= keep) await ask(kms, `/v1/crypto/keys/${kid}`, { method: 'DELETE' })
  else counts.keys += 1
}

const samples: Sample[] = []
const began = performance.now()
const minuteNow = (): number => (performance.now() - began) / 60_000
function sample(): void {
  const [auth, of] = services.map((name) => readMemory(warder.pid(name)))
  if (auth === undefined || of === undefined) return
  samples.push({ minute: minuteNow(), auth, kms: of })
  process.stdout.write(
    `${minuteNow().toFixed(2).padStart(6)} min  auth ${auth.join('/')} MiB  kms ${of.join('/')} MiB  ${counts.requests} requests, ${counts.failures} failures, ${counts.keys} keys\n`,
  )
}

const sampling = setInterval(sample, sampleEveryMs)
let underWay = 0
let index = 0
while (minuteNow() < minutes) {
  // A round has about eight requests.
  await setTimeout(everyMs * 8)
  if (underWay >= maxUnderWay) continue
  underWay += 1
  round(index++)
    .catch(() => {
      counts.failures += 1
    })
    .finally(() => {
      underWay -= 1
    })
}
const busy = samples.length
await setTimeout(Number(values.quiet) * 60_000)
sample()
clearInterval(sampling)
kms.close()
await warder.stop()

const mean = (from: number, to: number, name: 'auth' | 'kms'): number => {
  const part = samples.slice(Math.floor(busy * from), Math.floor(busy * to))
  return part.reduce((sum, one) => sum + one[name][0], 0) / Math.max(1, part.length)
}
for (const name of services) {
  const [middle, last] = [mean(1 / 3, 2 / 3, name), mean(2 / 3, 1, name)]
  process.stdout.write(
    `${name}: ${middle.toFixed(0)} MiB in the second third, ${last.toFixed(0)} MiB in the last: ${(last / middle).toFixed(2)} times\n`,
  )
}
