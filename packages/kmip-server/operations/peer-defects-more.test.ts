import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import {
  byteString,
  contentTypes,
  decodeNode,
  decodeTtlv,
  Enumeration,
  encodeTtlv,
  enumeration,
  findMember,
  findMembers,
  integer,
  longInteger,
  requireType,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { readResponse } from '@warder/kmip-codec/testing'
import { grant } from '@warder/kms/testing'
import {
  activeSince,
  hex,
  inside,
  keyBlock,
  keyOf,
  linked,
  mask,
  nameNode,
  wanted,
  wrappingSpecification,
} from '../testing/keys.ts'
import { kmipClient, type Payload } from '../testing/kmip-client.ts'
import {
  allCryptoUses,
  data,
  hashing,
  iv,
  mode,
  parameters,
  readBytes,
  startKmipFixture,
  use,
} from '../testing/kmip-fixture.ts'
import { aesAttributes, attributes, uid } from '../testing/nodes.ts'
import { createRequest, getAttributes, listIds, symmetric } from '../testing/requests.ts'

// Defects found in other servers of this kind, one test each, on the live server.

const { kms, alice, bob, registerKey } = await startKmipFixture()

test('13: Query supports every function, and lists ReCertify', async () => {
  const functions = Object.values(Enumeration.QueryFunction).map((value) =>
    enumeration(Tag.QueryFunction, value),
  )
  const answer = await alice.do('Query', functions)
  for (const tag of [
    Tag.Operation,
    Tag.ObjectType,
    Tag.VendorIdentification,
    Tag.ServerInformation,
    Tag.RNGParameters,
    Tag.ProfileInformation,
    Tag.CapabilityInformation,
    Tag.ProtectionStorageMasks,
  ])
    assert.ok(
      answer.nodes.some((node) => node.tag === tag),
      tag.toString(16),
    )
  const operations = answer.nodes.filter(({ tag }) => tag === Tag.Operation).map(({ value }) => value)
  assert.ok(operations.includes(Enumeration.Operation.ReCertify))
})

test('14: DeriveKey has the members of the standard and each of its methods', async () => {
  const base = await registerKey(randomBytes(32), 'AES')
  const salt = byteString(Tag.Salt, randomBytes(16))
  const info = byteString(Tag.DerivationData, randomBytes(32))
  const hash = parameters(hashing('SHA_256'))
  const asked: Readonly<Partial<Record<keyof typeof Enumeration.DerivationMethod, readonly TtlvNode[]>>> = {
    PBKDF2: [salt, integer(Tag.IterationCount, 1000), hash],
    HKDF: [salt, info, hash],
    HASH: [info, hash],
    HMAC: [info, hash],
    ENCRYPT: [parameters(mode('CBC')), byteString(Tag.InitializationVector, Buffer.alloc(16)), info],
    NIST800_108C: [info, hash],
    NIST800_108F: [info, hash],
    NIST800_108DPI: [info, hash],
  }
  for (const [name, members] of Object.entries(asked)) {
    const method = Enumeration.DerivationMethod[name as keyof typeof Enumeration.DerivationMethod]
    const { id } = await alice.do('DeriveKey', [
      symmetric,
      uid(base),
      enumeration(Tag.DerivationMethod, method),
      structure(Tag.DerivationParameters, members),
      aesAttributes(256),
    ])
    assert.equal(linked(await getAttributes(alice, id), 'DerivationBaseObjectLink'), base, name)
  }
})

test('15: an invalid certificate gets Invalid, not an error', async () => {
  const broken = byteString(Tag.Certificate, randomBytes(64))
  const answer = await alice.do('Validate', [broken])
  assert.equal(answer.get(Tag.ValidityIndicator), Enumeration.ValidityIndicator.Invalid)
})

test('16: a rotation is atomic', async () => {
  const { id } = await alice.do('Create', createRequest(nameNode('rotated')))
  const before = await getAttributes(alice, id)
  const undone = await alice.send(
    [
      { operation: 'ReKey', payload: [uid(id)] },
      { operation: 'Get', payload: [uid('nothing')] },
    ],
    { batchErrorContinuation: 'Undo' },
  )
  assert.equal(undone.items[0]?.status, 'OperationUndone')
  assert.deepEqual(await getAttributes(alice, id), before)
  const raced = await Promise.all([1, 2, 3, 4].map(() => alice.ask('ReKey', [uid(id)])))
  assert.equal(raced.filter(({ status }) => status === 'Success').length, 1)
  const [latest, ...others] = listIds(await alice.do('Locate', [attributes(nameNode('rotated'))]))
  assert.deepEqual([typeof latest, others.length], ['string', 0])
})

test('17: keys of every size wrap with GCM, and a wrapped object is returned in another format', async () => {
  const key = await registerKey(randomBytes(32), 'AES')
  for (const size of [16, 24, 32]) {
    const kek = await registerKey(randomBytes(size), 'AES', mask('WrapKey', 'UnwrapKey'))
    const got = await alice.do('Get', [uid(key), wrappingSpecification(kek, 'GCM')])
    const wrapped = got.nodes[2]
    assert.ok(wrapped)
    const kept = await alice.do('Register', [symmetric, attributes(mask('Encrypt')), wrapped])
    const clear = await alice.do('Get', [
      uid(kept.id),
      enumeration(Tag.KeyWrapType, Enumeration.KeyWrapType.NotWrapped),
      wanted('TransparentSymmetricKey'),
    ])
    const open = await alice.do('Get', [uid(key), wanted('TransparentSymmetricKey')])
    const bytes = (payload: Payload) =>
      hex(inside(payload.nodes[2], Tag.KeyBlock, Tag.KeyValue, Tag.KeyMaterial, Tag.Key)?.value)
    assert.equal(bytes(clear), bytes(open))
  }
})

test('19: GetAttributeList names exactly the attributes of the object', async () => {
  const { id } = await alice.do('Create', createRequest(textString(Tag.Description, 'described')))
  const list = await alice.do('GetAttributeList', [uid(id)])
  const named = new Set(
    list.nodes.filter(({ tag }) => tag === Tag.AttributeReference).map(({ value }) => value),
  )
  assert.deepEqual(named, new Set((await getAttributes(alice, id)).map(({ tag }) => tag)))
  assert.ok(named.has(Tag.Description))
})

test('20: curves have the numbers of the standard in 1.x, and even an unreadable message is answered in 1.x', async () => {
  const old = kmipClient(kms.user('alice'), { version: '1.4' })
  const curve = structure(Tag.CryptographicDomainParameters, [
    enumeration(Tag.RecommendedCurve, Enumeration.RecommendedCurve.SECP256K1),
  ])
  assert.equal(Enumeration.RecommendedCurve.SECP256K1, 0x19)
  const made = await old.do('CreateKeyPair', [
    structure(Tag.CommonAttributes, [
      enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.EC),
      curve,
      integer(Tag.CryptographicUsageMask, use.Sign | use.Verify),
    ]),
  ])
  const shown = await getAttributes(alice, made.get(Tag.PrivateKeyUniqueIdentifier) as string)
  const domain = shown.find(({ tag }) => tag === Tag.CryptographicDomainParameters)
  assert.equal(inside(domain, Tag.RecommendedCurve)?.value, 0x19)
  for (const [bytes, version] of [
    [Buffer.alloc(24), undefined],
    [unfinished(1, 2), '1.2'],
  ] as const) {
    const answer = await kms.user('alice').call('POST', '/kmip', {
      bytes,
      headers: { 'content-type': contentTypes.ttlv },
    })
    const read = readResponse(decodeNode(answer.bytes, 'ttlv'))
    assert.equal(read.items[0]?.reason, 'InvalidMessage')
    if (version !== undefined) assert.equal(read.version, version)
    const header = findMember(requireType(decodeTtlv(answer.bytes), 'Structure'), Tag.ResponseHeader)
    assert.equal(header?.type === 'Structure' && findMembers(header, Tag.ServerCorrelationValue).length, 0)
  }
})

