import assert from 'node:assert/strict'
import { createHmac, hkdfSync, pbkdf2Sync } from 'node:crypto'
import { test } from 'node:test'
import {
  boolean,
  byteString,
  Enumeration,
  enumeration,
  integer,
  type StructureNode,
  structure,
  Tag,
  type TtlvNode,
} from '@warder/kmip-codec'
import {
  algorithms,
  data,
  hashing,
  key16,
  mode,
  oasisData,
  parameters,
  readBytes,
  startKmipFixture,
  use,
} from '../../testing/kmip-fixture.ts'
import { attributes, objectType, uid } from '../../testing/nodes.ts'

const { kms, alice, bob, activeForAnHour, registerKey, createPair } = await startKmipFixture()

const method = (name: keyof typeof Enumeration.DerivationMethod) =>
  enumeration(Tag.DerivationMethod, Enumeration.DerivationMethod[name])
const from = (...members: readonly TtlvNode[]) => structure(Tag.DerivationParameters, members)
const derivationData = (bytes: Uint8Array) => byteString(Tag.DerivationData, bytes)

function wanted(bits: number, ...more: readonly TtlvNode[]): TtlvNode {
  return attributes(
    enumeration(Tag.CryptographicAlgorithm, algorithms.AES),
    integer(Tag.CryptographicLength, bits),
    integer(Tag.CryptographicUsageMask, use.Encrypt | use.Decrypt | use.DeriveKey),
    activeForAnHour(),
    ...more,
  )
}

/** The bytes of a key, as Get gives them. */
async function keyBytes(id: string, tag: number = Tag.SymmetricKey): Promise<Buffer> {
  const payload = await alice.do('Get', [uid(id)])
  const find = (nodes: readonly TtlvNode[], wantedTag: number): TtlvNode | undefined =>
    nodes.find((node) => node.tag === wantedTag)
  const object = find(payload.nodes, tag) as StructureNode
  const block = find(object.value, Tag.KeyBlock) as StructureNode
  const value = find(block.value, Tag.KeyValue) as StructureNode
  return Buffer.from(find(value.value, Tag.KeyMaterial)?.value as Uint8Array)
}

async function secretData(bytes: Uint8Array, mask: number = use.DeriveKey): Promise<string> {
  const payload = await alice.do('Register', [
    objectType('SecretData'),
    attributes(integer(Tag.CryptographicUsageMask, mask), activeForAnHour()),
    structure(Tag.SecretData, [
      enumeration(Tag.SecretDataType, Enumeration.SecretDataType.Password),
      structure(Tag.KeyBlock, [
        enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType.Raw),
        structure(Tag.KeyValue, [byteString(Tag.KeyMaterial, bytes)]),
      ]),
    ]),
  ])
  return payload.id
}

const symmetric = objectType('SymmetricKey')

test('keys are derived from passwords, secrets and keys, each by its standard', async () => {
  const password = Buffer.from('correct horse')
  const salt = Buffer.from('0123456789abcdef')
  const secret = await secretData(password)
  const key = await registerKey(key16, 'AES')
  const bySha1 = parameters(hashing('SHA_1'))
  const pbkdf2 = from(bySha1, byteString(Tag.Salt, salt), integer(Tag.IterationCount, 1000))
  const made = async (base: string, ...more: readonly TtlvNode[]) =>
    keyBytes((await alice.do('DeriveKey', [symmetric, uid(base), ...more])).id)
  assert.deepEqual(
    await made(secret, method('PBKDF2'), pbkdf2, wanted(256)),
    pbkdf2Sync(password, salt, 1000, 32, 'sha1'),
  )
  const hkdf = from(byteString(Tag.Salt, salt), derivationData(oasisData))
  assert.deepEqual(
    await made(key, method('HKDF'), hkdf, wanted(192)),
    Buffer.from(hkdfSync('sha256', key16, salt, oasisData, 24)),
  )
  const hmac = createHmac('sha256', key16).update(oasisData).digest()
  assert.deepEqual(
    await made(key, method('HMAC'), from(derivationData(oasisData)), wanted(128)),
    hmac.subarray(0, 16),
  )
  const ecb = from(parameters(mode('ECB')), derivationData(oasisData))
  assert.equal(
    (await made(key, method('ENCRYPT'), ecb, wanted(128))).toString('hex'),
    'd9bcce11b0b437b90239552df3a360c9',
  )
  const info = await secretData(oasisData)
  assert.deepEqual(
    await made(key, uid(info), method('HMAC'), wanted(128)),
    hmac.subarray(0, 16),
    'secret data to derive from',
  )
  assert.deepEqual(
    await made(info, uid(key), method('HMAC'), wanted(128)),
    hmac.subarray(0, 16),
    'in the other order',
  )
  const payload = await alice.do('DeriveKey', [
    objectType('SecretData'),
    uid(key),
    method('HASH'),
    attributes(integer(Tag.CryptographicLength, 256)),
  ])
  assert.equal((await keyBytes(payload.id, Tag.SecretData)).length, 32)
})

