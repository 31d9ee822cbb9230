import assert from 'node:assert/strict'
import {
  constants,
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { test } from 'node:test'
import type { CryptographicParameters } from '../algorithms/parameters.ts'
import { oasisRsa } from '../fixtures/oasis-rsa.ts'
import { signWith, verifyOffLoop, verifyWith } from './sign.ts'
import { joseSignature, planSignature } from './signature-plan.ts'

const anything = { fips: false }
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const data = Buffer.from('what is signed')

function signPlan(key: KeyObject, parameters: CryptographicParameters, digestBytes?: number) {
  return planSignature(key, parameters, anything, 'sign', digestBytes)
}
function verifyPlan(key: KeyObject, parameters: CryptographicParameters, digestBytes?: number) {
  return planSignature(key, parameters, anything, 'verify', digestBytes)
}

test('CS-AC-M-2: PSS with SHA-256 and a default salt; changed data and signatures are invalid', () => {
  const key = createPublicKey({ key: Buffer.from(oasisRsa.pssKey, 'hex'), format: 'der', type: 'pkcs1' })
  const plan = verifyPlan(key, {
    paddingMethod: 'PSS',
    hashingAlgorithm: 'SHA_256',
    cryptographicAlgorithm: 'RSA',
  })
  const signature = Buffer.from(oasisRsa.pssSignature, 'hex')
  const signed = Buffer.from(oasisRsa.pssData, 'hex')
  assert.equal(verifyWith(key, plan, { data: signed }, signature), true)
  assert.equal(
    verifyWith(key, plan, { data: Buffer.from(`ff${oasisRsa.pssData.slice(2)}`, 'hex') }, signature),
    false,
  )
  assert.equal(
    verifyWith(key, plan, { data: signed }, Buffer.from(`ff${oasisRsa.pssSignature.slice(2)}`, 'hex')),
    false,
  )
  assert.equal(
    verifyWith(key, plan, { digest: createHash('sha256').update(signed).digest() }, signature),
    true,
  )
  const sha1 = verifyPlan(key, { paddingMethod: 'PSS', hashingAlgorithm: 'SHA_1' })
  assert.equal(verifyWith(key, sha1, { data: signed }, signature), false, 'CS-AC-M-3: another hash')
})

const pairs: readonly (readonly [
  string,
  { readonly privateKey: KeyObject; readonly publicKey: KeyObject },
  CryptographicParameters,
])[] = [
  ['RSA without parameters', rsa, {}],
  [
    'RSASSA-PSS',
    rsa,
    { digitalSignatureAlgorithm: 'RSASSA_PSS', hashingAlgorithm: 'SHA_384', saltLength: 10 },
  ],
  [
    'PSS, mask of another hash',
    rsa,
    { paddingMethod: 'PSS', maskGenerator: 'MGF1', maskGeneratorHashingAlgorithm: 'SHA_1', trailerField: 1 },
  ],
  ['PKCS#1 v1.5', rsa, { paddingMethod: 'PKCS1V1_5' }],
  ...(
    [
      'SHA_1',
      'SHA_224',
      'SHA_384',
      'SHA_512',
      'SHA_512_224',
      'SHA_512_256',
      'SHA3_256',
      'SHA3_512',
      'MD5',
      'RIPEMD_160',
    ] as const
  ).map(
    (hashingAlgorithm) =>
      [`PKCS#1 v1.5 ${hashingAlgorithm}`, rsa, { paddingMethod: 'PKCS1V1_5', hashingAlgorithm }] as const,
  ),
  [
    'SHA_256WithRSAEncryption',
    rsa,
    { digitalSignatureAlgorithm: 'SHA_256WithRSAEncryption', cryptographicAlgorithm: 'RSA' },
  ],
  ...['secp224r1', 'P-256', 'P-384', 'P-521', 'secp256k1'].map(
    (namedCurve) =>
      [
        `ECDSA ${namedCurve}`,
        generateKeyPairSync('ec', { namedCurve }),
        { hashingAlgorithm: 'SHA_256' },
      ] as const,
  ),
  [
    'ECDSAWithSHA512',
    generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    { digitalSignatureAlgorithm: 'ECDSAWithSHA512' },
  ],
  ['Ed25519', generateKeyPairSync('ed25519'), { cryptographicAlgorithm: 'Ed25519' }],
  ['Ed448', generateKeyPairSync('ed448'), {}],
  ['ML-DSA-44', generateKeyPairSync('ml-dsa-44'), { cryptographicAlgorithm: 'ML_DSA_44' }],
  ['ML-DSA-87', generateKeyPairSync('ml-dsa-87'), {}],
  [
    'SLH-DSA-SHA2-128f',
    generateKeyPairSync('slh-dsa-sha2-128f'),
    { cryptographicAlgorithm: 'SLH_DSA_SHA2_128f' },
  ],
  [
    'SLH-DSA-SHAKE-128f',
    generateKeyPairSync('slh-dsa-shake-128f'),
    { cryptographicAlgorithm: 'SLH_DSA_SHAKE_128f' },
  ],
  [
    'DSA',
    generateKeyPairSync('dsa', { modulusLength: 1024, divisorLength: 160 }),
    { digitalSignatureAlgorithm: 'DSAWithSHA_1' },
  ],
]
for (const [name, { privateKey, publicKey }, parameters] of pairs) {
  test(`${name}: a signature verifies with both keys of the pair, and anything else does not`, async () => {
    const signature = await signWith(privateKey, signPlan(privateKey, parameters), { data })
    const plan = verifyPlan(publicKey, parameters)
    for (const verify of [verifyWith, verifyOffLoop]) {
      assert.equal(await verify(publicKey, plan, { data }, signature), true)
      assert.equal(await verify(privateKey, plan, { data }, signature), true)
      assert.equal(await verify(publicKey, plan, { data: Buffer.from('else') }, signature), false)
    }
    for (const wrong of [
      Buffer.alloc(0),
      signature.subarray(1),
      Buffer.concat([signature, Buffer.alloc(1)]),
      Buffer.alloc(signature.length),
    ]) {
      assert.equal(verifyWith(publicKey, plan, { data }, wrong), false)
      assert.equal(await verifyOffLoop(publicKey, plan, { data }, wrong), false)
    }
  })
}

test('a digest from the client gets the signature of its data', async () => {
  for (const [hash, name] of [
    ['sha256', 'SHA_256'],
    ['sha384', 'SHA_384'],
    ['sha3-512', 'SHA3_512'],
    ['sha1', 'SHA_1'],
  ] as const) {
    const digest = createHash(hash).update(data).digest()
    for (const paddingMethod of ['PKCS1V1_5', 'PSS'] as const) {
      const parameters = { paddingMethod, hashingAlgorithm: name }
      const signature = await signWith(rsa.privateKey, signPlan(rsa.privateKey, parameters, digest.length), {
        digest,
      })
      const padding = paddingMethod === 'PSS' ? constants.RSA_PKCS1_PSS_PADDING : constants.RSA_PKCS1_PADDING
      assert.equal(verify(hash, data, { key: rsa.publicKey, padding }, signature), true)
      const theirs = sign(hash, data, { key: rsa.privateKey, padding })
      const plan = verifyPlan(rsa.publicKey, parameters, digest.length)
      assert.equal(verifyWith(rsa.publicKey, plan, { digest }, theirs), true)
      assert.equal(verifyWith(rsa.publicKey, plan, { digest: Buffer.alloc(digest.length) }, theirs), false)
    }
  }
})

const primeCurves = ['P-256', 'P-384', 'P-521', 'secp224r1', 'secp256k1', 'secp160r1', 'brainpoolP320t1']
for (const namedCurve of primeCurves) {
  test(`ECDSA ${namedCurve}: a digest from the client gets the signature of its data`, async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
    for (const [name, hashingAlgorithm] of [
      ['sha1', 'SHA_1'],
      ['sha256', 'SHA_256'],
      ['sha512', 'SHA_512'],
    ] as const) {
      const digest = createHash(name).update(data).digest()
      const parameters = { hashingAlgorithm }
      const made = await signWith(privateKey, signPlan(privateKey, parameters, digest.length), { digest })
      assert.equal(verify(name, data, publicKey, made), true)
      const theirs = sign(name, data, privateKey)
      const plan = verifyPlan(publicKey, parameters, digest.length)
      for (const key of [publicKey, privateKey]) assert.equal(verifyWith(key, plan, { digest }, theirs), true)
      assert.equal(verifyWith(publicKey, plan, { digest: Buffer.alloc(digest.length) }, theirs), false)
      assert.equal(verifyWith(publicKey, plan, { digest: Buffer.alloc(digest.length, 1) }, made), false)
      const { publicKey: stranger } = generateKeyPairSync('ec', { namedCurve })
      assert.equal(verifyWith(stranger, plan, { digest }, theirs), false)
      for (let at = 0; at < theirs.length; at += 7) {
        const wrong = Buffer.from(theirs)
        wrong[at] = (wrong[at] ?? 0) ^ 1
        assert.equal(verifyWith(publicKey, plan, { digest }, wrong), false)
      }
      for (const wrong of [
        '',
        '00',
        '3000',
        '3006020100020100',
        '3006020101020100',
        '3003020101',
        '30060201ff020101',
      ])
        assert.equal(verifyWith(publicKey, plan, { digest }, Buffer.from(wrong, 'hex')), false)
    }
  })
}

