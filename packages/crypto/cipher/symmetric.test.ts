import assert from 'node:assert/strict'
import { createSecretKey, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import type { CryptographicParameters } from '../algorithms/parameters.ts'
import { oasisAuthenticated } from '../fixtures/oasis-authenticated.ts'
import { oasisCiphers } from '../fixtures/oasis-ciphers.ts'
import { type CipherPlan, planCipher } from './cipher-plan.ts'
import { decryptSymmetric, encryptSymmetric, openDecryption, openEncryption } from './symmetric.ts'

const policy = { fips: false }
const hex = (text: string | undefined) => (text === undefined ? undefined : Buffer.from(text, 'hex'))
const bytes = (text: string) => Buffer.from(text, 'hex')
const keyOf = (text: string) => createSecretKey(bytes(text))

function plan(algorithm: string, size: number, parameters: CryptographicParameters): CipherPlan {
  return planCipher(algorithm, size, parameters, policy)
}

function refused(code: string, message?: string) {
  return (error: unknown) => {
    assert.equal((error as { code?: string }).code, code)
    if (message !== undefined) assert.equal((error as Error).message, message)
    return true
  }
}

for (const [index, { name, algorithm, key, parameters, data, iv, aad, out, tag }] of [
  ...oasisCiphers,
  ...oasisAuthenticated,
].entries()) {
  test(`${name} (${index}): encrypts to the standard's bytes and decrypts them, also in parts`, () => {
    const secret = keyOf(key)
    const chosen = plan(algorithm, key.length / 2, parameters)
    const input = { data: bytes(data), iv: hex(iv), aad: hex(aad) }
    const made = encryptSymmetric(secret, chosen, input)
    assert.equal(made.data.toString('hex'), out.toLowerCase())
    assert.equal(made.tag?.toString('hex'), tag?.toLowerCase())
    assert.equal(made.iv, undefined)
    const back = decryptSymmetric(secret, chosen, { ...input, data: made.data, tag: made.tag })
    assert.equal(back.toString('hex'), data.toLowerCase())
    const cut = Math.floor(input.data.length / 3)
    const stream = openEncryption(secret, chosen, input)
    const first = stream.update(input.data.subarray(0, cut))
    const last = stream.final(input.data.subarray(cut))
    assert.equal(Buffer.concat([first, last.data]).toString('hex'), out.toLowerCase())
    assert.equal(last.tag?.toString('hex'), tag?.toLowerCase())
    const opening = openDecryption(secret, chosen, input)
    const begun = opening.update(made.data.subarray(0, cut))
    const ended = opening.final(made.data.subarray(cut), made.tag)
    assert.equal(Buffer.concat([begun, ended.data]).toString('hex'), data.toLowerCase())
  })
}

const known: readonly (readonly [
  string,
  string,
  string,
  CryptographicParameters,
  string,
  string | undefined,
  string | undefined,
  string,
  string | undefined,
])[] = [
  // SP 800-38A F.5.1, F.3.13, F.4.1
  [
    'AES-128-CTR',
    'AES',
    '2b7e151628aed2a6abf7158809cf4f3c',
    { blockCipherMode: 'CTR' },
    '6bc1bee22e409f96e93d7e117393172a',
    'f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff',
    undefined,
    '874d6191b620e3261bef6864990db6ce',
    undefined,
  ],
  [
    'AES-128-CTR by nonce and counter',
    'AES',
    '2b7e151628aed2a6abf7158809cf4f3c',
    { blockCipherMode: 'CTR', counterLength: 32, initialCounterValue: 0xfcfdfeff },
    '6bc1bee22e409f96e93d7e117393172a',
    'f0f1f2f3f4f5f6f7f8f9fafb',
    undefined,
    '874d6191b620e3261bef6864990db6ce',
    undefined,
  ],
  [
    'AES-128-CFB',
    'AES',
    '2b7e151628aed2a6abf7158809cf4f3c',
    { blockCipherMode: 'CFB' },
    '6bc1bee22e409f96e93d7e117393172a',
    '000102030405060708090a0b0c0d0e0f',
    undefined,
    '3b3fd92eb72dad20333449f8e83cfb4a',
    undefined,
  ],
  [
    'AES-128-OFB',
    'AES',
    '2b7e151628aed2a6abf7158809cf4f3c',
    { blockCipherMode: 'OFB' },
    '6bc1bee22e409f96e93d7e117393172a',
    '000102030405060708090a0b0c0d0e0f',
    undefined,
    '3b3fd92eb72dad20333449f8e83cfb4a',
    undefined,
  ],
  // SP 800-38C example 3
  [
    'AES-128-CCM',
    'AES',
    '404142434445464748494a4b4c4d4e4f',
    { blockCipherMode: 'CCM', tagLength: 8 },
    '202122232425262728292a2b2c2d2e2f3031323334353637',
    '101112131415161718191a1b',
    '000102030405060708090a0b0c0d0e0f10111213',
    'e3b201a9f5b71a7a9b1ceaeccd97e70b6176aad9a4428aa5',
    '484392fbc1b09951',
  ],
  // RFC 8452 appendix C.1
  [
    'AES-128-GCM-SIV',
    'AES',
    '01000000000000000000000000000000',
    { blockCipherMode: 'GCM_SIV' },
    '0100000000000000',
    '030000000000000000000000',
    undefined,
    'b5d839330ac7b786',
    '578782fff6013b815b287c22493a364c',
  ],
  // IEEE 1619 vector 2
  [
    'AES-128-XTS',
    'AES',
    '1111111111111111111111111111111122222222222222222222222222222222',
    { blockCipherMode: 'XTS' },
    '4444444444444444444444444444444444444444444444444444444444444444',
    '33333333330000000000000000000000',
    undefined,
    'c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0',
    undefined,
  ],
  // RFC 3394 §4.1, RFC 5649 §6
  [
    'NISTKeyWrap',
    'AES',
    '000102030405060708090a0b0c0d0e0f',
    { blockCipherMode: 'NISTKeyWrap' },
    '00112233445566778899aabbccddeeff',
    undefined,
    undefined,
    '1fa68b0a8112b447aef34bd8fb5a7b829d3e862371d2cfe5',
    undefined,
  ],
  [
    'AESKeyWrapPadding',
    'AES',
    '5840df6e29b02af1ab493b705bf16ea1ae8338f4dcc176a8',
    { blockCipherMode: 'AESKeyWrapPadding' },
    '466f7250617369',
    undefined,
    undefined,
    'afbeb0f07dfbf5419200f2ccb50bb24f',
    undefined,
  ],
  // RFC 8439 §2.4.2
  [
    'ChaCha20 from a counter',
    'ChaCha20',
    '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
    { initialCounterValue: 1 },
    '4c616469657320616e642047656e746c',
    '000000000000004a00000000',
    undefined,
    '6e2e359a2568f98041ba0728dd0d6981',
    undefined,
  ],
  // SP 800-67 key of three parts; value of NIST's TECB sample ("The quick brown fox jump")
  [
    '3DES-ECB',
    'DES3',
    '0123456789abcdef23456789abcdef01456789abcdef0123',
    { blockCipherMode: 'ECB' },
    '54686520717566636b2062726f776e20666f78206a756d70',
    undefined,
    undefined,
    'a826fd8ce53b855fcce21c8112256fe668d5c05dd9b6b900',
    undefined,
  ],
]
for (const [name, algorithm, key, parameters, data, iv, aad, out, tag] of known) {
  test(`${name}: the known answer`, () => {
    const secret = keyOf(key)
    const chosen = plan(algorithm, key.length / 2, parameters)
    const input = { data: bytes(data), iv: hex(iv), aad: hex(aad) }
    const made = encryptSymmetric(secret, chosen, input)
    assert.equal(made.data.toString('hex'), out)
    assert.equal(made.tag?.toString('hex'), tag)
    assert.deepEqual(
      decryptSymmetric(secret, chosen, { ...input, data: made.data, tag: made.tag }),
      input.data,
    )
  })
}

const everyMode: readonly (readonly [string, number, CryptographicParameters])[] = [
  ...(['PKCS5', 'ANSIX9_23', 'ISO10126', 'SSL3'] as const).flatMap((paddingMethod) =>
    (['ECB', 'CBC'] as const).flatMap((blockCipherMode) => [
      ['AES', 32, { blockCipherMode, paddingMethod }] as const,
      ['DES3', 24, { blockCipherMode, paddingMethod }] as const,
    ]),
  ),
  ...(['CFB', 'OFB', 'CTR', 'GCM'] as const).map(
    (blockCipherMode) => ['AES', 24, { blockCipherMode }] as const,
  ),
  ...(['Camellia', 'ARIA', 'SM4'] as const).map(
    (algorithm) => [algorithm, 16, { blockCipherMode: 'CBC' }] as const,
  ),
  ['DES3', 16, {}],
  ['ARIA', 32, { blockCipherMode: 'GCM' }],
  ['ChaCha20', 32, {}],
  ['ChaCha20', 32, { ivLength: 64 }],
  ['ChaCha20Poly1305', 32, {}],
]
for (const [algorithm, size, parameters] of everyMode) {
  test(`${algorithm} ${size * 8} ${JSON.stringify(parameters)}: data encrypted in any parts is decrypted in any parts`, () => {
    const chosen = plan(algorithm, size, parameters)
    const secret = createSecretKey(randomBytes(size))
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat(100), fc.nat(130), (data, cut, otherCut) => {
        const whole = encryptSymmetric(secret, chosen, { data, iv: undefined, aad: undefined })
        const input = { data: whole.data, iv: whole.iv, aad: undefined, tag: whole.tag }
        assert.deepEqual(decryptSymmetric(secret, chosen, input), Buffer.from(data))
        const writing = openEncryption(secret, chosen, { iv: whole.iv, aad: undefined })
        const head = writing.update(data.subarray(0, cut))
        const tail = writing.final(data.subarray(cut))
        const sealed = Buffer.concat([head, tail.data])
        assert.equal(sealed.length, whole.data.length)
        const reading = openDecryption(secret, chosen, { iv: whole.iv, aad: undefined })
        const begun = reading.update(sealed.subarray(0, otherCut))
        const ended = reading.final(sealed.subarray(otherCut), tail.tag)
        assert.deepEqual(Buffer.concat([begun, ended.data]), Buffer.from(data))
      }),
      { numRuns: 40 },
    )
  })
}

