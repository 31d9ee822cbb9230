import assert from 'node:assert/strict'
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  ECDH,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto'
import { test } from 'node:test'
import { curveByName, type KeyFormat } from '@warder/keys'
import {
  bigInteger,
  byteString,
  Enumeration,
  encodeTtlv,
  enumeration,
  integer,
  requireType,
  structure,
  Tag,
  type TagName,
  type TtlvNode,
  textString,
  valueName,
} from '@warder/kmip-codec'
import fc from 'fast-check'
import { digestAttributes } from './digest.ts'
import { hex, keyNode } from './fixtures/nodes.ts'
import { blM9Rsa, blM12Dsa, blM13Dsa } from './fixtures/oasis-keys.ts'
import { type ObjectHints, readManagedObject, type StoredObject } from './read-object.ts'
import { keyInForm, writeManagedObject } from './write-object.ts'

const policy = { fips: false }
type Half = 'PrivateKey' | 'PublicKey'
type Pair = { readonly privateKey: KeyObject; readonly publicKey: KeyObject }

async function read(
  type: Half | 'SymmetricKey',
  format: KeyFormat,
  material: Uint8Array | readonly TtlvNode[],
  hints: ObjectHints = {},
): Promise<StoredObject & { readonly material: Uint8Array }> {
  const stored = await readManagedObject(type, keyNode(type, format, material), hints, policy)
  const { material: bytes } = stored
  assert.ok(bytes)
  return { ...stored, material: bytes }
}

function load(type: Half, canonical: Uint8Array): KeyObject {
  const key = Buffer.from(canonical)
  return type === 'PrivateKey'
    ? createPrivateKey({ key, format: 'der', type: 'pkcs8' })
    : createPublicKey({ key, format: 'der', type: 'spki' })
}

/** Writes the key in `format`, reads that back, and expects the same key. */
async function roundTrip(type: Half, { shape, material }: StoredObject, format: KeyFormat): Promise<void> {
  assert.ok(material)
  const { algorithm, curve } = shape
  const node = writeManagedObject(shape, material, { format })
  const again = await readManagedObject(type, node, { algorithm, curve }, policy)
  assert.ok(again.material)
  assert.ok(load(type, again.material).equals(load(type, material)), `${type} as ${format}`)
  assert.deepEqual(
    [again.shape.algorithm, again.shape.bits, again.shape.curve],
    [shape.algorithm, shape.bits, shape.curve],
  )
  // As it came is how it goes.
  assert.equal(hex(encodeTtlv(writeManagedObject(again.shape, again.material))), hex(encodeTtlv(node)))
}

const pkcs8 = (key: KeyObject) => key.export({ format: 'der', type: 'pkcs8' })
const spki = (key: KeyObject) => key.export({ format: 'der', type: 'spki' })

test('OASIS BL-M-9-21: the RSA key is read, written member by member, and usable', async () => {
  const stored = await read('PrivateKey', 'TransparentRSAPrivateKey', blM9Rsa)
  assert.deepEqual([stored.shape.algorithm, stored.shape.bits], ['RSA', 1024])
  const node = writeManagedObject(stored.shape, stored.material)
  const more = [
    enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.RSA),
    integer(Tag.CryptographicLength, 1024),
  ]
  const sent = keyNode('PrivateKey', 'TransparentRSAPrivateKey', blM9Rsa, ...more)
  assert.equal(hex(encodeTtlv(node)), hex(encodeTtlv(sent)))
  assert.equal(load('PrivateKey', stored.material).asymmetricKeyDetails?.modulusLength, 1024)
})

test('OASIS BL-M-12-21 and BL-M-13-21: the DSA keys are read and written unchanged', async () => {
  for (const [type, format, members] of [
    ['PrivateKey', 'TransparentDSAPrivateKey', blM13Dsa],
    ['PublicKey', 'TransparentDSAPublicKey', blM12Dsa],
  ] as const) {
    const stored = await read(type, format, members)
    assert.deepEqual([stored.shape.algorithm, stored.shape.bits, stored.shape.qLength], ['DSA', 512, 160])
    const { material } = keyInForm(stored.shape, stored.material)
    assert.equal(
      hex(encodeTtlv(material)),
      hex(encodeTtlv(requireType({ ...material, value: members } as TtlvNode, 'Structure'))),
    )
  }
})

