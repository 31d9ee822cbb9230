import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { ObjectId } from '@warder/keys'
import {
  Enumeration,
  encodeTtlv,
  enumeration,
  integer,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { startKms } from '@warder/kms/testing'
import { type FormatName, hex, inside, wanted } from '../../testing/keys.ts'
import { kmipClient } from '../../testing/kmip-client.ts'
import { startKmipFixture } from '../../testing/kmip-fixture.ts'
import { attributes, objectType, uid } from '../../testing/nodes.ts'
import { getAttributes } from '../../testing/requests.ts'

const {
  CryptographicAlgorithm: algorithms,
  RecommendedCurve: curves,
  CryptographicUsageMask: use,
} = Enumeration

const { kms, alice } = await startKmipFixture()

function wish(algorithm: keyof typeof algorithms, bits?: number, curve?: keyof typeof curves) {
  return structure(Tag.CommonAttributes, [
    enumeration(Tag.CryptographicAlgorithm, algorithms[algorithm]),
    bits === undefined ? undefined : integer(Tag.CryptographicLength, bits),
    curve === undefined
      ? undefined
      : structure(Tag.CryptographicDomainParameters, [enumeration(Tag.RecommendedCurve, curves[curve])]),
  ])
}

function half(tag: number, mask: number, ...more: readonly TtlvNode[]): TtlvNode {
  return structure(tag, [integer(Tag.CryptographicUsageMask, mask), ...more])
}

const made: readonly (readonly [wish: TtlvNode, type: string, name: string])[] = [
  [wish('RSA', 2048), 'rsa', 'RSA'],
  [wish('EC', undefined, 'P_384'), 'ec', 'EC'],
  [wish('ECDSA', 256), 'ec', 'EC'],
  [wish('ECDH', undefined, 'SECP256K1'), 'ec', 'EC'],
  [wish('EC', undefined, 'BRAINPOOLP256R1'), 'ec', 'EC'],
  [wish('ECDH', undefined, 'CURVE25519'), 'x25519', 'EC'],
  [wish('EC', undefined, 'CURVEED25519'), 'ed25519', 'Ed25519'],
  [wish('Ed25519'), 'ed25519', 'Ed25519'],
  [wish('Ed448'), 'ed448', 'Ed448'],
  [wish('ML_KEM_768'), 'ml-kem-768', 'ML_KEM_768'],
  [wish('ML_DSA_44'), 'ml-dsa-44', 'ML-DSA-44'],
  [wish('ML_DSA_87'), 'ml-dsa-87', 'ML_DSA_87'],
  [wish('SLH_DSA_SHAKE_128f'), 'slh-dsa-shake-128f', 'SLH_DSA_SHAKE_128f'],
  [wish('DH', 2048), 'dh', 'DH'],
]

/** Algorithms that REST knows have its names. */
const storedAs: Readonly<Record<string, string>> = { ML_KEM_768: 'ML-KEM-768', ML_DSA_87: 'ML-DSA-87' }

for (const [common, type, name] of made) {
  test(`a pair for ${name} (${type}) is created: two matching keys that are linked`, async () => {
    const pair = await alice.do('CreateKeyPair', [common])
    const [secret, open] = await Promise.all(
      [Tag.PrivateKeyUniqueIdentifier, Tag.PublicKeyUniqueIdentifier].map((tag) =>
        kms.services.keys.get(pair.get(tag) as ObjectId),
      ),
    )
    assert.ok(secret !== undefined && open !== undefined)
    assert.equal(secret.held.shape.asymmetricKeyType, type)
    assert.ok(open.held.publicKey !== undefined && secret.held.publicKey?.equals(open.held.publicKey))
    assert.deepEqual([secret.object.type, open.object.type], ['PrivateKey', 'PublicKey'])
    assert.deepEqual([secret.object.linkedId, open.object.linkedId], [open.object.id, secret.object.id])
    assert.deepEqual([secret.object.algorithm, secret.object.state], [storedAs[name] ?? name, 'PreActive'])
    assert.equal(secret.object.owner, 'alice')
  })
}

/** Default formats of Get, and the format whose bytes Digest is of (KMIP 2.1 §4.20, §4.26). */
const formats: readonly (readonly [wish: TtlvNode, secret: FormatName, open: FormatName])[] = [
  [wish('RSA', 2048), 'PKCS_1', 'PKCS_1'],
  [wish('EC', 256), 'TransparentECPrivateKey', 'TransparentECPublicKey'],
  [wish('ECDSA', undefined, 'SECP256K1'), 'TransparentECPrivateKey', 'TransparentECPublicKey'],
  [wish('DSA', 2048), 'TransparentDSAPrivateKey', 'TransparentDSAPublicKey'],
  [wish('DH', 2048), 'TransparentDHPrivateKey', 'TransparentDHPublicKey'],
  [wish('Ed25519'), 'PKCS_8', 'X_509'],
  [wish('EC', undefined, 'CURVE25519'), 'PKCS_8', 'X_509'],
]

for (const [common, secret, open] of formats) {
  test(`a new pair and its replacement are returned as ${secret} and ${open}`, async () => {
    const pair = await alice.do('CreateKeyPair', [common])
    const privateId = textString(
      Tag.PrivateKeyUniqueIdentifier,
      String(pair.get(Tag.PrivateKeyUniqueIdentifier)),
    )
    for (const made of [pair, await alice.do('ReKeyKeyPair', [privateId])]) {
      await givenAs(String(made.get(Tag.PrivateKeyUniqueIdentifier)), Tag.PrivateKey, [secret])
      await givenAs(String(made.get(Tag.PublicKeyUniqueIdentifier)), Tag.PublicKey, [open])
    }
  })
}

test('a pair in a format other than the default has a digest of each format', async () => {
  const format = (tag: number, name: FormatName) => structure(tag, [wanted(name)])
  const pair = await alice.do('CreateKeyPair', [
    wish('EC', 256),
    format(Tag.PrivateKeyAttributes, 'PKCS_8'),
    format(Tag.PublicKeyAttributes, 'X_509'),
  ])
  const privateId = String(pair.get(Tag.PrivateKeyUniqueIdentifier))
  await givenAs(privateId, Tag.PrivateKey, ['PKCS_8', 'TransparentECPrivateKey'])
  await givenAs(String(pair.get(Tag.PublicKeyUniqueIdentifier)), Tag.PublicKey, [
    'X_509',
    'TransparentECPublicKey',
  ])
  await alice.fails(
    'CreateKeyPair',
    [wish('EC', 256), format(Tag.PrivateKeyAttributes, 'PKCS_1')],
    'KeyFormatTypeNotSupported',
  )
  // 1.0 does not say over which format a digest is: it is told the first one.
  for (const [version, count] of [
    ['1.0', 1],
    ['1.1', 2],
  ] as const) {
    const told = await getAttributes(kmipClient(kms.user('alice'), { version }), privateId)
    assert.equal(told.filter(({ tag }) => tag === Tag.Digest).length, count, version)
  }
})

/** Get gives the first of the formats, and there is a digest of each. */
async function givenAs(id: string, tag: number, formats: readonly FormatName[]): Promise<void> {
  const { KeyFormatType } = Enumeration
  const block = async (...asked: readonly TtlvNode[]) => {
    const { nodes } = await alice.do('Get', [uid(id), ...asked])
    return inside(
      nodes.find((node) => node.tag === tag),
      Tag.KeyBlock,
    )
  }
  const numbers = formats.map((name) => KeyFormatType[name])
  assert.equal(inside(await block(), Tag.KeyFormatType)?.value, numbers[0])
  const attributes = await getAttributes(alice, id)
  assert.equal(attributes.find((node) => node.tag === Tag.KeyFormatType)?.value, numbers[0])
  const digests = attributes.filter((node) => node.tag === Tag.Digest)
  assert.deepEqual(
    digests.map((digest) => inside(digest, Tag.KeyFormatType)?.value),
    numbers,
  )
  for (const [place, name] of formats.entries()) {
    const material = inside(await block(wanted(name)), Tag.KeyValue, Tag.KeyMaterial)
    assert.ok(material)
    const bytes = material.type === 'ByteString' ? material.value : encodeTtlv(material)
    assert.equal(
      hex(inside(digests[place], Tag.DigestValue)?.value),
      createHash('sha256').update(bytes).digest('hex'),
    )
  }
}

test('each key of a pair has its own attributes, which override the common attributes', async () => {
  const pair = await alice.do('CreateKeyPair', [
    structure(Tag.CommonAttributes, [
      enumeration(Tag.CryptographicAlgorithm, algorithms.ECDSA),
      integer(Tag.CryptographicUsageMask, use.Sign | use.Verify),
      textString(Tag.Comment, 'both'),
    ]),
    half(Tag.PrivateKeyAttributes, use.Sign, textString(Tag.Comment, 'mine')),
    half(Tag.PublicKeyAttributes, use.Verify),
  ])
  const objects = await Promise.all(
    [Tag.PrivateKeyUniqueIdentifier, Tag.PublicKeyUniqueIdentifier].map(
      async (tag) => (await kms.services.keys.get(pair.get(tag) as ObjectId))?.object,
    ),
  )
  assert.deepEqual(
    objects.map((object) => object?.usageMask),
    [use.Sign, use.Verify],
  )
  const [secret, open] = objects.map((object) => object?.attributes.text ?? '')
  assert.match(secret ?? '', /"mine"/)
  assert.doesNotMatch(secret ?? '', /"both"/)
  assert.match(open ?? '', /"both"/)
})

test('a pair created over KMIP signs over REST once it is active', async () => {
  const rest = kms.user('alice')
  const pair = await alice.do('CreateKeyPair', [
    wish('ECDSA', 256),
    half(Tag.PrivateKeyAttributes, use.Sign),
    half(Tag.PublicKeyAttributes, use.Verify),
  ])
  const kid = String(pair.get(Tag.PrivateKeyUniqueIdentifier))
  const data = Buffer.from('attack at dawn').toString('base64url')
  assert.equal((await rest.post('/v1/crypto/sign', { kid, alg: 'ES256', data })).status, 422)
  await alice.do('Activate', [uid(kid)])
  assert.equal((await rest.post('/v1/crypto/sign', { kid, alg: 'ES256', data })).status, 200)
})

test('pairs that cannot be created are refused by name, and nothing is stored', async () => {
  const refused: readonly (readonly [TtlvNode, string])[] = [
    [wish('RSA'), 'MissingData'],
    [wish('RSA', 1024), 'InvalidField'],
    [wish('RSA', 2049), 'InvalidField'],
    [wish('RSA', 1 << 20), 'InvalidField'],
    [wish('AES', 256), 'InvalidField'],
    [wish('EC', 256, 'P_384'), 'InvalidField'],
    [wish('EC', undefined, 'P_192'), 'InvalidField'],
    [wish('ECDSA', undefined, 'CURVE25519'), 'InvalidField'],
    [wish('ML_DSA_44', 44), 'InvalidField'],
    [wish('XMSS'), 'InvalidField'],
  ]
  for (const [common, reason] of refused) await alice.fails('CreateKeyPair', [common], reason)
  await alice.fails('CreateKeyPair', [], 'MissingData')
  await alice.fails(
    'CreateKeyPair',
    [
      half(Tag.PrivateKeyAttributes, use.Sign, enumeration(Tag.CryptographicAlgorithm, algorithms.Ed25519)),
      half(Tag.PublicKeyAttributes, use.Verify, enumeration(Tag.CryptographicAlgorithm, algorithms.Ed448)),
    ],
    'InvalidField',
  )
})

test('FIPS mode creates only symmetric keys and pairs of approved algorithms', async () => {
  await using strict = await startKms({ config: { fips: true } })
  const fay = kmipClient(strict.user('fay'))
  for (const common of [wish('RSA', 2048), wish('ECDSA', 256), wish('DH', 2048)])
    await fay.do('CreateKeyPair', [common])
  for (const common of [
    wish('Ed25519'),
    wish('ML_DSA_44'),
    wish('DSA', 2048),
    wish('EC', undefined, 'CURVE25519'),
    wish('EC', undefined, 'SECP256K1'),
    wish('EC', undefined, 'BRAINPOOLP256R1'),
  ])
    await fay.fails('CreateKeyPair', [common], 'InvalidField')
  const secret = (algorithm: keyof typeof algorithms, bits: number) => [
    objectType('SymmetricKey'),
    attributes(
      enumeration(Tag.CryptographicAlgorithm, algorithms[algorithm]),
      integer(Tag.CryptographicLength, bits),
    ),
  ]
  await fay.do('Create', secret('AES', 256))
  await fay.do('Create', secret('HMAC_SHA256', 112))
  for (const refused of [secret('ChaCha20', 256), secret('DES3', 168), secret('HMAC_SHA256', 104)])
    await fay.fails('Create', refused, 'InvalidField')
})

// Requests of the deployed product's clients, which describe both keys of a pair like the private one.
for (const [algorithm, curve, bits, asked, formats] of [
  ['RSA', undefined, 2048, 'TransparentRSAPrivateKey', ['TransparentRSAPrivateKey', 'PKCS_1']],
  ['ECDH', 'P_256', undefined, 'ECPrivateKey', ['ECPrivateKey', 'TransparentECPublicKey']],
  ['ECDH', 'CURVE25519', undefined, 'ECPrivateKey', undefined],
  ['Ed25519', 'CURVEED25519', undefined, 'ECPrivateKey', undefined],
  ['RSA', undefined, 2048, 'PKCS_8', ['PKCS_8', 'PKCS_1']],
  ['EC', 'P_256', undefined, 'X_509', ['TransparentECPrivateKey', 'X_509']],
] as const) {
  test(`a pair of ${curve ?? algorithm} in the format ${asked} has this format in the key that supports it`, async () => {
    const members = [
      enumeration(Tag.CryptographicAlgorithm, algorithms[algorithm]),
      ...(bits === undefined ? [] : [integer(Tag.CryptographicLength, bits)]),
      ...(curve === undefined
        ? []
        : [structure(Tag.CryptographicDomainParameters, [enumeration(Tag.RecommendedCurve, curves[curve])])]),
      integer(Tag.CryptographicUsageMask, use.Unrestricted),
      enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType[asked]),
      objectType('PrivateKey'),
    ]
    for (const tags of [
      [Tag.CommonAttributes],
      [Tag.CommonAttributes, Tag.PrivateKeyAttributes, Tag.PublicKeyAttributes],
    ]) {
      const made = await alice.do(
        'CreateKeyPair',
        tags.map((tag) => structure(tag, members)),
      )
      const found = []
      for (const tag of [Tag.PrivateKeyUniqueIdentifier, Tag.PublicKeyUniqueIdentifier]) {
        const id = String(made.get(tag))
        const all = await getAttributes(alice, id)
        const told = all.find((node) => node.tag === Tag.KeyFormatType)?.value
        const got = await alice.do('Get', [uid(id)])
        const object = got.nodes.find((node) => node.tag === Tag.PrivateKey || node.tag === Tag.PublicKey)
        assert.equal(inside(object, Tag.KeyBlock, Tag.KeyFormatType)?.value, told)
        found.push(told)
      }
      if (formats !== undefined)
        assert.deepEqual(
          found,
          formats.map((name) => Enumeration.KeyFormatType[name]),
        )
    }
  })
}

test('a format that neither key of a pair supports is refused', async () => {
  for (const name of ['TransparentSymmetricKey', 'PKCS_12', 'PKCS_10'] as const)
    await alice.fails(
      'CreateKeyPair',
      [
        wish('EC', undefined, 'P_256'),
        structure(Tag.PrivateKeyAttributes, [
          enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType[name]),
        ]),
      ],
      'KeyFormatTypeNotSupported',
    )
})