test('a changed byte of ciphertext, tag, IV or additional data gets CRYPTO, at once and in parts', () => {
  for (const [algorithm, parameters] of [
    ['AES', {}],
    ['AES', { blockCipherMode: 'CCM' }],
    ['AES', { blockCipherMode: 'GCM_SIV' }],
    ['AES', { tagLength: 12 }],
    ['ChaCha20Poly1305', {}],
  ] as const) {
    const chosen = plan(algorithm, 32, parameters)
    const secret = createSecretKey(randomBytes(32))
    const made = encryptSymmetric(secret, chosen, {
      data: randomBytes(20),
      iv: undefined,
      aad: Buffer.from('aad'),
    })
    const right = { data: made.data, iv: made.iv, tag: made.tag, aad: Buffer.from('aad') }
    for (const name of ['data', 'iv', 'tag', 'aad'] as const) {
      const wrong = { ...right, [name]: Buffer.from(right[name] ?? []) }
      wrong[name]?.writeUInt8(
        (wrong[name]?.readUInt8(3 % (wrong[name]?.length ?? 1)) ?? 0) ^ 1,
        3 % (wrong[name]?.length ?? 1),
      )
      assert.throws(() => decryptSymmetric(secret, chosen, wrong), refused('decryption_failed'))
      if (chosen.kind !== 'aead') continue
      const stream = openDecryption(secret, chosen, wrong)
      assert.equal(stream.update(wrong.data).length, 0, 'nothing is given away before the tag is checked')
      assert.throws(() => stream.final(Buffer.alloc(0), wrong.tag), refused('decryption_failed'))
    }
    assert.throws(
      () => decryptSymmetric(secret, chosen, { ...right, tag: Buffer.alloc(4) }),
      refused('decryption_failed'),
    )
    assert.throws(
      () => decryptSymmetric(secret, chosen, { ...right, tag: undefined }),
      refused('invalid_input'),
    )
  }
})