test('the length of a digest determines its hash; RSA refuses other lengths', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pairs = [
    [privateKey, publicKey, undefined],
    [rsa.privateKey, rsa.publicKey, constants.RSA_PKCS1_PSS_PADDING],
  ] as const
  for (const [name, bytes] of [
    ['sha1', 20],
    ['sha256', 32],
    ['sha384', 48],
    ['sha512', 64],
  ] as const) {
    const digest = createHash(name).update(data).digest()
    for (const [secret, open, padding] of pairs) {
      const made = await signWith(secret, signPlan(secret, {}, bytes), { digest })
      assert.equal(verify(name, data, { key: open, ...(padding !== undefined && { padding }) }, made), true)
    }
    const pkcs1 = { paddingMethod: 'PKCS1V1_5' } as const
    const made = await signWith(rsa.privateKey, signPlan(rsa.privateKey, pkcs1, bytes), { digest })
    assert.equal(verify(name, data, { key: rsa.publicKey, padding: constants.RSA_PKCS1_PADDING }, made), true)
  }
  // 36: MD5 and SHA-1 together, as TLS 1.1 signed them.
  const refused = (key: KeyObject, bytes: number) =>
    assert.throws(() => signPlan(key, {}, bytes), {
      code: 'invalid_input',
      message: `The length of DigestedData, ${bytes} bytes, does not determine the hash: set HashingAlgorithm.`,
    })
  for (const bytes of [0, 1, 16, 36, 51]) refused(rsa.privateKey, bytes)
  refused(privateKey, 0)
})

