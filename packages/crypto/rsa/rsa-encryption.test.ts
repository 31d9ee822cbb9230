import assert from 'node:assert/strict'
import {
  constants,
  createPrivateKey,
  generateKeyPairSync,
  privateDecrypt,
  publicEncrypt,
  randomBytes,
} from 'node:crypto'
import { test } from 'node:test'
import type { CryptographicParameters } from '../algorithms/parameters.ts'
import { oasisRsa } from '../fixtures/oasis-rsa.ts'
import { decryptRsa, encryptRsa, planRsa } from './rsa-encryption.ts'

const anything = { fips: false }
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const plan = (parameters: CryptographicParameters) => planRsa(2048, parameters, anything)
const crypto = { code: 'decryption_failed' }

const label = Buffer.from('4b696c726f79207761732068657265', 'hex')
for (const [name, material, ciphertext, parameters] of [
  [
    'CS-AC-M-OAEP-2',
    oasisRsa.key2,
    oasisRsa.oaep2,
    { hashingAlgorithm: 'SHA_256', maskGeneratorHashingAlgorithm: 'SHA_256' },
  ],
  [
    'CS-AC-M-OAEP-4',
    oasisRsa.key4,
    oasisRsa.oaep4,
    { hashingAlgorithm: 'SHA_384', maskGeneratorHashingAlgorithm: 'SHA_384' },
  ],
  [
    'CS-AC-M-OAEP-6',
    oasisRsa.key6,
    oasisRsa.oaep6,
    { hashingAlgorithm: 'SHA_512', maskGeneratorHashingAlgorithm: 'SHA_512' },
  ],
  [
    'CS-AC-M-OAEP-8',
    oasisRsa.key8,
    oasisRsa.oaep8,
    { hashingAlgorithm: 'SHA_384', maskGeneratorHashingAlgorithm: 'SHA_256' },
  ],
  [
    'CS-AC-M-OAEP-10',
    oasisRsa.key8,
    oasisRsa.oaep10,
    { hashingAlgorithm: 'SHA_384', maskGeneratorHashingAlgorithm: 'SHA_256', pSource: label },
  ],
] as const) {
  test(`${name}: decrypts the standard's ciphertext, and its own`, async () => {
    const key = createPrivateKey({ key: Buffer.from(material, 'hex'), format: 'der', type: 'pkcs1' })
    const chosen = plan({
      paddingMethod: 'OAEP',
      cryptographicAlgorithm: 'RSA',
      maskGenerator: 'MGF1',
      ...parameters,
    })
    const data = Buffer.from(oasisRsa.oaepData, 'hex')
    assert.deepEqual(await decryptRsa(key, chosen, Buffer.from(ciphertext, 'hex')), data)
    assert.deepEqual(await decryptRsa(key, chosen, encryptRsa(key, chosen, data)), data)
  })
}

test('OAEP agrees with OpenSSL, with every hash, with and without a label, for empty to longest messages', async () => {
  for (const [hashingAlgorithm, oaepHash, bytes] of [
    ['SHA_1', 'sha1', 20],
    ['SHA_224', 'sha224', 28],
    ['SHA_256', 'sha256', 32],
    ['SHA_512', 'sha512', 64],
    ['SHA3_256', 'sha3-256', 32],
  ] as const) {
    for (const pSource of [Buffer.alloc(0), Buffer.from('label')]) {
      const chosen = plan({ hashingAlgorithm, pSource })
      const most = 256 - 2 * bytes - 2
      for (const data of [Buffer.alloc(0), randomBytes(1), randomBytes(most)]) {
        const options = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash, oaepLabel: pSource }
        assert.deepEqual(
          privateDecrypt({ key: privateKey, ...options }, encryptRsa(publicKey, chosen, data)),
          data,
        )
        assert.deepEqual(
          await decryptRsa(privateKey, chosen, publicEncrypt({ key: publicKey, ...options }, data)),
          data,
        )
      }
      assert.throws(() => encryptRsa(publicKey, chosen, Buffer.alloc(most + 1)), { code: 'invalid_input' })
    }
  }
})

