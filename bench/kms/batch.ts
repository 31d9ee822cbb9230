import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type KmsClient, kmsClient } from '@warder/client'
import { startInstallation } from 'warder/testing'

/**
 * What batches are worth to a program that uses `@warder/client`: values encrypted in a second by single calls and by
 * batches of a hundred, in turn, for one caller who waits for each answer and for several at a time.
 *
 * Run: `node bench/kms/batch.ts [--seconds 3] [--rounds 5]`
 */
const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '3' }, rounds: { type: 'string', default: '5' } },
})
const itemsOfBatch = 100

const warder = await startInstallation({ env: { AUTH_WORKERS: '1', KMS_WORKERS: '1' } })
const client = kmsClient({
  url: warder.kmsUrl,
  ca: readFileSync(warder.caFile, 'utf8'),
  credentials: { bearer: await warder.adminToken() },
  maxConnections: 32,
})
const { kid } = await client.call('crypto.keys.create', { body: { kty: 'oct', alg: 'A256GCM' } })
const item = { kid, alg: 'dir', enc: 'A256GCM', data: Buffer.alloc(64, 7).toString('base64url') }
const operations = Array.from({ length: itemsOfBatch }, () => ({ op: 'encrypt', ...item }))

type Call = (kms: KmsClient) => Promise<number>
const single: Call = async (kms) => {
  const { ciphertext } = await kms.call('crypto.encrypt', { body: item })
  if (typeof ciphertext !== 'string') throw new Error('not encrypted')
  return 1
}
const batch: Call = async (kms) => {
  const { results } = await kms.call('crypto.batch', { body: { operations } })
  if (!results.every(({ status }) => status === 200)) throw new Error('not every item was encrypted')
  return results.length
}

async function perSecond(call: Call, callers: number, seconds: number): Promise<number> {
  const until = performance.now() + seconds * 1000
  let items = 0
  const caller = async (): Promise<void> => {
    while (performance.now() < until) {
      const done = await call(client)
      items += done
    }
  }
  const began = performance.now()
  await Promise.all(Array.from({ length: callers }, caller))
  return (items / (performance.now() - began)) * 1000
}

try {
  for (const callers of [1, 8]) {
    await perSecond(single, callers, 3)
    await perSecond(batch, callers, 3)
    const rounds: { readonly one: number; readonly hundred: number }[] = []
    for (let round = 0; round < Number(values.rounds); round += 1)
      rounds.push({
        one: await perSecond(single, callers, Number(values.seconds)),
        hundred: await perSecond(batch, callers, Number(values.seconds)),
      })
    const middle = rounds.toSorted((a, b) => a.hundred / a.one - b.hundred / b.one)[rounds.length >> 1]
    if (middle === undefined) throw new Error('nothing was measured')
    const { one, hundred } = middle
    process.stdout.write(
      `${callers} at a time: ${Math.round(one)} values/s one by one, ${Math.round(hundred)} in batches of ${itemsOfBatch}: ${(hundred / one).toFixed(1)} times\n`,
    )
  }
} finally {
  client.close()
  await warder.stop()
}
