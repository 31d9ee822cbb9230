import {
  algorithmFor,
  ContentKeys,
  decodeBase64Url,
  generateKey,
  jweDecryptOaep,
  jweEncryptOaep,
  openNow,
  sealNow,
} from '@warder/crypto'
import { oaepWrap, toDescribedKey } from '@warder/crypto/testing'
import { median } from '../median.ts'

/**
 * Times the decryption of tokens whose `encrypted_key` fails in different ways beside one whose key is right and whose
 * tag is wrong: an attacker must not see which it was (RFC 7516 §11.5). Prints the median of each and how far it is from the
 * right key, with the median difference between two runs of the same token as the measure of noise.
 *
 * Run: `node bench/timing/rsa-oaep.ts [rounds]`
 */
const rounds = Number(process.argv[2] ?? 1500)
const policy = { fips: false }
const encryption = algorithmFor('content encryption', 'A256GCM', policy)
const pair = await generateKey({ algorithm: 'RSA', alg: undefined, bits: 2048 })
if (!('private' in pair)) throw new TypeError('not a pair')

const secret = toDescribedKey(pair.private)
for (const name of ['RSA-OAEP', 'RSA-OAEP-256']) {
  const algorithm = algorithmFor('key management', name, policy)
  const jwe = await jweEncryptOaep(
    sealNow,
    pair.public,
    'timing',
    { name, algorithm },
    { name: 'A256GCM', encryption },
    Buffer.from('a message'),
    undefined,
  )
  const right = decodeBase64Url(jwe.encrypted_key, 'encrypted_key')
  const flipped = Buffer.from(right)
  flipped.writeUInt8(flipped.readUInt8(100) ^ 1, 100)
  const tokens: Readonly<Record<string, Buffer>> = {
    'right key, wrong tag': right,
    'the same again (noise)': right,
    'wrong padding': flipped,
    'key of another size': oaepWrap(algorithm.oaepHash, pair.public.key, Buffer.alloc(16)),
    'not below the modulus': Buffer.alloc(256, 255),
    'one byte short': right.subarray(1),
    'one byte long': Buffer.concat([right, Buffer.alloc(1)]),
    'all zero': Buffer.alloc(256),
  }
  const sealed = {
    protected: jwe.protected,
    iv: decodeBase64Url(jwe.iv, 'iv'),
    ciphertext: decodeBase64Url(jwe.ciphertext, 'ciphertext'),
    tag: Buffer.alloc(16),
    aad: undefined,
  }
  const contentKeys = new ContentKeys(1)
  const attempt = async (encryptedKey: Buffer): Promise<void> => {
    try {
      await jweDecryptOaep(openNow, contentKeys, secret, algorithm, encryption, encryptedKey, sealed)
    } catch {
      return
    }
    throw new Error('a wrong token opened')
  }
  const times = new Map<string, number[]>(Object.keys(tokens).map((token) => [token, []]))
  for (let round = -100; round < rounds; round += 1) {
    for (const token of shuffle(Object.keys(tokens))) {
      const start = process.hrtime.bigint()
      await attempt(tokens[token] as Buffer)
      const took = Number(process.hrtime.bigint() - start) / 1000
      if (round >= 0) times.get(token)?.push(took)
    }
  }
  const reference = median(times.get('right key, wrong tag') ?? [])
  process.stdout.write(`\n${name}, ${rounds} rounds, microseconds\n`)
  for (const [token, list] of times) {
    const middle = median(list)
    const apart = (middle - reference).toFixed(1)
    process.stdout.write(`  ${token.padEnd(26)} ${middle.toFixed(1).padStart(8)} ${apart.padStart(8)}\n`)
  }
}

/** Each round in another order, so that what runs before a token favours none. */
function shuffle(list: readonly string[]): readonly string[] {
  return list
    .map((item) => ({ item, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item)
}
