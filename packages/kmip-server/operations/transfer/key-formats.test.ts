import assert from 'node:assert/strict'
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { test } from 'node:test'
import {
  Enumeration,
  enumeration,
  type KmipVersion,
  kmipVersions,
  structure,
  Tag,
  type TtlvNode,
} from '@warder/kmip-codec'
import { startSharedKms } from '@warder/kms/testing'
import {
  type FormatName,
  inside,
  keyBlock,
  keyOf,
  mask,
  same,
  wanted,
  wrappingSpecification,
} from '../../testing/keys.ts'
import { kmipClient } from '../../testing/kmip-client.ts'
import { attributes, objectType, uid } from '../../testing/nodes.ts'

const kms = await startSharedKms()

type Type = 'SymmetricKey' | 'PrivateKey' | 'PublicKey'

interface Row {
  readonly what: string
  readonly type: Type
  readonly algorithm: keyof typeof Enumeration.CryptographicAlgorithm
  readonly bits: number
  readonly registered: FormatName
  readonly material: Uint8Array
  /** Has to be told of a Raw key. */
  readonly curve?: keyof typeof Enumeration.RecommendedCurve
  /** In these it goes out and comes in again; in every other it is refused. */
  readonly formats: readonly FormatName[]
}

const ecPrivate = [
  'TransparentECPrivateKey',
  'TransparentECDSAPrivateKey',
  'TransparentECDHPrivateKey',
  'TransparentECMQVPrivateKey',
] as const
const ecPublic = [
  'TransparentECPublicKey',
  'TransparentECDSAPublicKey',
  'TransparentECDHPublicKey',
  'TransparentECMQVPublicKey',
] as const
const files = ['PKCS_12', 'PKCS_12Legacy'] as const

type Pair = { readonly privateKey: KeyObject; readonly publicKey: KeyObject }

function listRows(
  what: string,
  algorithm: Row['algorithm'],
  bits: number,
  { privateKey, publicKey }: Pair,
  ofPrivate: readonly FormatName[],
  ofPublic: readonly FormatName[],
  curve?: keyof typeof Enumeration.RecommendedCurve,
): readonly Row[] {
  const named = curve === undefined ? {} : { curve }
  return [
    {
      ...named,
      what: `${what} private`,
      type: 'PrivateKey',
      algorithm,
      bits,
      registered: 'PKCS_8',
      material: privateKey.export({ format: 'der', type: 'pkcs8' }),
      formats: ['PKCS_8', ...ofPrivate, ...files],
    },
    {
      ...named,
      what: `${what} public`,
      type: 'PublicKey',
      algorithm,
      bits,
      registered: 'X_509',
      material: publicKey.export({ format: 'der', type: 'spki' }),
      formats: ['X_509', 'PKCS_8', ...ofPublic],
    },
  ]
}

const pair = (type: string, options?: object) =>
  generateKeyPairSync(type as 'rsa', options as { modulusLength: number }) as unknown as Pair

const rows: readonly Row[] = [
  {
    what: 'AES',
    type: 'SymmetricKey',
    algorithm: 'AES',
    bits: 256,
    registered: 'Raw',
    material: randomBytes(32),
    formats: ['Raw', 'TransparentSymmetricKey', 'Opaque'],
  },
  ...listRows(
    'RSA',
    'RSA',
    2048,
    pair('rsa', { modulusLength: 2048 }),
    ['PKCS_1', 'TransparentRSAPrivateKey'],
    ['PKCS_1', 'TransparentRSAPublicKey'],
  ),
  ...listRows(
    'EC',
    'ECDSA',
    256,
    pair('ec', { namedCurve: 'P-256' }),
    ['ECPrivateKey', 'Raw', ...ecPrivate],
    ['Raw', ...ecPublic],
    'P_256',
  ),
  ...listRows('Ed25519', 'Ed25519', 256, pair('ed25519'), ['Raw', ...ecPrivate], ['Raw', ...ecPublic]),
  ...listRows('X448', 'ECDH', 448, pair('x448'), ['Raw', ...ecPrivate], ['Raw', ...ecPublic], 'CURVE448'),
  ...listRows(
    'DSA',
    'DSA',
    1024,
    pair('dsa', { modulusLength: 1024, divisorLength: 160 }),
    ['TransparentDSAPrivateKey'],
    ['TransparentDSAPublicKey'],
  ),
  ...listRows(
    'DH',
    'DH',
    2048,
    pair('dh', { group: 'modp14' }),
    ['TransparentDHPrivateKey'],
    ['TransparentDHPublicKey'],
  ),
  ...listRows('ML-KEM', 'ML_KEM_768', 768, pair('ml-kem-768'), ['Raw'], ['Raw']),
  ...listRows('ML-DSA', 'ML_DSA_44', 44, pair('ml-dsa-44'), ['Raw'], ['Raw']),
]