test('a derived key is linked to its source, and usable', async () => {
  const key = await registerKey(key16, 'AES')
  const { id } = await alice.do('DeriveKey', [
    symmetric,
    uid(key),
    method('HMAC'),
    from(derivationData(oasisData)),
    wanted(256),
  ])
  const links = async (of: string) =>
    JSON.stringify(
      (await alice.do('GetAttributes', [uid(of), enumeration(Tag.AttributeReference, Tag.Link)])).nodes,
    )
  assert.match(await links(id), new RegExp(key))
  assert.match(await links(key), new RegExp(id))
  const sealed = await alice.do('Encrypt', [uid(id), data(oasisData)])
  assert.equal(readBytes(sealed, Tag.Data).length, 16)
  const { json } = await kms.user('alice').get(`/v1/crypto/keys/${id}`)
  assert.equal(json.kid, id, 'REST knows it too')
})

test('two pairs agree on the same key, from either side', async () => {
  const curve = structure(Tag.CryptographicDomainParameters, [
    enumeration(Tag.RecommendedCurve, Enumeration.RecommendedCurve.P_256),
  ])
  const generatePair = async () => {
    const made = await alice.do('CreateKeyPair', [
      structure(Tag.CommonAttributes, [
        enumeration(Tag.CryptographicAlgorithm, algorithms.ECDH),
        curve,
        activeForAnHour(),
        integer(Tag.CryptographicUsageMask, use.KeyAgreement),
      ]),
    ])
    return {
      priv: made.get(Tag.PrivateKeyUniqueIdentifier) as string,
      pub: made.get(Tag.PublicKeyUniqueIdentifier) as string,
    }
  }
  const [one, two] = [await generatePair(), await generatePair()]
  const agreed = async (priv: string, pub: string) =>
    keyBytes(
      (await alice.do('DeriveKey', [symmetric, uid(priv), uid(pub), method('AsymmetricKey'), wanted(256)]))
        .id,
    )
  assert.deepEqual(await agreed(one.priv, two.pub), await agreed(two.priv, one.pub))
  const fails = (members: readonly TtlvNode[], reason: string) =>
    alice.fails('DeriveKey', [symmetric, ...members, wanted(128)], reason)
  await fails([uid(one.priv), method('AsymmetricKey')], 'InvalidField')
  await fails([uid(one.pub), uid(two.pub), method('AsymmetricKey')], 'InvalidField')
  await fails(
    [uid(one.priv), method('HMAC'), from(derivationData(oasisData))],
    'IncompatibleCryptographicUsageMask',
  )
})

test('impossible derivations are refused, and nothing is created', async () => {
  const key = await registerKey(key16, 'AES')
  const fails = (members: readonly (TtlvNode | undefined)[], reason: string) =>
    alice.fails('DeriveKey', members, reason)
  const about = [symmetric, uid(key), method('HMAC')]
  await fails([...about, wanted(128)], 'InvalidField')
  await fails([...about, from(derivationData(oasisData)), wanted(512)], 'InvalidField')
  await fails([...about, from(derivationData(oasisData)), attributes()], 'MissingData')
  await fails(
    [...about, from(derivationData(oasisData)), attributes(integer(Tag.CryptographicLength, 128))],
    'MissingData',
  )
  await fails([...about, from(derivationData(oasisData)), wanted(129)], 'InvalidField')
  await fails([...about, from(derivationData(oasisData)), wanted(136)], 'InvalidField')
  await fails([objectType('PrivateKey'), uid(key), method('HMAC'), wanted(128)], 'InvalidField')
  await fails([symmetric, uid(key), wanted(128)], 'MissingData')
  await fails([symmetric, uid(key), uid(key), method('HMAC'), wanted(128)], 'InvalidField')
  const locked = await registerKey(key16, 'AES', integer(Tag.CryptographicUsageMask, use.Encrypt))
  await fails([symmetric, uid(locked), method('HASH'), wanted(128)], 'IncompatibleCryptographicUsageMask')
  await bob.fails('DeriveKey', [symmetric, uid(key), method('HASH'), wanted(128)], 'ObjectNotFound')
  const salt = byteString(Tag.Salt, oasisData)
  await fails(
    [
      symmetric,
      uid(key),
      method('PBKDF2'),
      from(salt, integer(Tag.IterationCount, 2_000_000_000)),
      wanted(128),
    ],
    'InvalidField',
  )
})

const splitting = (name: keyof typeof Enumeration.SplitKeyMethod, parts: number, threshold: number) => [
  integer(Tag.SplitKeyParts, parts),
  integer(Tag.SplitKeyThreshold, threshold),
  enumeration(Tag.SplitKeyMethod, Enumeration.SplitKeyMethod[name]),
]
const partAttributes = () => attributes(integer(Tag.CryptographicUsageMask, use.Encrypt))

async function parts(about: readonly TtlvNode[]): Promise<readonly string[]> {
  const { nodes } = await alice.do('CreateSplitKey', about)
  return nodes.filter(({ tag }) => tag === Tag.UniqueIdentifier).map(({ value }) => value as string)
}