test('any members that determine an RSA key suffice, and the same members are returned', async () => {
  const enough: readonly (readonly TagName[])[] = [
    ['Modulus', 'PrivateExponent', 'PublicExponent'],
    ['Modulus', 'PrivateExponent'],
    ['Modulus', 'P', 'Q', 'PublicExponent'],
    ['Modulus', 'P', 'PublicExponent'],
    ['Modulus', 'Q', 'PrivateExponent'],
    ['Modulus', 'PrivateExponent', 'PublicExponent', 'PrimeExponentP'],
  ]
  const whole = await read('PrivateKey', 'TransparentRSAPrivateKey', blM9Rsa)
  for (const names of enough) {
    const tags: readonly number[] = names.map((name) => Tag[name])
    const members = blM9Rsa.filter(({ tag }) => tags.includes(tag))
    const stored = await read('PrivateKey', 'TransparentRSAPrivateKey', members)
    assert.ok(load('PrivateKey', stored.material).equals(load('PrivateKey', whole.material)), names.join())
    const { material } = keyInForm(stored.shape, stored.material)
    assert.deepEqual(
      requireType(material, 'Structure').value.map(({ tag }) => tag),
      members.map(({ tag }) => tag),
    )
    const pkcs1 = keyInForm(stored.shape, stored.material, { format: 'PKCS_1' })
    const full = keyInForm(whole.shape, whole.material, { format: 'PKCS_1' })
    assert.equal(hex(encodeTtlv(pkcs1.material)), hex(encodeTtlv(full.material)))
  }
  for (const names of [['Modulus'], ['Modulus', 'PublicExponent'], ['P', 'Q', 'PublicExponent']]) {
    const members = blM9Rsa.filter(({ tag }) => names.some((name) => Tag[name as TagName] === tag))
    await assert.rejects(read('PrivateKey', 'TransparentRSAPrivateKey', members), { code: 'InvalidField' })
  }
})

test('RSA keys round-trip through every format of RSA', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const secret = await read('PrivateKey', 'PKCS_8', pkcs8(privateKey))
  for (const format of ['PKCS_1', 'PKCS_8', 'TransparentRSAPrivateKey'] as const)
    await roundTrip('PrivateKey', secret, format)
  const open = await read('PublicKey', 'X_509', spki(publicKey))
  for (const format of ['PKCS_1', 'X_509', 'PKCS_8', 'TransparentRSAPublicKey'] as const)
    await roundTrip('PublicKey', open, format)
})

test('EC keys of every curve round-trip through every format, compressed and uncompressed', async () => {
  for (const name of [
    'P_192',
    'P_224',
    'P_256',
    'P_384',
    'P_521',
    'SECP256K1',
    'SECP224K1',
    'SECP160R1',
    'BRAINPOOLP320R1',
    'K_233',
    'B_571',
  ] as const) {
    const curve = curveByName(name)
    assert.ok(curve)
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: curve.name })
    const secret = await read('PrivateKey', 'PKCS_8', pkcs8(privateKey), { algorithm: 'ECDSA' })
    assert.deepEqual([secret.shape.curve, secret.shape.bits], [name, curve.bits])
    for (const format of [
      'PKCS_8',
      'ECPrivateKey',
      'Raw',
      'TransparentECPrivateKey',
      'TransparentECDSAPrivateKey',
    ] as const)
      await roundTrip('PrivateKey', secret, format)
    const open = await read('PublicKey', 'X_509', spki(publicKey))
    for (const format of [
      'X_509',
      'PKCS_8',
      'Raw',
      'TransparentECPublicKey',
      'TransparentECDHPublicKey',
    ] as const)
      await roundTrip('PublicKey', open, format)
    for (const compression of [
      'ECPublicKeyTypeX9_62CompressedPrime',
      'ECPublicKeyTypeUncompressed',
      'ECPublicKeyTypeX9_62Hybrid',
    ] as const) {
      for (const format of ['TransparentECPublicKey', 'X_509', 'Raw'] as const) {
        const node = writeManagedObject(open.shape, open.material, { format, compression })
        const again = await readManagedObject('PublicKey', node, { algorithm: 'EC', curve: name }, policy)
        assert.ok(load('PublicKey', again.material ?? new Uint8Array()).equals(publicKey))
        assert.equal(again.shape.compression, compression)
        assert.equal(
          hex(encodeTtlv(writeManagedObject(again.shape, again.material ?? new Uint8Array()))),
          hex(encodeTtlv(node)),
        )
      }
    }
  }
})