const every = Object.keys(Enumeration.KeyFormatType) as FormatName[]
/** Names of 2.x for forms of 1.x. */
const merged: Readonly<Record<string, FormatName>> = Object.fromEntries([
  ...ecPrivate.map((name) => [name, 'TransparentECPrivateKey']),
  ...ecPublic.map((name) => [name, 'TransparentECPublicKey']),
])

async function register({ type, algorithm, bits, registered, material }: Row, version: KmipVersion) {
  const alice = kmipClient(kms.user('alice'), { version })
  const sized = algorithm.startsWith('ML_') ? [] : keyOf(algorithm, bits)
  const node = structure(Tag[type], [keyBlock(registered, material, ...sized)])
  const { id } = await alice.do('Register', [objectType(type), attributes(mask('Sign')), node])
  return { alice, id }
}

const objectIn = (nodes: readonly TtlvNode[], type: Type): TtlvNode => {
  const node = nodes.find(({ tag }) => tag === Tag[type])
  assert.ok(node)
  return node
}
const formatOf = (node: TtlvNode) => inside(node, Tag.KeyBlock, Tag.KeyFormatType)?.value

for (const row of rows) {
  test(`${row.what}: round-trips in each of its formats, and is refused in others`, async () => {
    const { alice, id } = await register(row, '2.1')
    const { type } = row
    const plain = objectIn((await alice.do('Get', [uid(id)])).nodes, type)
    assert.equal(formatOf(plain), Enumeration.KeyFormatType[row.registered])
    for (const format of every) {
      const isFile = format === 'PKCS_12' || format === 'PKCS_12Legacy'
      const request = [
        uid(id),
        wanted(format),
        isFile ? wrappingSpecification('password', undefined) : undefined,
      ]
      if (!row.formats.includes(format)) {
        const { status, reason } = await alice.ask('Get', request)
        assert.deepEqual([status, reason], ['OperationFailed', 'KeyFormatTypeNotSupported'], format)
        continue
      }
      const node = objectIn((await alice.do('Get', request)).nodes, type)
      assert.equal(formatOf(node), Enumeration.KeyFormatType[merged[format] ?? format], format)
      // A file requires a stored password; other tests import files. Opaque objects are stored unread.
      if (isFile || format === 'Opaque') continue
      const given = attributes(mask('Sign'), ...(format === 'Raw' ? curveOf(row) : []))
      const again = await alice.do('Register', [objectType(type), given, node])
      same(objectIn((await alice.do('Get', [uid(again.id)])).nodes, type), node)
      const back = objectIn((await alice.do('Get', [uid(again.id), wanted(row.registered)])).nodes, type)
      assert.ok(sameKey(type, back, plain), format)
    }
  })
}

function curveOf({ curve }: Row): readonly TtlvNode[] {
  if (curve === undefined) return []
  const node = enumeration(Tag.RecommendedCurve, Enumeration.RecommendedCurve[curve])
  return [structure(Tag.CryptographicDomainParameters, [node])]
}