test('every invalid OAEP ciphertext gets the same error', async () => {
  const chosen = plan({})
  const right = encryptRsa(publicKey, chosen, Buffer.from('secret'))
  const changed = Buffer.from(right)
  changed[100] = (changed[100] ?? 0) ^ 1
  const encodings = [
    Buffer.alloc(256, 0x01),
    Buffer.concat([Buffer.from([0]), randomBytes(255)]),
    Buffer.concat([Buffer.from([0]), Buffer.alloc(255, 0xff)]),
  ].map((encoded) => publicEncrypt({ key: publicKey, padding: constants.RSA_NO_PADDING }, encoded))
  const wrong = [
    changed,
    right.subarray(1),
    Buffer.concat([right, Buffer.alloc(1)]),
    Buffer.alloc(256),
    Buffer.alloc(256, 0xff),
    Buffer.alloc(0),
    ...encodings,
  ]
  for (const ciphertext of wrong) await assert.rejects(decryptRsa(privateKey, chosen, ciphertext), crypto)
  await assert.rejects(decryptRsa(privateKey, plan({ pSource: Buffer.from('other') }), right), crypto)
  await assert.rejects(
    decryptRsa(privateKey, plan({ maskGeneratorHashingAlgorithm: 'SHA_1' }), right),
    crypto,
  )
})

test("PKCS#1 v1.5 decrypts OpenSSL's ciphertexts, and never reports a wrong padding", async () => {
  const chosen = plan({ paddingMethod: 'PKCS1V1_5' })
  const data = Buffer.from('message')
  const made = encryptRsa(publicKey, chosen, data)
  assert.deepEqual(await decryptRsa(privateKey, chosen, made), data)
  const bad = publicEncrypt({ key: publicKey, padding: constants.RSA_NO_PADDING }, Buffer.alloc(256, 0x01))
  const first = await decryptRsa(privateKey, chosen, bad)
  assert.deepEqual(
    await decryptRsa(privateKey, chosen, bad),
    first,
    'asking twice tells no more than asking once',
  )
  await assert.rejects(decryptRsa(privateKey, chosen, made.subarray(1)), crypto)
  assert.throws(() => encryptRsa(publicKey, chosen, Buffer.alloc(246)), { code: 'invalid_input' })
})

test('padding None wraps data of any length under an AES key (CKM_RSA_AES_KEY_WRAP)', async () => {
  const chosen = plan({ paddingMethod: 'None', hashingAlgorithm: 'SHA_256' })
  for (const size of [1, 8, 3000]) {
    const data = randomBytes(size)
    const wrapped = encryptRsa(publicKey, chosen, data)
    assert.equal(wrapped.length, 256 + Math.ceil(size / 8) * 8 + 8)
    assert.deepEqual(await decryptRsa(privateKey, chosen, wrapped), data)
    wrapped[wrapped.length - 1] = (wrapped.at(-1) ?? 0) ^ 1
    await assert.rejects(decryptRsa(privateKey, chosen, wrapped), crypto)
  }
  await assert.rejects(decryptRsa(privateKey, chosen, Buffer.alloc(10)), crypto)
  assert.throws(() => encryptRsa(publicKey, chosen, Buffer.alloc(0)), { code: 'invalid_input' })
})

test('keys and paddings that do not encrypt, or not in FIPS mode, are refused by name', () => {
  const unsupported = { code: 'unsupported' }
  assert.throws(() => plan({ paddingMethod: 'PSS' }), unsupported)
  assert.throws(() => plan({ tagLength: 16 }), {
    ...unsupported,
    message: 'TagLength has no meaning for RSA-OAEP.',
  })
  assert.throws(() => plan({ hashingAlgorithm: 'MD2' }), unsupported)
  assert.throws(() => plan({ cryptographicAlgorithm: 'AES' }), { code: 'bad_parameters' })
  assert.throws(() => plan({ paddingMethod: 'PKCS1V1_5', hashingAlgorithm: 'SHA_1' }), unsupported)
  assert.throws(() => planRsa(1024, {}, { fips: true }), unsupported)
  assert.throws(() => planRsa(2048, { paddingMethod: 'PKCS1V1_5' }, { fips: true }), unsupported)
})
