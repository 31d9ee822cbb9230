import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import {
  decodeMasterKey,
  decodePublicKey,
  decodeUserKey,
  encodeItems,
  encodeSealRequest,
} from '@warder/covercrypt'
import {
  byteString,
  Enumeration,
  enumeration,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { type KmsConfig, startKms, startSharedKms } from '@warder/kms/testing'
import {
  AbeClient,
  aad,
  bulk,
  coverCrypt,
  format,
  hospital,
  parent,
  past,
  vendor,
} from '../../testing/abe.ts'
import { kmipClient } from '../../testing/kmip-client.ts'
import { attributes, objectType, uid } from '../../testing/nodes.ts'
import { getAttributes, listIds, revocation } from '../../testing/requests.ts'

const kms = await startSharedKms()
const alice = new AbeClient(kmipClient(kms.user('alice')))
const bob = new AbeClient(kmipClient(kms.user('bob')))

const share = (id: string, ...operations: readonly string[]) =>
  kms
    .user('alice')
    .post('/access/grant', { unique_identifier: id, user_id: 'bob', operation_types: operations })

test('a pair is created from an access structure and user keys from policies, and only keys whose policy matches decrypt', async () => {
  const { master, publicKey } = await alice.pair()
  const secretBlue = await alice.user(master, 'Clearance::Secret && Team::Blue')
  const restricted = await alice.user(master, 'Clearance::Restricted && (Team::Blue || Team::Red)')
  const everything = await alice.user(master, '*')
  for (const [policy, opens] of [
    ['Team::Blue && Clearance::Public', [true, true, true]],
    ['Clearance::Secret && Team::Blue', [true, false, true]],
    ['Team::Green', [false, false, true]],
    ['Team::Red || Team::Green', [false, true, true]],
    ['*', [true, true, true]],
  ] as const) {
    const sealed = await alice.encrypt(publicKey, policy, policy, aad('context'))
    for (const [index, user] of [secretBlue, restricted, everything].entries()) {
      const expected = opens[index] ? policy : undefined
      assert.equal(await alice.decrypt(user, sealed, aad('context')), expected, `${policy} ${index}`)
      assert.equal(await alice.decrypt(user, sealed), undefined, 'without the additional data')
    }
  }
})

test('the response to Encrypt contains only the data: the additional data are not returned as a tag', async () => {
  const { publicKey } = await alice.pair({ A: ['a'] })
  const { nodes } = await alice.kmip.do('Encrypt', alice.sealing(publicKey, 'A::a', 'text', aad('aad')))
  assert.deepEqual(
    nodes.map(({ tag }) => tag),
    [Tag.UniqueIdentifier, Tag.Data],
  )
  assert.equal((nodes[1] as { value: Uint8Array }).value.length, 115 + 28 + 4)
})

test('several texts are encrypted with one encapsulation, and complete requests one by one', async () => {
  const { master, publicKey } = await alice.pair({ Team: ['Blue', 'Red'] })
  const blue = await alice.user(master, 'Team::Blue')
  const red = await alice.user(master, 'Team::Red')
  const sealed = await alice.encryptBulk(publicKey, 'Team::Blue', ['first', '', 'third item'])
  const opened = encodeItems(['first', '', 'third item'].map((one) => Buffer.from(one)))
  assert.equal(await alice.decrypt(blue, sealed, bulk), Buffer.from(opened).toString())
  assert.equal(await alice.decrypt(red, sealed, bulk), undefined)
  const prefix = Uint8Array.of(0x87, 0x87)
  const requests = ['Team::Blue', 'Team::Blue || Team::Red'].map((policy) =>
    encodeSealRequest({ policy, plaintext: Buffer.from(policy) }),
  )
  const all = await alice.kmip.do('Encrypt', [
    uid(publicKey),
    byteString(Tag.Data, Buffer.concat([prefix, encodeItems(requests)])),
  ])
  const both = all.get(Tag.Data) as Uint8Array
  const plain = encodeItems(['Team::Blue', 'Team::Blue || Team::Red'].map((one) => Buffer.from(one)))
  assert.equal(await alice.decrypt(blue, both), Buffer.concat([prefix, plain]).toString())
  assert.equal(await alice.decrypt(red, both), undefined, 'one of them does not open')
})

test('attributes describe each key, and clients cannot change them', async () => {
  const { master, publicKey } = await alice.pair()
  const user = await alice.user(master, 'Team::Blue')
  for (const [id, keyFormat] of [
    [master, 'CoverCryptSecretKey'],
    [publicKey, 'CoverCryptPublicKey'],
    [user, 'CoverCryptSecretKey'],
  ] as const) {
    const bytes = await alice.get(id)
    const all = await getAttributes(alice.kmip, id)
    const attribute = (tag: number) => all.find((node) => node.tag === tag)?.value
    assert.equal(attribute(Tag.CryptographicAlgorithm), Enumeration.CryptographicAlgorithm.CoverCrypt)
    assert.equal(attribute(Tag.KeyFormatType), Enumeration.KeyFormatType[keyFormat])
    assert.equal(attribute(Tag.CryptographicLength), bytes.length * 8)
    assert.equal(Number(attribute(Tag.CryptographicUsageMask)) & 0x200000, 0x200000)
    const digest = attribute(Tag.Digest) as readonly TtlvNode[]
    const hash = digest.find(({ tag }) => tag === Tag.DigestValue)?.value as Uint8Array
    assert.deepEqual(Buffer.from(hash), createHash('sha256').update(bytes).digest())
  }
  const policy = vendor('cover_crypt_access_policy', 'Team::Blue')
  assert.ok(
    (await getAttributes(alice.kmip, user)).some((node) => JSON.stringify(node) === JSON.stringify(policy)),
  )
  for (const id of [master, publicKey, user]) {
    const lie = vendor('cover_crypt_access_policy', '*')
    await alice.kmip.fails('SetAttribute', [uid(id), structure(Tag.NewAttribute, [lie])], 'AttributeReadOnly')
    await alice.kmip.fails('AddAttribute', [uid(id), structure(Tag.NewAttribute, [lie])], 'AttributeReadOnly')
  }
  const modify = [uid(user), structure(Tag.CurrentAttribute, [policy]), structure(Tag.NewAttribute, [policy])]
  await alice.kmip.fails('ModifyAttribute', modify, 'AttributeReadOnly')
  await alice.kmip.fails(
    'DeleteAttribute',
    [uid(user), structure(Tag.CurrentAttribute, [policy])],
    'AttributeReadOnly',
  )
  const link = [uid(user), structure(Tag.CurrentAttribute, [parent(master)])]
  await alice.kmip.fails('DeleteAttribute', link, 'AttributeReadOnly')
})

test('user keys are found by link, tag and policy', async () => {
  const { master } = await alice.pair()
  const tag = structure(Tag.Attribute, [
    textString(Tag.VendorIdentification, 'cosmian'),
    textString(Tag.AttributeName, 'tag'),
    textString(Tag.AttributeValue, '["ward 7"]'),
  ])
  const blue = await alice.user(master, 'Team::Blue', tag)
  const red = await alice.user(master, 'Team::Red')
  const locate = async (...wanted: readonly TtlvNode[]) =>
    listIds(await alice.kmip.do('Locate', [attributes(...wanted)]))
  const kind = [
    enumeration(Tag.ObjectType, Enumeration.ObjectType.PrivateKey),
    coverCrypt,
    format('CoverCryptSecretKey'),
  ]
  assert.deepEqual((await locate(parent(master), ...kind)).toSorted(), [blue, red].toSorted())
  assert.deepEqual(await locate(parent(master), tag), [blue])
  assert.deepEqual(await locate(parent(master), vendor('cover_crypt_access_policy', 'Team::Red')), [red])
})

test('exported pairs and user keys work on another server, and other bytes are not imported as such keys', async () => {
  const { master, publicKey } = await alice.pair()
  const user = await alice.user(master, 'Team::Blue')
  const [secret, open, own] = await Promise.all(
    [master, publicKey, user].map((id) => alice.get(id, 'Export')),
  )
  decodeMasterKey(secret as Buffer)
  decodePublicKey(open as Buffer)
  decodeUserKey(own as Buffer)
  const importedPublic = (await bob.kmip.do('Import', bob.importing('PublicKey', open as Buffer))).id
  const link = structure(Tag.Link, [
    enumeration(Tag.LinkType, Enumeration.LinkType.PublicKeyLink),
    textString(Tag.LinkedObjectIdentifier, importedPublic),
  ])
  const importedMaster = (await bob.kmip.do('Import', bob.importing('PrivateKey', secret as Buffer, link))).id
  const policy = vendor('cover_crypt_access_policy', 'Team::Blue')
  const more = [policy, parent(importedMaster)]
  const importedUser = (await bob.kmip.do('Import', bob.importing('PrivateKey', own as Buffer, ...more))).id
  const sealed = await alice.encrypt(publicKey, 'Team::Blue', 'exchanged')
  assert.equal(await bob.decrypt(importedUser, sealed), 'exchanged')
  const back = await bob.encrypt(importedPublic, 'Team::Blue', 'back')
  assert.equal(await alice.decrypt(user, back), 'back')
  await bob.rotate(importedMaster, { RekeyAccessPolicy: 'Team::Blue' })
  const renewed = await bob.encrypt(importedPublic, 'Team::Blue', 'renewed')
  assert.equal(await bob.decrypt(importedUser, renewed), 'renewed')
  assert.equal(await alice.decrypt(user, renewed), undefined)
  const short = (own as Buffer).subarray(1)
  for (const [type, key] of [
    ['PrivateKey', open],
    ['PublicKey', secret],
    ['PrivateKey', short],
    ['PrivateKey', Buffer.alloc(0)],
  ] as const)
    await bob.kmip.fails('Import', bob.importing(type, key as Buffer), 'InvalidField')
})

test('an imported copy of a user key is not refreshed with the original', async () => {
  const { master, publicKey } = await alice.pair({ Team: ['Blue'] })
  const user = await alice.user(master, 'Team::Blue')
  const copy = await alice.get(user)
  const stolen = (await bob.kmip.do('Import', bob.importing('PrivateKey', copy, parent(master)))).id
  await alice.kmip.do('Revoke', [uid(user), revocation('KeyCompromise')])
  await alice.rotate(master, { RekeyAccessPolicy: 'Team::Blue' })
  const sealed = await alice.encrypt(publicKey, 'Team::Blue', 'new')
  assert.equal(await bob.decrypt(stolen, sealed), undefined)
})

test('missing and wrong members are refused by name, and nothing is created', async () => {
  const before = (await alice.kmip.do('Locate', [attributes(coverCrypt)])).nodes.length
  const pair = (...wishes: readonly TtlvNode[]) => [structure(Tag.CommonAttributes, [coverCrypt, ...wishes])]
  const named = (text: string | object) => pair(vendor('cover_crypt_access_structure', text))
  for (const [payload, reason] of [
    [pair(), 'MissingData'],
    [pair(vendor('cover_crypt_policy', { A: ['a'] })), 'FeatureNotSupported'],
    [named('{'), 'InvalidAttributeValue'],
    [named('{"A":["a"],"A":["b"]}'), 'InvalidAttributeValue'],
    [named('[]'), 'InvalidField'],
    [named({ A: ['a', 'a'] }), 'InvalidField'],
    [named({ 'A::b': ['a'] }), 'InvalidField'],
    [named({ A: Array.from({ length: 5000 }, (_, index) => `n${index}`) }), 'ServerLimitExceeded'],
    [
      pair(
        vendor('cover_crypt_access_structure', {}),
        enumeration(Tag.KeyFormatType, Enumeration.KeyFormatType.PKCS_8),
      ),
      'KeyFormatTypeNotSupported',
    ],
  ] as const)
    await alice.kmip.fails('CreateKeyPair', payload, reason)
  assert.equal((await alice.kmip.do('Locate', [attributes(coverCrypt)])).nodes.length, before)
  const { master, publicKey } = await alice.pair()
  const user = await alice.user(master, 'Team::Blue')
  for (const [payload, reason] of [
    [[objectType('PrivateKey'), attributes(coverCrypt, parent(master))], 'MissingData'],
    [
      [objectType('PrivateKey'), attributes(coverCrypt, vendor('cover_crypt_access_policy', '*'))],
      'MissingData',
    ],
    [alice.wish(master, 'Team::'), 'InvalidField'],
    [alice.wish(master, 'Team::Grey'), 'InvalidField'],
    [alice.wish(master, 'Team::Blue || Team::Red && Team::Blue'), 'InvalidField'],
    [alice.wish(master, 'Team::Blue &&'), 'InvalidField'],
    [
      alice.wish(master, Array.from({ length: 10_000 }, () => 'Team::Blue').join(' || ')),
      'ServerLimitExceeded',
    ],
    [alice.wish('nobody', '*'), 'ObjectNotFound'],
    [alice.wish(publicKey, '*'), 'CryptographicFailure'],
    [alice.wish(user, '*'), 'CryptographicFailure'],
    [alice.wish(master, '*', parent(master)), 'InvalidField'],
  ] as const)
    await alice.kmip.fails('Create', payload, reason)
  for (const [payload, reason] of [
    [[uid(publicKey), byteString(Tag.Data, Buffer.alloc(0))], 'InvalidField'],
    [[uid(publicKey), byteString(Tag.Data, Buffer.from('00aa', 'hex'))], 'InvalidField'],
    [[uid(publicKey), byteString(Tag.Data, Buffer.from('ffffffffff0f41', 'hex'))], 'InvalidField'],
    [alice.sealing(publicKey, 'Team::Grey', 'x'), 'InvalidField'],
    [alice.sealing(publicKey, 'Clearance::Public || Clearance::Secret', 'x'), 'InvalidField'],
    [alice.sealing(master, 'Team::Blue', 'x'), 'CryptographicFailure'],
    [alice.sealing(user, 'Team::Blue', 'x'), 'CryptographicFailure'],
    [
      [...alice.sealing(publicKey, '*', 'x'), { tag: Tag.InitIndicator, type: 'Boolean', value: true }],
      'InvalidField',
    ],
  ] as const)
    await alice.kmip.fails('Encrypt', payload as readonly TtlvNode[], reason)
  const sealed = byteString(Tag.Data, await alice.encrypt(publicKey, 'Team::Blue', 'x'))
  for (const id of [master, publicKey])
    await alice.kmip.fails('Decrypt', [uid(id), sealed], 'CryptographicFailure')
  for (const operation of ['Sign', 'MAC'] as const)
    assert.equal((await alice.kmip.ask(operation, [uid(master), sealed])).status, 'OperationFailed')
})

test('rights: creating user keys requires derivekey on the master key; other operations require the same rights as for other keys', async () => {
  const { master, publicKey } = await alice.pair()
  const user = await alice.user(master, 'Team::Blue')
  await bob.kmip.fails('Create', bob.wish(master, '*'), 'ObjectNotFound')
  await share(publicKey, 'encrypt')
  const sealed = await bob.encrypt(publicKey, 'Team::Blue', 'from bob')
  await bob.kmip.fails('Decrypt', [uid(user), byteString(Tag.Data, sealed)], 'ObjectNotFound')
  await share(user, 'decrypt')
  assert.equal(await bob.decrypt(user, sealed), 'from bob')
  await share(master, 'encrypt')
  await bob.kmip.fails('Create', bob.wish(master, '*'), 'PermissionDenied')
  await bob.kmip.fails('ReKeyKeyPair', bob.rotation(master, { PruneAccessPolicy: '*' }), 'PermissionDenied')
  await share(master, 'derivekey', 'rekey')
  const own = await bob.user(master, 'Team::Blue')
  assert.equal(await bob.decrypt(own, sealed), 'from bob')
  await bob.kmip.fails('ReKeyKeyPair', bob.rotation(master, { PruneAccessPolicy: '*' }), 'PermissionDenied')
})

test('a revoked key does not encrypt, and a revoked master key creates and changes no keys', async () => {
  const { master, publicKey } = await alice.pair()
  const blue = await alice.user(master, 'Team::Blue')
  const late = await alice.user(master, 'Team::Blue', { ...past, value: 4_000_000_000 } as TtlvNode)
  await share(master, 'derivekey')
  const bobs = await bob.user(master, 'Team::Blue')
  const sealed = await alice.encrypt(publicKey, 'Team::Blue', 'x')
  await alice.kmip.do('Revoke', [uid(master), revocation('CessationOfOperation', 'closed')])
  const readState = async (client: AbeClient, id: string) =>
    (await getAttributes(client.kmip, id)).find(({ tag }) => tag === Tag.State)?.value
  const { Deactivated, Compromised, DestroyedCompromised: gone } = Enumeration.State
  for (const [client, id] of [
    [alice, blue],
    [alice, late],
    [bob, bobs],
  ] as const)
    assert.equal(await readState(client, id), Deactivated)
  assert.equal(await alice.decrypt(blue, sealed), 'x', 'what was protected before is still read')
  await alice.kmip.fails('Create', alice.wish(master, '*'), 'CryptographicFailure')
  await alice.kmip.fails(
    'ReKeyKeyPair',
    alice.rotation(master, { PruneAccessPolicy: '*' }),
    'CryptographicFailure',
  )
  await alice.kmip.do('Revoke', [uid(master), revocation('KeyCompromise')])
  assert.equal(await readState(bob, bobs), Compromised)
  await alice.kmip.do('Destroy', [uid(master)])
  for (const [client, id] of [
    [alice, blue],
    [bob, bobs],
  ] as const) {
    assert.equal(await readState(client, id), gone)
    await client.kmip.fails('Decrypt', [uid(id), byteString(Tag.Data, sealed)], 'ObjectDestroyed')
  }
  await alice.kmip.do('Revoke', [uid(publicKey), revocation('Superseded')])
  await alice.kmip.fails('Encrypt', alice.sealing(publicKey, '*', 'x'), 'WrongKeyLifecycleState')
})

test('the audit log contains policies and actions, and neither keys nor plaintexts', async () => {
  const { master, publicKey } = await alice.pair({ Team: ['Blue'] })
  const user = await alice.user(master, 'Team::Blue')
  const sealed = await alice.encrypt(publicKey, 'Team::Blue', 'the text itself')
  await alice.decrypt(user, sealed)
  await alice.rotate(master, { RekeyAccessPolicy: 'Team::Blue' })
  const key = await alice.get(user)
  const records = kms.audit.slice(-6)
  const details = (index: number) => records.at(index)?.details as Record<string, unknown>
  assert.equal(details(1)?.policy ?? details(0)?.policy, 'Team::Blue')
  assert.ok(
    records.some(
      (one) =>
        one.operation === 'kmip.Encrypt' && (one.details as { policy?: string })?.policy === 'Team::Blue',
    ),
  )
  assert.ok(
    records.some(
      (one) =>
        one.operation === 'kmip.Decrypt' && (one.details as { policy?: string })?.policy === 'Team::Blue',
    ),
  )
  const rotation = records.find((one) => one.operation === 'kmip.ReKeyKeyPair')?.details as Record<
    string,
    unknown
  >
  assert.deepEqual([rotation?.action, rotation?.refreshed], ['rekey Team::Blue', 1])
  const text = JSON.stringify(records)
  assert.ok(!text.includes('the text itself') && !text.includes(key.subarray(100, 130).toString('base64url')))
})

test('encryptions count against the usage limits of the public key', async () => {
  const limits = structure(Tag.UsageLimits, [
    { tag: Tag.UsageLimitsTotal, type: 'LongInteger', value: 2n },
    enumeration(Tag.UsageLimitsUnit, Enumeration.UsageLimitsUnit.Object),
  ])
  const made = await alice.kmip.do('CreateKeyPair', [
    structure(Tag.CommonAttributes, [coverCrypt, vendor('cover_crypt_access_structure', hospital), past]),
    structure(Tag.PublicKeyAttributes, [limits]),
  ])
  const id = made.get(Tag.PublicKeyUniqueIdentifier) as string
  await alice.encrypt(id, '*', 'one')
  await alice.encrypt(id, '*', 'two')
  await alice.kmip.fails('Encrypt', alice.sealing(id, '*', 'three'), 'PermissionDenied')
})

test('FIPS mode, and a policy without the algorithm, refuse to create, import and use such keys', async () => {
  const key = await alice.get((await alice.pair({ A: ['a'] })).publicKey)
  for (const config of [
    { fips: true },
    { 'kmip.policy_id': 'CUSTOM', 'kmip.allowlists.algorithms': ['AES', 'RSA'] },
  ]) {
    await using strict = await startKms({ config: config as Partial<KmsConfig> })
    const client = new AbeClient(kmipClient(strict.user('alice')))
    const wish = [
      structure(Tag.CommonAttributes, [coverCrypt, vendor('cover_crypt_access_structure', hospital), past]),
    ]
    const made = await client.kmip.ask('CreateKeyPair', wish)
    assert.equal(made.status, 'OperationFailed', JSON.stringify(config))
    assert.match(made.message ?? '', /not permitted|FIPS/)
    const taken = await client.kmip.ask('Import', client.importing('PublicKey', key))
    assert.equal(taken.status, 'OperationFailed')
    assert.match(taken.message ?? '', /not permitted|FIPS/)
  }
})

test("requests of the deployed product's client are accepted: bare JSON, both spellings of formats and of the algorithm", async () => {
  const post = (body: object) => kms.user('alice').post('/kmip/2_1', body)
  const enumerated = (tag: string, value: string) => ({ tag, type: 'Enumeration', value })
  const named = (name: string, value: string) => ({
    tag: 'Attribute',
    value: [
      { tag: 'VendorIdentification', type: 'TextString', value: 'cosmian' },
      { tag: 'AttributeName', type: 'TextString', value: name },
      { tag: 'AttributeValue', type: 'ByteString', value: Buffer.from(value).toString('hex') },
    ],
  })
  for (const [algorithm, masterFormat, userFormat] of [
    ['CoverCrypt', 'CoverCryptSecretKey', 'CoverCryptSecretKey'],
    ['ABE', 'AbeMasterSecretKey', 'AbeUserDecryptionKey'],
  ] as const) {
    const pair = await post({
      tag: 'CreateKeyPair',
      value: [
        {
          tag: 'CommonAttributes',
          value: [
            enumerated('CryptographicAlgorithm', algorithm),
            enumerated('KeyFormatType', masterFormat),
            enumerated('ObjectType', 'PrivateKey'),
            { tag: 'CryptographicUsageMask', type: 'Integer', value: 4194304 },
            { tag: 'ActivationDate', type: 'DateTime', value: '2024-01-01T00:00:00Z' },
            named('cover_crypt_access_structure', JSON.stringify(hospital)),
          ],
        },
      ],
    })
    assert.equal(pair.status, 200, pair.text)
    const id = (answer: { json: { value: { tag: string; value: string }[] } }, tag: string) =>
      answer.json.value.find((node) => node.tag === tag)?.value as string
    const master = id(pair, 'PrivateKeyUniqueIdentifier')
    const user = await post({
      tag: 'Create',
      value: [
        enumerated('ObjectType', 'PrivateKey'),
        {
          tag: 'Attributes',
          value: [
            enumerated('CryptographicAlgorithm', algorithm),
            enumerated('KeyFormatType', userFormat),
            enumerated('ObjectType', 'PrivateKey'),
            {
              tag: 'Link',
              value: [
                enumerated('LinkType', 'ParentLink'),
                { tag: 'LinkedObjectIdentifier', type: 'TextString', value: master },
              ],
            },
            named('cover_crypt_access_policy', 'Team::Blue'),
          ],
        },
      ],
    })
    assert.equal(user.status, 200, user.text)
    const sealed = await alice.encrypt(id(pair, 'PublicKeyUniqueIdentifier'), 'Team::Blue', algorithm)
    assert.equal(await alice.decrypt(id(user, 'UniqueIdentifier'), sealed), algorithm)
    const rekeyed = await post({
      tag: 'ReKeyKeyPair',
      value: [
        { tag: 'PrivateKeyUniqueIdentifier', type: 'TextString', value: master },
        {
          tag: 'PrivateKeyAttributes',
          value: [
            enumerated('CryptographicAlgorithm', algorithm),
            named('cover_crypt_rekey_action', JSON.stringify({ RekeyAccessPolicy: 'Team::Blue' })),
          ],
        },
      ],
    })
    assert.equal(rekeyed.status, 200, rekeyed.text)
    assert.deepEqual(
      [id(rekeyed, 'PrivateKeyUniqueIdentifier'), id(rekeyed, 'PublicKeyUniqueIdentifier')],
      [master, id(pair, 'PublicKeyUniqueIdentifier')],
    )
  }
})

test('a policy that lists ABE permits it', async () => {
  const config = { 'kmip.policy_id': 'CUSTOM', 'kmip.allowlists.algorithms': ['ABE'] } as const
  await using listed = await startKms({ config })
  const { publicKey } = await new AbeClient(kmipClient(listed.user('alice'))).pair()
  assert.ok(publicKey)
})
