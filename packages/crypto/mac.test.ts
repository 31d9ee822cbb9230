import assert from 'node:assert/strict'
import { createSecretKey, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { digest, hashAlgorithm, requireHash } from './algorithms/hashes.ts'
import type { CryptographicParameters } from './algorithms/parameters.ts'
import { encapsulateFor, isKemKey, openEncapsulation, requireKem } from './kem.ts'
import { computeMac, planMac, sameTag } from './mac.ts'

const anything = { fips: false }
const hex = (text: string) => Buffer.from(text, 'hex')
const oasisData = hex('01020304050607080910111213141516')

const macs: readonly (readonly [string, string, string, CryptographicParameters, Buffer, string])[] = [
  [
    'CS-AC-M-4',
    'AES',
    '0123456789abcdef0123456789abcdef',
    { cryptographicAlgorithm: 'HMAC_SHA256' },
    oasisData,
    'c911e78196d64c30f631bb079ea37b97a95936d4da764d6a171df030c895ecf9',
  ],
  [
    'RFC 2202 case 2',
    'HMAC_SHA1',
    '4a656665',
    {},
    Buffer.from('what do ya want for nothing?'),
    'effcdf6ae5eb2fa2d27416d5f184df9c259a7c79',
  ],
  [
    'RFC 2202 case 2, MD5',
    'HMAC_MD5',
    '4a656665',
    {},
    Buffer.from('what do ya want for nothing?'),
    '750c783e6ab0b503eaa86e310a5db738',
  ],
  [
    'RFC 4231 case 2, SHA-224',
    'HMAC_SHA224',
    '4a656665',
    {},
    Buffer.from('what do ya want for nothing?'),
    'a30e01098bc6dbbf45690f3a7e9e6d0f8bbea2a39e6148008fd05e44',
  ],
  // RFC 4231 case 2; with SHA-3 the same key and text, as OpenSSL answers.
  ...(
    [
      [
        'HMAC_SHA384',
        'af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649',
      ],
      [
        'HMAC_SHA512',
        '164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737',
      ],
      ['HMAC_SHA3_224', '7fdb8dd88bd2f60d1b798634ad386811c2cfc85bfaf5d52bbace5e66'],
      ['HMAC_SHA3_256', 'c7d4072e788877ae3596bbb0da73b887c9171f93095b294ae857fbe2645e1ba5'],
      [
        'HMAC_SHA3_384',
        'f1101f8cbf9766fd6764d2ed61903f21ca9b18f57cf3e1a23ca13508a93243ce48c045dc007f26a21b3f5e0e9df4c20a',
      ],
      [
        'HMAC_SHA3_512',
        '5a4bfeab6166427c7a3647b747292b8384537cdb89afb3bf5665e4c5e709350b287baec921fd7ca0ee7a0c31d022a95e1fc92ba9d77df883960275beb4e62024',
      ],
    ] as const
  ).map(
    ([algorithm, expected]) =>
      [
        `case 2 with ${algorithm}`,
        algorithm,
        '4a656665',
        {},
        Buffer.from('what do ya want for nothing?'),
        expected,
      ] as const,
  ),
  [
    'RFC 4231 case 2, hash of the parameters',
    'AES',
    '4a656665',
    { hashingAlgorithm: 'SHA_256' },
    Buffer.from('what do ya want for nothing?'),
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  ],
  [
    'RFC 4493 example 2',
    'AES',
    '2b7e151628aed2a6abf7158809cf4f3c',
    {},
    hex('6bc1bee22e409f96e93d7e117393172a'),
    '070a16b46b4d4144f79bdd9dd04a287c',
  ],
  [
    'RFC 4493 example 1, asked for by name',
    'AES',
    '2b7e151628aed2a6abf7158809cf4f3c',
    { blockCipherMode: 'CMAC', cryptographicAlgorithm: 'AES' },
    Buffer.alloc(0),
    'bb1d6929e95937287fa37d129b756746',
  ],
]
for (const [name, algorithm, key, parameters, data, expected] of macs) {
  test(`MAC, ${name}: only the known answer verifies`, () => {
    const used = { algorithm, key: createSecretKey(hex(key)) }
    const plan = planMac(used, parameters, anything)
    assert.equal(computeMac(used.key, plan, data).toString('hex'), expected)
    assert.equal(sameTag(computeMac(used.key, plan, data), hex(expected)), true)
    assert.equal(sameTag(computeMac(used.key, plan, data), hex(expected).subarray(1)), false)
    assert.equal(sameTag(computeMac(used.key, plan, data), Buffer.alloc(0)), false)
    const changed = hex(expected)
    changed[3] = (changed[3] ?? 0) ^ 1
    assert.equal(sameTag(computeMac(used.key, plan, data), changed), false)
    assert.equal(sameTag(computeMac(used.key, plan, Buffer.concat([data, hex('00')])), hex(expected)), false)
  })
}

test('parameters that yield no MAC are refused by name', () => {
  const aes = { algorithm: 'AES', key: createSecretKey(Buffer.alloc(16)) } as const
  const unsupported = { code: 'unsupported' }
  assert.throws(() => planMac(aes, { blockCipherMode: 'CBCMAC' }, anything), {
    ...unsupported,
    message: 'BlockCipherMode CBCMAC is not supported for MACs.',
  })
  assert.throws(() => planMac(aes, { blockCipherMode: 'GCM' }, anything), unsupported)
  assert.throws(() => planMac(aes, { cryptographicAlgorithm: 'DES3' }, anything), {
    code: 'bad_parameters',
  })
  assert.throws(
    () => planMac(aes, { cryptographicAlgorithm: 'HMAC_SHA1', hashingAlgorithm: 'SHA_256' }, anything),
    { code: 'bad_parameters' },
  )
  assert.throws(
    () => planMac(aes, { blockCipherMode: 'CMAC', hashingAlgorithm: 'SHA_256' }, anything),
    unsupported,
  )
  assert.throws(() => planMac(aes, { tagLength: 12 }, anything), unsupported)
  const hmac = { algorithm: 'HMAC_SHA256', key: createSecretKey(Buffer.alloc(32)) } as const
  for (const parameters of [
    { cryptographicAlgorithm: 'HMAC_SHA1' },
    { hashingAlgorithm: 'SHA_512' },
  ] as const)
    assert.throws(() => planMac(hmac, parameters, anything), { code: 'bad_parameters' })
  assert.throws(() => planMac(aes, { cryptographicAlgorithm: 'HMAC_MD5' }, { fips: true }), unsupported)
  assert.throws(
    () => planMac({ algorithm: 'ChaCha20', key: createSecretKey(Buffer.alloc(32)) }, {}, anything),
    unsupported,
  )
  const { privateKey } = generateKeyPairSync('ed25519')
  assert.throws(
    () => planMac({ algorithm: 'Ed25519', key: privateKey }, { hashingAlgorithm: 'SHA_256' }, anything),
    { code: 'wrong_key' },
  )
})

test('CS-AC-M-7 and the empty message of FIPS 180-4, FIPS 202, RFC 1321: every hash', () => {
  const answers = [
    ['SHA_256', oasisData, 'ad41233d22cf9322e3a7ff49a13da434797abed3bab80950a1a0d4e582b7ea72'],
    [
      'SHA_512',
      oasisData,
      '406a806f76c06b90c8aca278995d4271037f91124ebfaba5475f1f59ee21ebe3a0cc7f5ca6f2183d360bcc762cef68713de7c6498eb08dc591075ca62f7a0717',
    ],
    ['MD5', Buffer.alloc(0), 'd41d8cd98f00b204e9800998ecf8427e'],
    ['RIPEMD_160', Buffer.alloc(0), '9c1185a5c5e9fc54612808977ee8f548b2258d31'],
    ['SHA_1', Buffer.alloc(0), 'da39a3ee5e6b4b0d3255bfef95601890afd80709'],
    ['SHA_224', Buffer.alloc(0), 'd14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f'],
    [
      'SHA_384',
      Buffer.alloc(0),
      '38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da274edebfe76f65fbd51ad2f14898b95b',
    ],
    ['SHA_512_224', Buffer.alloc(0), '6ed0dd02806fa89e25de060c19d3ac86cabb87d6a0ddd05c333b84f4'],
    ['SHA_512_256', Buffer.alloc(0), 'c672b8d1ef56ed28ab87c3622c5114069bdd3ad7b8f9737498d0c01ecef0967a'],
    ['SHA3_224', Buffer.alloc(0), '6b4e03423667dbb73b6e15454f0eb1abd4597f9a1b078e3f5b5a6bc7'],
    ['SHA3_256', Buffer.alloc(0), 'a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a'],
    [
      'SHA3_384',
      Buffer.alloc(0),
      '0c63a75b845e4f7d01107d852e4c2485c51a50aaaa94fc61995e71bbee983a2ac3713831264adb47fb6bd1e058d5f004',
    ],
    [
      'SHA3_512',
      Buffer.alloc(0),
      'a69f73cca23a9ac5c8b567dc185a756e97c982164fe25859e0d1dcc1475c80a615b2123af1f5f94c11e3e9402c3ac558f500199d95b6d3e301758586281dcd26',
    ],
  ] as const
  for (const [name, data, expected] of answers) {
    const hash = requireHash({ hashingAlgorithm: name }, anything)
    assert.equal(digest(hash, data).toString('hex'), expected)
    assert.equal(hash.bytes * 2, expected.length)
  }
  for (const name of ['MD2', 'MD4', 'Tiger', 'Whirlpool'] as const)
    assert.throws(() => hashAlgorithm(name, anything), { code: 'unsupported' })
  for (const name of ['MD5', 'RIPEMD_160'] as const)
    assert.throws(() => hashAlgorithm(name, { fips: true }), { code: 'unsupported' })
  assert.throws(() => requireHash({}, anything), { code: 'invalid_input' })
  const onlySha2 = { fips: false, lists: { hashes: new Set(['sha256']) } }
  assert.throws(() => hashAlgorithm('SHA_1', onlySha2), { kind: 'unsupported_algorithm' })
})

test('ML-KEM: the private key decapsulates what the public key encapsulates; another encapsulation yields another secret', () => {
  for (const type of ['ml-kem-512', 'ml-kem-768', 'ml-kem-1024'] as const) {
    const { privateKey, publicKey } = generateKeyPairSync(type as 'ml-kem-768')
    assert.equal(isKemKey(publicKey), true)
    requireKem(publicKey, {}, anything)
    const { secret, encapsulation } = encapsulateFor(publicKey)
    assert.equal(secret.length, 32)
    assert.deepEqual(openEncapsulation(privateKey, encapsulation), secret)
    const changed = Buffer.from(encapsulation)
    changed[0] = (changed[0] ?? 0) ^ 1
    assert.notDeepEqual(openEncapsulation(privateKey, changed), secret)
    assert.throws(() => openEncapsulation(privateKey, encapsulation.subarray(1)), {
      code: 'decryption_failed',
    })
    assert.throws(() => requireKem(publicKey, { cryptographicAlgorithm: 'RSA' }, anything), {
      code: 'bad_parameters',
    })
    assert.throws(() => requireKem(publicKey, {}, { fips: true }), {
      code: 'unsupported',
    })
  }
  assert.equal(isKemKey(generateKeyPairSync('ed25519').publicKey), false)
})