test('property: leading zeros of a scalar do not change the EC key', async () => {
  await fc.assert(
    fc.asyncProperty(fc.bigInt({ min: 1n, max: (1n << 255n) - 1n }), async (d) => {
      const digits = d.toString(16)
      const bytes = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex')
      const stored = await read('PrivateKey', 'TransparentECPrivateKey', [
        enumeration(Tag.RecommendedCurve, Enumeration.RecommendedCurve.P_256),
        bigInteger(Tag.D, Buffer.concat([Buffer.alloc(3), bytes])),
      ])
      const ecdh = new (ECDH as unknown as new (curve: string) => ECDH)('prime256v1')
      ecdh.setPrivateKey(bytes)
      const open = load('PrivateKey', stored.material)
      const jwk = createPublicKey(open).export({ format: 'jwk' })
      assert.equal(
        `04${hex(Buffer.from(`${jwk.x}`, 'base64url'))}${hex(Buffer.from(`${jwk.y}`, 'base64url'))}`,
        ecdh.getPublicKey('hex'),
      )
    }),
    { numRuns: 40 },
  )
})

test('keys of Edwards and Montgomery curves and post-quantum keys round-trip through their formats', async () => {
  for (const [type, algorithm, transparent] of [
    ['ed25519', 'Ed25519', true],
    ['ed448', 'Ed448', true],
    ['x25519', 'ECDH', true],
    ['x448', 'ECDH', true],
    ['ml-dsa-44', 'ML_DSA_44', false],
    ['ml-dsa-87', 'ML_DSA_87', false],
    ['ml-kem-768', 'ML_KEM_768', false],
    ['slh-dsa-shake-128f', 'SLH_DSA_SHAKE_128f', false],
  ] as const) {
    const pair = generateKeyPairSync(type as 'ed25519')
    const secret = await read('PrivateKey', 'PKCS_8', pkcs8(pair.privateKey))
    assert.equal(secret.shape.algorithm, algorithm)
    await roundTrip('PrivateKey', secret, 'PKCS_8')
    await roundTrip('PrivateKey', secret, 'Raw')
    const open = await read('PublicKey', 'X_509', spki(pair.publicKey))
    await roundTrip('PublicKey', open, 'X_509')
    await roundTrip('PublicKey', open, 'Raw')
    if (!transparent) continue
    await roundTrip('PrivateKey', secret, 'TransparentECPrivateKey')
    await roundTrip('PublicKey', open, 'TransparentECPublicKey')
  }
})

test('Diffie-Hellman keys round-trip through their formats, and still agree on the same secret', async () => {
  const generate = () => generateKeyPairSync('dh', { group: 'modp14' } as never) as unknown as Pair
  const [one, two] = [generate(), generate()]
  const secret = await read('PrivateKey', 'PKCS_8', pkcs8(one.privateKey))
  await roundTrip('PrivateKey', secret, 'TransparentDHPrivateKey')
  const open = await read('PublicKey', 'X_509', spki(two.publicKey))
  await roundTrip('PublicKey', open, 'TransparentDHPublicKey')
  const shared = diffieHellman({
    privateKey: load('PrivateKey', secret.material),
    publicKey: load('PublicKey', open.material),
  })
  assert.ok(shared.equals(diffieHellman({ privateKey: two.privateKey, publicKey: one.publicKey })))
})