function sameKey(type: Type, one: TtlvNode, other: TtlvNode): boolean {
  const [first, second] = [one, other].map((node) => {
    const value = inside(node, Tag.KeyBlock, Tag.KeyValue, Tag.KeyMaterial)?.value
    assert.ok(value instanceof Uint8Array)
    return Buffer.from(value)
  }) as [Buffer, Buffer]
  if (type === 'SymmetricKey') return first.equals(second)
  const load = (key: Buffer) =>
    type === 'PrivateKey'
      ? createPrivateKey({ key, format: 'der', type: 'pkcs8' })
      : createPublicKey({ key, format: 'der', type: 'spki' })
  return load(first).equals(load(second))
}

test('an EC key registered in a format of 1.0 to 1.4 is returned to each version in a format that the version has', async () => {
  const [secret] = rows.filter(({ what }) => what === 'EC private')
  assert.ok(secret)
  for (const from of kmipVersions.filter((version) => version < '2.0')) {
    const source = await register({ ...secret, algorithm: 'ECDH' }, from)
    const old = await source.alice.do('Get', [uid(source.id), wanted('TransparentECDHPrivateKey')])
    const node = objectIn(old.nodes, 'PrivateKey')
    assert.equal(formatOf(node), 0x10)
    const { id } = await source.alice.do('Register', [
      objectType('PrivateKey'),
      attributes(mask('Sign')),
      node,
    ])
    for (const version of kmipVersions) {
      const { nodes } = await kmipClient(kms.user('alice'), { version }).do('Get', [uid(id)])
      const told = objectIn(nodes, 'PrivateKey')
      assert.equal(formatOf(told), version < '2.0' ? 0x10 : 0x14, `${from} to ${version}`)
    }
  }
})

test('clients get the algorithm EC from 1.2 on and its transparent formats from 1.3 on', async () => {
  const made = await kmipClient(kms.user('alice')).do('CreateKeyPair', [
    structure(Tag.CommonAttributes, keyOf('EC', 256)),
    structure(Tag.PrivateKeyAttributes, [mask('Sign')]),
    structure(Tag.PublicKeyAttributes, [mask('Verify')]),
  ])
  const id = String(made.get(Tag.PrivateKeyUniqueIdentifier))
  for (const version of kmipVersions) {
    const alice = kmipClient(kms.user('alice'), { version })
    const got = await alice.do('Get', [uid(id), wanted('TransparentECPrivateKey')])
    const node = objectIn(got.nodes, 'PrivateKey')
    const { EC, ECDSA } = Enumeration.CryptographicAlgorithm
    assert.equal(formatOf(node), version < '1.3' ? 0x0e : 0x14)
    assert.equal(inside(node, Tag.KeyBlock, Tag.CryptographicAlgorithm)?.value, version < '1.2' ? ECDSA : EC)
    const { nodes } = await alice.do('GetAttributes', [uid(id)])
    const told = inside(
      nodes.find(({ tag }) => tag === Tag.Attributes),
      Tag.CryptographicAlgorithm,
    )
    assert.equal(told?.value, version < '1.2' ? ECDSA : EC)
  }
})

test('an EC key registered over 1.2 keeps the algorithm name of its registration', async () => {
  const client = kmipClient(kms.user('alice'), { version: '1.2' })
  const der = pair('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'der', type: 'pkcs8' })
  for (const name of ['EC', 'ECDSA', 'ECDH'] as const) {
    const { id } = await client.do('Register', [
      objectType('PrivateKey'),
      attributes(mask('Sign')),
      structure(Tag.PrivateKey, [keyBlock('PKCS_8', der, ...keyOf(name, 256))]),
    ])
    const number = Enumeration.CryptographicAlgorithm[name]
    const got = objectIn((await client.do('Get', [uid(id)])).nodes, 'PrivateKey')
    assert.equal(inside(got, Tag.KeyBlock, Tag.CryptographicAlgorithm)?.value, number)
    const { nodes } = await client.do('GetAttributes', [uid(id)])
    const list = nodes.find(({ tag }) => tag === Tag.Attributes)
    assert.equal(inside(list, Tag.CryptographicAlgorithm)?.value, number)
  }
})
