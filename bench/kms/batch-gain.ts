import { readFileSync } from 'node:fs'
import { type KmsClient, kmsClient } from '@warder/client'
import type { Installation } from 'warder/testing'

/** Gain of batches for a program that uses `@warder/client`. */
export interface BatchGain {
  /** Values encrypted in a second by single calls. */
  readonly oneByOne: number
  /** … in batches of a hundred. */
  readonly inBatches: number
}

export interface BatchGainOptions {
  /** Callers at a time, each of whom waits for its answer. */
  readonly callers: number
  readonly rounds: number
  readonly seconds: number
}

const itemsOfBatch = 100
const warmupSeconds = 3

type Call = (kms: KmsClient) => Promise<number>

/** Measures both in turn. @returns the round in the middle, by their ratio */
export async function batchGain(warder: Installation, options: BatchGainOptions): Promise<BatchGain> {
  const client = kmsClient({
    url: warder.kmsUrl,
    ca: readFileSync(warder.caFile, 'utf8'),
    credentials: { bearer: await warder.adminToken() },
    maxConnections: 32,
  })
  try {
    const { kid } = await client.call('crypto.keys.create', { body: { kty: 'oct', alg: 'A256GCM' } })
    const item = { kid, alg: 'dir', enc: 'A256GCM', data: Buffer.alloc(64, 7).toString('base64url') }
    const operations = Array.from({ length: itemsOfBatch }, () => ({ op: 'encrypt', ...item }))
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
    const { callers, seconds } = options
    for (const call of [single, batch]) await perSecond(client, call, callers, warmupSeconds)
    const rounds: BatchGain[] = []
    for (let round = 0; round < options.rounds; round += 1)
      rounds.push({
        oneByOne: await perSecond(client, single, callers, seconds),
        inBatches: await perSecond(client, batch, callers, seconds),
      })
    const middle = rounds.toSorted((a, b) => computeGain(a) - computeGain(b))[rounds.length >> 1]
    if (middle === undefined) throw new Error('nothing was measured')
    return middle
  } finally {
    client.close()
  }
}

/** How many times the values. */
export function computeGain({ oneByOne, inBatches }: BatchGain): number {
  return inBatches / oneByOne
}

async function perSecond(client: KmsClient, call: Call, callers: number, seconds: number): Promise<number> {
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