test('an omitted IV is generated, and never repeated', () => {
  const secret = createSecretKey(randomBytes(32))
  const seen = new Set<string>()
  for (let times = 0; times < 50; times += 1) {
    const { iv } = encryptSymmetric(secret, plan('AES', 32, { randomIV: true }), {
      data: Buffer.alloc(1),
      iv: undefined,
      aad: undefined,
    })
    assert.equal(iv?.length, 12)
    seen.add((iv as Buffer).toString('hex'))
  }
  assert.equal(seen.size, 50)
  const cbc = encryptSymmetric(secret, plan('AES', 32, { blockCipherMode: 'CBC' }), {
    data: Buffer.alloc(1),
    iv: undefined,
    aad: undefined,
  })
  assert.equal(cbc.iv?.length, 16)
})

test('IVs that contradict the parameters are refused', () => {
  const secret = createSecretKey(randomBytes(32))
  const encrypt =
    (parameters: CryptographicParameters, iv: Buffer | undefined, data = Buffer.alloc(16)) =>
    () =>
      encryptSymmetric(secret, plan('AES', 32, parameters), { data, iv, aad: undefined })
  assert.throws(encrypt({ randomIV: true }, Buffer.alloc(12)), refused('invalid_input'))
  assert.throws(encrypt({ randomIV: false }, undefined), refused('missing_iv'))
  assert.throws(encrypt({ blockCipherMode: 'CBC' }, Buffer.alloc(12)), refused('iv_length'))
  assert.throws(encrypt({ blockCipherMode: 'ECB' }, Buffer.alloc(16)), refused('invalid_input'))
  assert.throws(encrypt({ ivLength: 96 }, Buffer.alloc(16)), refused('iv_length'))
  assert.throws(encrypt({ ivLength: 97 }, undefined), refused('bad_parameters'))
  assert.throws(
    encrypt({ fixedFieldLength: 32, invocationFieldLength: 64 }, undefined),
    refused('bad_parameters'),
  )
  assert.throws(
    encrypt({ fixedFieldLength: 32, invocationFieldLength: 32 }, Buffer.alloc(12)),
    refused('bad_parameters'),
  )
  assert.doesNotThrow(encrypt({ fixedFieldLength: 32, invocationFieldLength: 64 }, Buffer.alloc(12)))
  assert.throws(
    encrypt(
      { blockCipherMode: 'CTR', counterLength: 8, initialCounterValue: 255 },
      Buffer.alloc(15),
      Buffer.alloc(32),
    ),
    refused('invalid_input'),
  )
  assert.throws(
    encrypt({ blockCipherMode: 'CTR', counterLength: 8, initialCounterValue: 256 }, Buffer.alloc(15)),
    refused('bad_parameters'),
  )
  const decrypt = () =>
    decryptSymmetric(secret, plan('AES', 32, {}), {
      data: Buffer.alloc(16),
      iv: undefined,
      aad: undefined,
      tag: Buffer.alloc(16),
    })
  assert.throws(decrypt, refused('missing_iv'))
})