test('ECDSA signs a digest of any length without a named hash (FIPS 186-5 §6.4.1)', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const known = createHash('sha256').update(data).digest()
  for (const bytes of [1, 16, 36, 51, 65, 200]) {
    const digest = Buffer.alloc(bytes, known)
    const made = await signWith(privateKey, signPlan(privateKey, {}, bytes), { digest })
    assert.equal(verifyWith(publicKey, verifyPlan(publicKey, {}, bytes), { digest }, made), true)
    // The curve has 256 bits: of a longer digest the leftmost ones are signed, which are those of SHA-256 here.
    assert.equal(verify('sha256', data, publicKey, made), bytes >= 32)
    assert.deepEqual(joseSignature(privateKey, signPlan(privateKey, {}, bytes)), [])
  }
  assert.throws(() => planSignature(privateKey, {}, { ...anything, fips: true }, 'sign', 36), {
    code: 'unsupported',
  })
})

test('keys that cannot sign digests refuse them by name', async () => {
  const digest = createHash('sha512').update(data).digest()
  const unsupported = { code: 'unsupported' }
  for (const { privateKey, publicKey } of [
    generateKeyPairSync('ed25519'),
    generateKeyPairSync('ed448'),
    generateKeyPairSync('ml-dsa-44'),
  ]) {
    assert.throws(() => signPlan(privateKey, {}, digest.length), unsupported)
    assert.throws(() => verifyPlan(publicKey, {}, digest.length), unsupported)
  }
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'sect233k1' })
  await assert.rejects(signWith(privateKey, signPlan(privateKey, {}, 64), { digest }), unsupported)
  const theirs = sign('sha512', data, privateKey)
  assert.throws(() => verifyWith(publicKey, verifyPlan(publicKey, {}, 64), { digest }, theirs), unsupported)
})

test('a PSS signature with another mask hash agrees with OpenSSL', async () => {
  const parameters = {
    hashingAlgorithm: 'SHA_256',
    maskGeneratorHashingAlgorithm: 'SHA_1',
    saltLength: 20,
  } as const
  const signature = await signWith(rsa.privateKey, signPlan(rsa.privateKey, parameters), { data })
  // The same key with RSASSA-PSS-params (RFC 4055 §3.1) of SHA-256 and defaults: MGF1 with SHA-1, salt of 20 bytes.
  const spki = rsa.publicKey.export({ format: 'der', type: 'spki' })
  const bits = spki.subarray(4 + 15)
  const algorithm = Buffer.from('301e06092a864886f70d01010a3011a00f300d06096086480165030402010500', 'hex')
  const length = algorithm.length + bits.length
  const der = Buffer.concat([Buffer.from([0x30, 0x82, length >> 8, length & 0xff]), algorithm, bits])
  const restricted = createPublicKey({ key: der, format: 'der', type: 'spki' })
  assert.equal(restricted.asymmetricKeyType, 'rsa-pss')
  assert.equal(verify('sha256', data, restricted, signature), true)
})