/** A message of this version that holds no batch item. */
function unfinished(major: number, minor: number): Uint8Array {
  return encodeTtlv(
    structure(Tag.RequestMessage, [
      structure(Tag.RequestHeader, [
        structure(Tag.ProtocolVersion, [
          integer(Tag.ProtocolVersionMajor, major),
          integer(Tag.ProtocolVersionMinor, minor),
        ]),
        integer(Tag.BatchCount, 1),
      ]),
    ]),
  )
}

test('21: SHA-1, 3DES, HMAC-MD5, CTR, CFB, OFB, CCM and CMAC are supported', async () => {
  const text = data(Buffer.from('sixteen bytes!!!'))
  const hashed = await alice.do('Hash', [parameters(hashing('SHA_1')), text])
  assert.equal(readBytes(hashed, Tag.Data).length, 20)
  const aes = await registerKey(randomBytes(16), 'AES')
  for (const name of ['CTR', 'CFB', 'OFB', 'CCM'] as const) {
    const asked = parameters(mode(name), ...(name === 'CCM' ? [integer(Tag.TagLength, 16)] : []))
    const sealed = await alice.do('Encrypt', [uid(aes), asked, text])
    const tag = sealed.nodes.find((node) => node.tag === Tag.AuthenticatedEncryptionTag)
    const opened = await alice.do('Decrypt', [
      uid(aes),
      asked,
      data(readBytes(sealed, Tag.Data)),
      iv(readBytes(sealed, Tag.IVCounterNonce)),
      tag,
    ])
    assert.deepEqual(readBytes(opened, Tag.Data), Buffer.from('sixteen bytes!!!'), name)
  }
  const cmac = await alice.do('MAC', [uid(aes), parameters(mode('CMAC')), text])
  assert.equal(readBytes(cmac, Tag.MACData).length, 16)
  const md5 = await registerKey(randomBytes(16), 'HMAC_MD5')
  assert.equal(readBytes(await alice.do('MAC', [uid(md5), text]), Tag.MACData).length, 16)
  const des = await alice.do('Register', [
    symmetric,
    attributes(integer(Tag.CryptographicUsageMask, allCryptoUses), activeSince),
    structure(Tag.SymmetricKey, [keyBlock('Raw', randomBytes(24), ...keyOf('DES3', 168))]),
  ])
  await alice.do('Encrypt', [uid(des.id), parameters(mode('CBC')), text])
})