test('parameters that a cipher does not use are refused by name', () => {
  const refusals: readonly (readonly [string, number, CryptographicParameters, string, string])[] = [
    ['AES', 32, { blockCipherMode: 'PCBC' }, 'unsupported', 'BlockCipherMode PCBC is not supported for AES.'],
    [
      'AES',
      32,
      { blockCipherMode: 'ECB', tagLength: 16 },
      'unsupported',
      'TagLength has no meaning for ECB.',
    ],
    ['AES', 32, { hashingAlgorithm: 'SHA_256' }, 'unsupported', 'HashingAlgorithm has no meaning for GCM.'],
    ['AES', 32, { paddingMethod: 'PKCS5' }, 'unsupported', 'PaddingMethod PKCS5 has no meaning for GCM.'],
    [
      'AES',
      32,
      { blockCipherMode: 'CBC', paddingMethod: 'OAEP' },
      'unsupported',
      'PaddingMethod OAEP is not supported for AES.',
    ],
    ['AES', 32, { cryptographicAlgorithm: 'DES3' }, 'bad_parameters', 'The key is not a key of DES3.'],
    ['AES', 32, { tagLength: 11 }, 'tag_length', 'This tag length is not allowed for the mode.'],
    ['AES', 32, { tagLength: 17 }, 'tag_length', 'This tag length is not allowed for the mode.'],
    ['AES', 64, {}, 'wrong_key', 'The size of the key is not allowed for AES in this mode.'],
    ['AES', 20, {}, 'wrong_key', 'The size of the key is not allowed for AES.'],
    ['Blowfish', 16, {}, 'unsupported', 'Encryption with Blowfish is not supported.'],
    ['DES3', 24, { blockCipherMode: 'GCM' }, 'unsupported', 'BlockCipherMode GCM is not supported for DES3.'],
  ]
  for (const [algorithm, size, parameters, code, message] of refusals)
    assert.throws(() => plan(algorithm, size, parameters), refused(code, message))
})