test('a key is split by every method, and joined from any sufficient set of parts', async () => {
  const key = await registerKey(key16, 'AES')
  for (const [name, threshold] of [
    ['XOR', 4],
    ['PolynomialSharingGF28', 2],
    ['PolynomialSharingGF216', 3],
    ['PolynomialSharingPrimeField', 3],
  ] as const) {
    // ObjectType is the type of the new objects; clients may send the type of the split object instead.
    const asked = name === 'XOR' ? symmetric : objectType('SplitKey')
    const made = await parts([asked, uid(key), ...splitting(name, 4, threshold), partAttributes()])
    assert.equal(made.length, 4)
    const some = made.slice(-threshold).reverse()
    const joined = await alice.do('JoinSplitKey', [symmetric, ...some.map(uid), wanted(128)])
    assert.deepEqual(await keyBytes(joined.id), key16)
    const few = some.slice(1)
    await alice.fails('JoinSplitKey', [symmetric, ...few.map(uid), wanted(128)], 'CryptographicFailure')
    await bob.fails('JoinSplitKey', [symmetric, ...some.map(uid), wanted(128)], 'ObjectNotFound')
  }
})

test('a new split key is stored only in its parts; parts of different keys do not join', async () => {
  const about = [objectType('SplitKey'), ...splitting('PolynomialSharingGF28', 3, 2), wanted(256)]
  const [one, two] = [await parts(about), await parts(about)]
  const first = await alice.do('JoinSplitKey', [symmetric, uid(one[0] ?? ''), uid(one[2] ?? ''), wanted(256)])
  const again = await alice.do('JoinSplitKey', [symmetric, uid(one[1] ?? ''), uid(one[2] ?? ''), wanted(256)])
  assert.deepEqual(await keyBytes(first.id), await keyBytes(again.id))
  assert.equal((await keyBytes(first.id)).length, 32)
  const mixed = [one[0], one[1], two[2]].map((id) => uid(id ?? ''))
  await alice.fails('JoinSplitKey', [symmetric, ...mixed, wanted(256)], 'CryptographicFailure')
  const xor = await parts([symmetric, ...splitting('XOR', 2, 2), wanted(256)])
  await alice.fails(
    'JoinSplitKey',
    [symmetric, uid(one[0] ?? ''), uid(xor[0] ?? ''), wanted(256)],
    'InvalidField',
  )
  await alice.fails(
    'JoinSplitKey',
    [symmetric, uid(first.id), uid(one[0] ?? ''), wanted(256)],
    'InvalidObjectType',
  )
  await alice.fails('JoinSplitKey', [symmetric, wanted(256)], 'MissingData')
})

test('a private key can be split and joined; a key that is not Extractable is not split, and a Sensitive one stays Sensitive', async () => {
  const { priv, pub } = await createPair('Ed25519')
  const split = await parts([
    objectType('PrivateKey'),
    uid(priv),
    ...splitting('PolynomialSharingPrimeField', 3, 2),
    partAttributes(),
  ])
  const signing = attributes(integer(Tag.CryptographicUsageMask, use.Sign), activeForAnHour())
  const joined = await alice.do('JoinSplitKey', [
    objectType('PrivateKey'),
    ...split.slice(1).map(uid),
    signing,
  ])
  const signature = readBytes(await alice.do('Sign', [uid(joined.id), data(oasisData)]), Tag.SignatureData)
  const verified = await alice.do('SignatureVerify', [
    uid(pub),
    data(oasisData),
    byteString(Tag.SignatureData, signature),
  ])
  assert.equal(verified.get(Tag.ValidityIndicator), Enumeration.ValidityIndicator.Valid)

  const kept = await registerKey(key16, 'AES', boolean(Tag.Extractable, false))
  const gf = splitting('PolynomialSharingGF28', 3, 2)
  await alice.fails('CreateSplitKey', [symmetric, uid(kept), ...gf, partAttributes()], 'NotExtractable')
  const sensitive = await registerKey(key16, 'AES', boolean(Tag.Sensitive, true))
  const hidden = await parts([symmetric, uid(sensitive), ...gf, partAttributes()])
  await alice.fails('Get', [uid(hidden[0] ?? '')], 'Sensitive')
  const whole = await alice.do('JoinSplitKey', [symmetric, ...hidden.slice(0, 2).map(uid), wanted(128)])
  await alice.fails('Get', [uid(whole.id)], 'Sensitive')
  await alice.fails(
    'CreateSplitKey',
    [symmetric, uid(kept), ...splitting('XOR', 3, 2), partAttributes()],
    'NotExtractable',
  )
  await alice.fails(
    'CreateSplitKey',
    [symmetric, uid(whole.id), ...splitting('XOR', 3, 2), partAttributes()],
    'InvalidField',
  )
  await bob.fails('CreateSplitKey', [symmetric, uid(whole.id), ...gf, partAttributes()], 'ObjectNotFound')
})