test('22: operations that other servers lack are supported', async () => {
  const number = structure(Tag.Attribute, [
    textString(Tag.VendorIdentification, 'x'),
    textString(Tag.AttributeName, 'count'),
    integer(Tag.AttributeValue, 41),
  ])
  const { id } = await alice.do('Create', createRequest(number))
  await alice.do('Archive', [uid(id)])
  await alice.fails('Get', [uid(id)], 'ObjectArchived')
  await alice.do('Recover', [uid(id)])
  assert.equal(typeof (await alice.do('ObtainLease', [uid(id)])).get(Tag.LeaseTime), 'number')
  await alice.fails(
    'GetUsageAllocation',
    [uid(id), longInteger(Tag.UsageLimitsCount, 1n)],
    'AttributeNotFound',
  )
  await alice.do('AdjustAttribute', [
    uid(id),
    structure(Tag.AttributeReference, [
      textString(Tag.VendorIdentification, 'x'),
      textString(Tag.AttributeName, 'count'),
    ]),
    enumeration(Tag.AdjustmentType, Enumeration.AdjustmentType.Increment),
  ])
  const adjusted = (await getAttributes(alice, id)).find(({ tag }) => tag === Tag.Attribute)
  assert.equal(inside(adjusted, Tag.AttributeValue)?.value, 42)
  await alice.do('Ping')
  const later = await alice.send([{ operation: 'Get', payload: [uid(id)] }], {
    asynchronous: 'Mandatory',
  })
  assert.equal(later.items[0]?.status, 'OperationPending')
})

test('23: errors have the expected reason and message', async () => {
  const { id } = await alice.do('Create', createRequest())
  assert.equal(await alice.fails('Destroy', [uid(id)], 'WrongKeyLifecycleState'), 'DENIED')
  const old = kmipClient(kms.user('alice'), { version: '1.4' })
  assert.equal(await old.fails('Destroy', [uid(id)], 'PermissionDenied'), 'DENIED')
})

test('24: a grantee uses a key by its identifier, whatever characters it has', async () => {
  const { id } = await alice.do('Create', createRequest(uid('shared@1')))
  await grant(kms.user('alice'), id, 'bob', 'encrypt', 'decrypt')
  const sealed = await bob.do('Encrypt', [uid(id), data(Buffer.from('for both'))])
  assert.equal(sealed.id, id)
  await bob.fails('Get', [uid(id)], 'PermissionDenied')
})