test('FIPS mode refuses ciphers that are not approved', () => {
  for (const [algorithm, size] of [
    ['DES3', 24],
    ['ChaCha20', 32],
    ['ChaCha20Poly1305', 32],
    ['Camellia', 32],
    ['ARIA', 32],
    ['SM4', 16],
  ] as const)
    assert.throws(() => planCipher(algorithm, size, {}, { fips: true }), refused('unsupported'))
  assert.throws(
    () => planCipher('AES', 32, { blockCipherMode: 'GCM_SIV' }, { fips: true }),
    refused('unsupported'),
  )
  assert.doesNotThrow(() => planCipher('AES', 32, {}, { fips: true }))
})

test('wrong padding, lengths and additional data are refused', () => {
  const secret = createSecretKey(randomBytes(32))
  const none = { iv: undefined, aad: undefined }
  const ecb = plan('AES', 32, { blockCipherMode: 'ECB', paddingMethod: 'None' })
  assert.throws(
    () => encryptSymmetric(secret, ecb, { data: Buffer.alloc(15), ...none }),
    refused('invalid_input'),
  )
  assert.throws(
    () => encryptSymmetric(secret, ecb, { data: Buffer.alloc(16), iv: undefined, aad: Buffer.alloc(1) }),
    refused('unsupported'),
  )
  const zeros = plan('AES', 32, { blockCipherMode: 'ECB', paddingMethod: 'Zeros' })
  assert.throws(
    () => encryptSymmetric(secret, zeros, { data: Buffer.from([1, 0]), ...none }),
    refused('invalid_input'),
  )
  for (const paddingMethod of ['PKCS5', 'ANSIX9_23', 'ISO10126', 'SSL3', 'Zeros'] as const) {
    const padded = plan('AES', 32, { blockCipherMode: 'ECB', paddingMethod })
    const wrong = paddingMethod === 'Zeros' ? Buffer.alloc(16) : Buffer.alloc(16, 0x11)
    const data = encryptSymmetric(secret, ecb, { data: wrong, ...none }).data
    assert.throws(
      () => decryptSymmetric(secret, padded, { data, tag: undefined, ...none }),
      refused('decryption_failed'),
    )
    assert.throws(
      () => decryptSymmetric(secret, padded, { data: data.subarray(1), tag: undefined, ...none }),
      refused('decryption_failed'),
    )
  }
  const xts = plan('AES', 32, { blockCipherMode: 'XTS' })
  assert.throws(
    () => encryptSymmetric(secret, xts, { data: Buffer.alloc(15), ...none }),
    refused('invalid_input'),
  )
  assert.throws(
    () => encryptSymmetric(createSecretKey(Buffer.alloc(32)), xts, { data: Buffer.alloc(16), ...none }),
    refused('wrong_key'),
  )
  assert.throws(() => openEncryption(secret, xts, none), refused('unsupported'))
  const wrap = plan('AES', 32, { blockCipherMode: 'NISTKeyWrap' })
  assert.throws(
    () => encryptSymmetric(secret, wrap, { data: Buffer.alloc(8), ...none }),
    refused('invalid_input'),
  )
  assert.throws(
    () => decryptSymmetric(secret, wrap, { data: Buffer.alloc(24), tag: undefined, ...none }),
    refused('decryption_failed'),
  )
})
