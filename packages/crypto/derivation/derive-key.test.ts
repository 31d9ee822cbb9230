import assert from 'node:assert/strict'
import { createHmac, createSecretKey, generateKeyPairSync, pbkdf2Sync } from 'node:crypto'
import { test } from 'node:test'
import { type Derivation, deriveKey, maximumDerived, maximumIterations } from './derive-key.ts'

const anything = { fips: false }
const hex = (text: string) => Buffer.from(text, 'hex')
const nothing = {
  algorithm: undefined,
  agreement: undefined,
  parameters: {},
  initializationVector: undefined,
  derivationData: undefined,
  salt: undefined,
  iterationCount: undefined,
} as const
const derive = (derivation: Partial<Derivation> & Pick<Derivation, 'method' | 'secret' | 'length'>) =>
  deriveKey({ ...nothing, ...derivation }, anything)
const key32 = hex('000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f')
const fixed = Buffer.from('labelcontext')

const known: readonly (readonly [string, Parameters<typeof derive>[0], string])[] = [
  [
    'PBKDF2 with HMAC-SHA-1 (RFC 6070, case 2)',
    {
      method: 'PBKDF2',
      secret: Buffer.from('password'),
      salt: Buffer.from('salt'),
      iterationCount: 2,
      length: 20,
      parameters: { hashingAlgorithm: 'SHA_1' },
    },
    'ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957',
  ],
  [
    'PBKDF2 with HMAC-SHA-256 (RFC 7914 §11)',
    {
      method: 'PBKDF2',
      secret: Buffer.from('passwd'),
      salt: Buffer.from('salt'),
      iterationCount: 1,
      length: 64,
      parameters: { cryptographicAlgorithm: 'HMAC_SHA256' },
    },
    '55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783',
  ],
  [
    'HKDF with SHA-256 (RFC 5869 A.1)',
    {
      method: 'HKDF',
      secret: Buffer.alloc(22, 0x0b),
      salt: hex('000102030405060708090a0b0c'),
      derivationData: hex('f0f1f2f3f4f5f6f7f8f9'),
      length: 42,
    },
    '3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865',
  ],
  [
    'HASH of data',
    { method: 'HASH', secret: key32, derivationData: Buffer.from('abc'), length: 32 },
    'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  ],
  [
    'HASH of the key, cut',
    { method: 'HASH', secret: Buffer.from('abc'), length: 16, parameters: { hashingAlgorithm: 'SHA_1' } },
    'a9993e364706816aba3e25717850c26c',
  ],
  [
    'HMAC (RFC 4231, case 2)',
    {
      method: 'HMAC',
      secret: Buffer.from('Jefe'),
      derivationData: Buffer.from('what do ya want for nothing?'),
      length: 32,
    },
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  ],
  [
    'ENCRYPT with AES-128-ECB (SP 800-38A F.1.1)',
    {
      method: 'ENCRYPT',
      secret: hex('2b7e151628aed2a6abf7158809cf4f3c'),
      algorithm: 'AES',
      derivationData: hex('6bc1bee22e409f96e93d7e117393172a'),
      parameters: { blockCipherMode: 'ECB' },
      length: 16,
    },
    '3ad77bb40d7a3660a89ecaf32466ef97',
  ],
  [
    'ENCRYPT with AES-128-CBC and an IV (SP 800-38A F.2.1)',
    {
      method: 'ENCRYPT',
      secret: hex('2b7e151628aed2a6abf7158809cf4f3c'),
      algorithm: 'AES',
      derivationData: hex('6bc1bee22e409f96e93d7e117393172a'),
      initializationVector: hex('000102030405060708090a0b0c0d0e0f'),
      length: 16,
    },
    '7649abac8119b246cee98e9b12e9197d',
  ],
  // Made with `openssl kdf … KBKDF`, OpenSSL 3.0, without L and separator.
  [
    'SP 800-108 in counter mode',
    { method: 'NIST800_108C', secret: key32, derivationData: fixed, length: 40 },
    '5fbe62c62af6a793f057c9af9e825a9bde3c7c65926751ad49e026a82d49b5be240f82ed2307639e',
  ],
  [
    'SP 800-108 in feedback mode',
    {
      method: 'NIST800_108F',
      secret: key32,
      derivationData: fixed,
      initializationVector: hex('a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf'),
      length: 40,
    },
    'bab8ad349b33631c87cfcf9f2535754e442d2be55de4e602b188b482a42f7a5b7a2b167bbe2f4151',
  ],
  [
    'SP 800-108 in counter mode with CMAC',
    {
      method: 'NIST800_108C',
      secret: key32,
      derivationData: fixed,
      parameters: { blockCipherMode: 'CMAC' },
      length: 40,
    },
    '054eff2b52b6892dad81a2ac2bde6d0c3c3b568545108800845c19c1570f3ac58bc19dbd0ff76345',
  ],
  [
    "AWS Signature Version 4 (the vendor's example)",
    {
      method: 'AWSSignatureVersion4',
      secret: Buffer.from('wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'),
      derivationData: Buffer.from('20120215/us-east-1/iam/aws4_request'),
      length: 32,
    },
    'f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d',
  ],
]
for (const [name, derivation, expected] of known) {
  test(`${name}: the known answer`, async () => {
    assert.equal((await derive(derivation)).toString('hex'), expected)
  })
}

test('SP 800-108 in double-pipeline mode: K(i) = PRF(A(i) ‖ [i] ‖ data), A(i) = PRF(A(i-1)), A(0) = data', async () => {
  const prf = (...parts: readonly Uint8Array[]) =>
    createHmac('sha384', key32).update(Buffer.concat(parts)).digest()
  const first = prf(fixed)
  const second = prf(first)
  const expected = Buffer.concat([prf(first, hex('0001'), fixed), prf(second, hex('0002'), fixed)]).subarray(
    0,
    70,
  )
  const parameters = { cryptographicAlgorithm: 'HMAC_SHA384', counterLength: 16 } as const
  const made = await derive({
    method: 'NIST800_108DPI',
    secret: key32,
    derivationData: fixed,
    length: 70,
    parameters,
  })
  assert.deepEqual(made, expected)
})

test('both parties of a curve agree on one secret, and a third does not', async () => {
  for (const make of [
    () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    () => generateKeyPairSync('ec', { namedCurve: 'P-521' }),
    () => generateKeyPairSync('x25519'),
    () => generateKeyPairSync('x448'),
  ]) {
    const [one, two] = [make(), make()]
    const length = 32
    const agreed = (own: typeof one.privateKey, other: typeof one.publicKey) =>
      derive({ method: 'AsymmetricKey', secret: Buffer.alloc(0), agreement: { own, other }, length })
    const shared = await agreed(one.privateKey, two.publicKey)
    assert.equal(shared.length, length)
    assert.deepEqual(await agreed(two.privateKey, one.publicKey), shared)
    assert.deepEqual(await agreed(two.privateKey, one.privateKey), shared)
    assert.notDeepEqual(await agreed(one.privateKey, make().publicKey), shared)
    await assert.rejects(agreed(one.publicKey, two.publicKey), { code: 'invalid_input' })
    const other = generateKeyPairSync('ec', { namedCurve: 'P-384' })
    await assert.rejects(agreed(one.privateKey, other.publicKey), { code: 'invalid_input' })
  }
  const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const agreement = { own: rsa.privateKey, other: rsa.publicKey }
  await assert.rejects(derive({ method: 'AsymmetricKey', secret: Buffer.alloc(0), agreement, length: 16 }), {
    code: 'invalid_input',
  })
})

test('a point that yields no secret is refused', async () => {
  const { privateKey } = generateKeyPairSync('x25519')
  const { createPublicKey } = await import('node:crypto')
  const der = Buffer.concat([hex('302a300506032b656e032100'), Buffer.alloc(32)])
  const agreement = { own: privateKey, other: createPublicKey({ key: der, format: 'der', type: 'spki' }) }
  await assert.rejects(derive({ method: 'AsymmetricKey', secret: Buffer.alloc(0), agreement, length: 32 }), {
    code: 'failed',
  })
})

test('missing, too long and unbounded parameters are refused', async () => {
  const refusals: readonly (readonly [Parameters<typeof derive>[0], string])[] = [
    [{ method: 'PBKDF2', secret: key32, iterationCount: 1, length: 16 }, 'invalid_input'],
    [{ method: 'PBKDF2', secret: key32, salt: fixed, iterationCount: 0, length: 16 }, 'invalid_input'],
    [
      { method: 'PBKDF2', secret: key32, salt: fixed, iterationCount: maximumIterations + 1, length: 16 },
      'invalid_input',
    ],
    [
      { method: 'PBKDF2', secret: key32, salt: fixed, iterationCount: maximumIterations, length: 64 },
      'invalid_input',
    ],
    [{ method: 'HMAC', secret: key32, length: 16 }, 'invalid_input'],
    [{ method: 'HMAC', secret: key32, derivationData: fixed, length: 33 }, 'invalid_input'],
    [{ method: 'HASH', secret: key32, length: 33 }, 'invalid_input'],
    [{ method: 'HASH', secret: key32, length: 0 }, 'invalid_input'],
    [{ method: 'HASH', secret: key32, length: maximumDerived + 1 }, 'invalid_input'],
    [
      { method: 'HKDF', secret: key32, length: 255 * 20 + 1, parameters: { hashingAlgorithm: 'SHA_1' } },
      'invalid_input',
    ],
    [
      {
        method: 'NIST800_108C',
        secret: key32,
        derivationData: fixed,
        length: maximumDerived,
        parameters: { counterLength: 8 },
      },
      'invalid_input',
    ],
    [{ method: 'NIST800_108C', secret: key32, length: 16 }, 'invalid_input'],
    [
      {
        method: 'NIST800_108C',
        secret: key32,
        derivationData: fixed,
        length: 16,
        parameters: { counterLength: 33 },
      },
      'unsupported',
    ],
    [{ method: 'ENCRYPT', secret: key32, derivationData: fixed, length: 16 }, 'invalid_input'],
    [
      {
        method: 'ENCRYPT',
        secret: key32,
        algorithm: 'AES',
        derivationData: fixed,
        length: 16,
        parameters: { blockCipherMode: 'GCM' },
      },
      'unsupported',
    ],
    [
      {
        method: 'ENCRYPT',
        secret: key32,
        algorithm: 'AES',
        derivationData: fixed,
        length: 16,
        parameters: { paddingMethod: 'ISO10126' },
      },
      'unsupported',
    ],
    [{ method: 'AsymmetricKey', secret: key32, length: 16 }, 'invalid_input'],
    [
      { method: 'HMAC', secret: key32, derivationData: fixed, length: 16, parameters: { tagLength: 12 } },
      'unsupported',
    ],
    [
      {
        method: 'HMAC',
        secret: key32,
        derivationData: fixed,
        length: 16,
        parameters: { cryptographicAlgorithm: 'AES' },
      },
      'unsupported',
    ],
    [
      {
        method: 'HMAC',
        secret: key32,
        derivationData: fixed,
        length: 16,
        parameters: { cryptographicAlgorithm: 'HMAC_SHA256', hashingAlgorithm: 'SHA_1' },
      },
      'bad_parameters',
    ],
    [
      {
        method: 'AWSSignatureVersion4',
        secret: key32,
        derivationData: Buffer.from('20120215/us-east-1/iam'),
        length: 32,
      },
      'invalid_input',
    ],
  ]
  for (const [derivation, code] of refusals)
    await assert.rejects(derive(derivation), { code }, JSON.stringify(derivation))
})

test('PBKDF2 without a hash is HMAC-SHA-1 (RFC 6070, case 2)', async () => {
  const salt = Buffer.from('salt')
  const secret = Buffer.from('password')
  const made = await derive({ method: 'PBKDF2', secret, salt, iterationCount: 2, length: 20 })
  assert.deepEqual(made, pbkdf2Sync(secret, salt, 2, 20, 'sha1'))
})

test('PBKDF2 defaults to 600,000 iterations, and FIPS mode has minimum values', async () => {
  const password = Buffer.from('password')
  const told = await derive({
    method: 'PBKDF2',
    secret: password,
    salt: fixed,
    iterationCount: 600_000,
    length: 16,
  })
  assert.deepEqual(await derive({ method: 'PBKDF2', secret: password, salt: fixed, length: 16 }), told)
  const short = { ...nothing, method: 'PBKDF2', secret: password, salt: fixed, length: 16 } as const
  await assert.rejects(deriveKey(short, { fips: true }), { code: 'unsupported' })
})

test('a derivation does not change the secret', async () => {
  const secret = Buffer.from(key32)
  for (const method of ['HASH', 'HMAC', 'HKDF', 'NIST800_108C'] as const)
    await derive({ method, secret, derivationData: fixed, length: 16 })
  assert.deepEqual(secret, key32)
  assert.equal(createSecretKey(secret).symmetricKeySize, 32)
})