test('parameters that contradict the key or each other are refused by name', () => {
  const { privateKey: ec } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { privateKey: ed } = generateKeyPairSync('ed25519')
  const bad = { code: 'bad_parameters' }
  const unsupported = { code: 'unsupported' }
  assert.throws(() => signPlan(ec, { cryptographicAlgorithm: 'RSA' }), bad)
  assert.throws(() => signPlan(ec, { digitalSignatureAlgorithm: 'SHA_256WithRSAEncryption' }), bad)
  assert.throws(() => signPlan(ec, { paddingMethod: 'PSS' }), bad)
  assert.throws(
    () => signPlan(rsa.privateKey, { digitalSignatureAlgorithm: 'RSASSA_PSS', paddingMethod: 'PKCS1V1_5' }),
    bad,
  )
  assert.throws(
    () =>
      signPlan(rsa.privateKey, {
        digitalSignatureAlgorithm: 'SHA_256WithRSAEncryption',
        hashingAlgorithm: 'SHA_384',
      }),
    bad,
  )
  assert.throws(
    () => signPlan(rsa.privateKey, { digitalSignatureAlgorithm: 'MD2WithRSAEncryption' }),
    unsupported,
  )
  assert.throws(() => signPlan(rsa.privateKey, { paddingMethod: 'OAEP' }), {
    ...unsupported,
    message: 'PaddingMethod OAEP is not supported for signatures.',
  })
  assert.throws(() => signPlan(rsa.privateKey, { trailerField: 2 }), {
    ...unsupported,
    message: 'TrailerField must be 1.',
  })
  assert.throws(() => signPlan(ec, { saltLength: 20 }), {
    ...unsupported,
    message: 'SaltLength has no meaning for ECDSA.',
  })
  assert.throws(() => signPlan(ed, { hashingAlgorithm: 'SHA_256' }), unsupported)
  assert.throws(() => signPlan(ed, {}, 32), unsupported)
  assert.throws(() => signPlan(ec, { hashingAlgorithm: 'SHA_256' }, 20), { code: 'invalid_input' })
})

test('FIPS mode signs as FIPS 186-5 and SP 800-131A allow, and verifies legacy signatures', () => {
  const fips = { fips: true }
  const { privateKey: ed } = generateKeyPairSync('ed25519')
  const unsupported = { code: 'unsupported' }
  assert.throws(() => planSignature(rsa.privateKey, { hashingAlgorithm: 'SHA_1' }, fips, 'sign'), unsupported)
  assert.doesNotThrow(() => planSignature(rsa.publicKey, { hashingAlgorithm: 'SHA_1' }, fips, 'verify'))
  assert.throws(() => planSignature(rsa.publicKey, { hashingAlgorithm: 'MD5' }, fips, 'verify'), unsupported)
  assert.throws(() => planSignature(ed, {}, fips, 'verify'), unsupported)
  assert.doesNotThrow(() => planSignature(rsa.privateKey, {}, fips, 'sign'))
})

test('a salt that is too long is refused with an error', async () => {
  const parameters = { saltLength: 4096 }
  await assert.rejects(async () => signWith(rsa.privateKey, signPlan(rsa.privateKey, parameters), { data }))
  const digest = createHash('sha256').update(data).digest()
  await assert.rejects(
    async () => signWith(rsa.privateKey, signPlan(rsa.privateKey, parameters, 32), { digest }),
    { code: 'bad_parameters' },
  )
})

test('a policy names signature algorithms as KMIP or JOSE do', () => {
  const only = (...names: readonly string[]) => ({
    fips: false,
    lists: { signature_algorithms: new Set(names) },
  })
  const { privateKey: ec } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { privateKey: ed } = generateKeyPairSync('ed25519')
  for (const [key, names] of [
    [ec, ['es256', 'ecdsawithsha256']],
    [ed, ['eddsa', 'ed25519']],
    [rsa.privateKey, ['rsassapss', 'ps256']],
  ] as const) {
    for (const name of names) assert.doesNotThrow(() => planSignature(key, {}, only(name), 'sign'))
    assert.throws(() => planSignature(key, {}, only('rs256'), 'sign'), { kind: 'unsupported_algorithm' })
  }
  const pkcs1 = { paddingMethod: 'PKCS1V1_5' } as const
  for (const name of ['rs256', 'sha256withrsaencryption'])
    assert.doesNotThrow(() => planSignature(rsa.privateKey, pkcs1, only(name), 'sign'))
  assert.throws(() =>
    planSignature(rsa.privateKey, { ...pkcs1, hashingAlgorithm: 'SHA_1' }, only('rs256'), 'sign'),
  )
})
