/**
 * Measures the cost of versions of keys: `node bench/kms/versions.ts [versions] [rounds]`, by default 1000 versions. A key that was
 * never rotated and one with so many versions encrypt and decrypt in turn, in batches of 100 over HTTPS, so that the
 * client weighs little. Prints the rate of the rotated key to that of the other, the round in the middle.
 */

import { startKms } from '@warder/kms/testing'

const versions = Number(process.argv[2] ?? 1000)
const rounds = Number(process.argv[3] ?? 15)
const itemsOfBatch = 100
const batchesOfTurn = 20

await using kms = await startKms()
const alice = kms.user('alice')
const data = Buffer.alloc(64, 7).toString('base64url')

async function makeKey(): Promise<string> {
  return (await alice.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).json.kid
}

const sealing = (kid: string) => ({ op: 'encrypt', kid, alg: 'dir', enc: 'A256GCM', data })
async function sealMessage(kid: string): Promise<object> {
  const { op: _op, ...body } = sealing(kid)
  return (await alice.post('/v1/crypto/encrypt', body)).json
}

/** Milliseconds of some batches of the same item. */
async function took(item: object): Promise<number> {
  const operations = Array.from({ length: itemsOfBatch }, () => item)
  const began = performance.now()
  for (let count = 0; count < batchesOfTurn; count += 1) {
    const { json } = await alice.post('/v1/crypto/batch', { operations })
    if (!json.results.every(({ status }: { status: number }) => status === 200))
      throw new Error('an item failed')
  }
  return performance.now() - began
}

async function ratio(plain: object, rotated: object): Promise<string> {
  await took(plain)
  await took(rotated)
  const all: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const first = round % 2 === 0 ? await took(plain) : undefined
    const second = await took(rotated)
    all.push((first ?? (await took(plain))) / second)
  }
  return (all.toSorted((a, b) => a - b)[rounds >> 1] ?? Number.NaN).toFixed(3)
}

const [plain, rotated] = [await makeKey(), await makeKey()]
const oldest = await sealMessage(rotated)
for (let version = 2; version <= versions; version += 1)
  await alice.post(`/v1/crypto/keys/${rotated}/rotate`, {})
const opening = async (kid: string) => ({ op: 'decrypt', ...(await sealMessage(kid)) })
const lines = [
  ['encrypt with the newest', await ratio(sealing(plain), sealing(rotated))],
  ['decrypt of the newest', await ratio(await opening(plain), await opening(rotated))],
  ['decrypt of the oldest', await ratio(await opening(plain), { op: 'decrypt', ...oldest })],
]
for (const [what, rate] of lines)
  process.stdout.write(`${what}, ${versions} versions: ${rate} of a key without versions\n`)