/** The format and the value of each digest. */
const listDigests = ({ shape, material }: Pick<StoredObject, 'shape' | 'material'>) => {
  assert.ok(material)
  return digestAttributes(shape, material).map(({ value: [, value, format] }) => ({
    format: valueName('KeyFormatType', Number(format?.value)),
    value: hex(value?.value as Uint8Array),
  }))
}
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

test('the first digest is of the registered format, the second of the default format', async () => {
  const stored = await read('PrivateKey', 'TransparentRSAPrivateKey', blM9Rsa)
  const bytes = load('PrivateKey', stored.material).export({
    format: 'der',
    type: 'pkcs1',
  } as never) as Buffer
  const transparent = keyInForm(stored.shape, stored.material).material
  const inDefault = { format: 'PKCS_1', value: sha256(bytes) }
  assert.deepEqual(listDigests(stored), [
    { format: 'TransparentRSAPrivateKey', value: sha256(encodeTtlv(transparent)) },
    inDefault,
  ])
  assert.deepEqual(listDigests(await read('PrivateKey', 'PKCS_1', bytes)), [inDefault])

  // OASIS TL-M-3-21 wants the Raw digest of a symmetric key.
  const key = Buffer.alloc(32, 7)
  const raw = { format: 'Raw', value: '4bb06f8e4e3a7715d201d573d0aa423762e55dabd61a2c02278fa56cc6d294e0' }
  assert.deepEqual(listDigests(await read('SymmetricKey', 'Raw', key, { algorithm: 'AES' })), [raw])
  const members = structure(Tag.KeyMaterial, [byteString(Tag.Key, key)])
  assert.deepEqual(
    listDigests(await read('SymmetricKey', 'TransparentSymmetricKey', members.value, { algorithm: 'AES' })),
    [{ format: 'TransparentSymmetricKey', value: sha256(encodeTtlv(members)) }, raw],
  )

  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const der = pair.privateKey.export({ format: 'der', type: 'pkcs8' })
  const ec = await read('PrivateKey', 'PKCS_8', der)
  const form = keyInForm(ec.shape, ec.material, { format: 'TransparentECPrivateKey' }).material
  assert.deepEqual(listDigests(ec), [
    { format: 'PKCS_8', value: sha256(der) },
    { format: 'TransparentECPrivateKey', value: sha256(encodeTtlv(form)) },
  ])
  assert.ok(form.type === 'Structure')
  // The form by use that 1.x has is the default one.
  const byUse = await read('PrivateKey', 'TransparentECDSAPrivateKey', form.value)
  assert.deepEqual(listDigests(byUse), [
    { format: 'TransparentECDSAPrivateKey', value: sha256(encodeTtlv(form)) },
  ])
})

test('the digest of a part of a key, and of a key with a MAC, is that of its KeyMaterial', async () => {
  const key = Buffer.alloc(32, 7)
  const mac = structure(Tag.KeyWrappingData, [
    enumeration(Tag.WrappingMethod, Enumeration.WrappingMethod.MACSign),
    structure(Tag.MACSignatureKeyInformation, [textString(Tag.UniqueIdentifier, 'mac')]),
    byteString(Tag.MACSignature, Buffer.alloc(32)),
  ])
  const part = structure(Tag.SplitKey, [
    ...['SplitKeyParts', 'KeyPartIdentifier', 'SplitKeyThreshold'].map((name) =>
      integer(Tag[name as TagName], 2),
    ),
    enumeration(Tag.SplitKeyMethod, Enumeration.SplitKeyMethod.XOR),
    ...keyNode('SymmetricKey', 'Raw', key).value,
  ])
  for (const [type, node] of [
    ['SymmetricKey', keyNode('SymmetricKey', 'Raw', key, mac)],
    ['SplitKey', part],
  ] as const) {
    const { shape, material } = await readManagedObject(type, node, { algorithm: 'AES' }, policy)
    assert.ok(material)
    assert.equal(shape.form, 'block')
    assert.deepEqual(listDigests({ shape, material }), [{ format: 'Raw', value: sha256(key) }])
  }
})
