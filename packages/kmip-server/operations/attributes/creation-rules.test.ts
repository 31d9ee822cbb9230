import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findObject, type ObjectId } from '@warder/keys'
import {
  Enumeration,
  enumeration,
  integer,
  type StructureNode,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { kmipClient } from '../../testing/kmip-client.ts'
import { startKmipFixture } from '../../testing/kmip-fixture.ts'
import { aesAttributes, attributes, objectType } from '../../testing/nodes.ts'

const { kms, alice } = await startKmipFixture({ config: { 'roles.crypto_officer_users': ['alice', 'bob'] } })

const { CryptographicAlgorithm: algorithms, CryptographicUsageMask: use } = Enumeration
const aes = enumeration(Tag.CryptographicAlgorithm, algorithms.AES)
const length = (bits: number) => integer(Tag.CryptographicLength, bits)
const mask = (bits: number) => integer(Tag.CryptographicUsageMask, bits)
const key = (...nodes: readonly TtlvNode[]) => [objectType('SymmetricKey'), attributes(...nodes)]

const tapesGroup = textString(Tag.ObjectGroup, 'tapes')

const defaults = structure(Tag.DefaultsInformation, [
  structure(Tag.ObjectDefaults, [
    objectType('SymmetricKey'),
    attributes(aes, length(192), mask(use.Encrypt), textString(Tag.ObjectGroup, 'tapes')),
  ]),
])
const constraints = structure(Tag.Constraints, [
  structure(Tag.Constraint, [
    structure(Tag.ObjectTypes, [objectType('SymmetricKey')]),
    structure(Tag.ObjectGroups, [textString(Tag.ObjectGroup, 'tapes')]),
    attributes(aes, length(192), length(256), mask(use.Encrypt | use.Decrypt)),
  ]),
])

test('defaults supply omitted attributes for the user who set them, and for no other user', async () => {
  const [alice, bob] = [kmipClient(kms.user('alice')), kmipClient(kms.user('bob'))]
  await alice.do('SetDefaults', [defaults])
  const { id } = await alice.do('Create', key())
  const made = await findObject(kms.environment.db, id as ObjectId)
  assert.deepEqual([made?.algorithm, made?.bits, made?.usageMask], ['AES', 192, use.Encrypt])
  assert.match(made?.attributes.text ?? '', /"tapes"/)
  const said = await alice.do('Create', key(length(128)))
  assert.equal((await findObject(kms.environment.db, said.id as ObjectId))?.bits, 128)
  await bob.fails('Create', key(), 'MissingData')
  const asked = [enumeration(Tag.QueryFunction, Enumeration.QueryFunction.QueryDefaultsInformation)]
  const told = (client: typeof alice) =>
    client.do('Query', asked).then(({ nodes }) => (nodes[0] as StructureNode).value.length)
  assert.deepEqual([await told(alice), await told(bob)], [1, 0])
  await alice.do('SetDefaults', [structure(Tag.DefaultsInformation, [])])
  await alice.fails('Create', key(), 'MissingData')
})

test('defaults apply to one type, several types or groups; the first match applies; SetDefaults without rules removes them', async () => {
  const tapes = textString(Tag.ObjectGroup, 'tapes')
  await alice.do('SetDefaults', [
    structure(Tag.DefaultsInformation, [
      structure(Tag.ObjectDefaults, [
        structure(Tag.ObjectTypes, [objectType('SymmetricKey'), objectType('SecretData')]),
        attributes(aes, length(128)),
        structure(Tag.ObjectGroups, [tapes]),
      ]),
      structure(Tag.ObjectDefaults, [objectType('SymmetricKey'), attributes(aes, length(256))]),
    ]),
  ])
  const bits = async (...nodes: readonly TtlvNode[]) => {
    const { id } = await alice.do('Create', key(mask(use.Encrypt), ...nodes))
    return (await findObject(kms.environment.db, id as ObjectId))?.bits
  }
  assert.equal(await bits(), 256)
  assert.equal(await bits(textString(Tag.ObjectGroup, 'disks')), 256)
  assert.equal(await bits(tapes), 128)
  assert.equal(await bits(tapes, length(192)), 192)
  await alice.do('SetDefaults')
  await alice.fails('Create', key(mask(use.Encrypt)), 'MissingData')
})

test('constraints apply to new objects of their types and groups, and can be read and removed', async () => {
  await alice.do('SetConstraints', [constraints])
  const [listed] = (await alice.do('GetConstraints')).nodes
  assert.deepEqual(listed, constraints)
  const tapes = textString(Tag.ObjectGroup, 'tapes')
  await alice.do('Create', key(aes, length(256), mask(use.Encrypt), tapes))
  await alice.fails('Create', key(aes, length(128), mask(use.Encrypt), tapes), 'ConstraintViolation')
  await alice.fails(
    'Create',
    key(aes, length(256), mask(use.Encrypt | use.WrapKey), tapes),
    'ConstraintViolation',
  )
  await alice.fails('Create', key(aes, length(256), tapes), 'ConstraintViolation')
  await alice.do('Create', key(aes, length(128), mask(use.Encrypt)))
  const early = kmipClient(kms.user('alice'), { version: '1.4' })
  await early.fails('Create', [objectType('SymmetricKey'), aesAttributes(128, tapes)], 'PermissionDenied')
  await alice.do('SetConstraints', [structure(Tag.Constraints, [])])
  await alice.do('Create', key(aes, length(128), mask(use.Encrypt), tapes))
})

test('rules that are empty, too large or about attributes of the server are refused', async () => {
  const one = (...nodes: readonly TtlvNode[]) =>
    structure(Tag.DefaultsInformation, [structure(Tag.ObjectDefaults, nodes)])
  const refused: readonly (readonly [TtlvNode, string])[] = [
    [one(), 'MissingData'],
    [one(objectType('SymmetricKey')), 'MissingData'],
    [one(objectType('SymmetricKey'), attributes(textString(Tag.BatchCount, '1'))), 'InvalidAttribute'],
    [one(objectType('SymmetricKey'), attributes(textString(Tag.State, 'Active'))), 'AttributeReadOnly'],
    [
      one(objectType('SymmetricKey'), attributes(textString(Tag.CryptographicLength, '1'))),
      'InvalidAttributeValue',
    ],
    [
      one(objectType('SymmetricKey'), attributes(...Array(101).fill(textString(Tag.ObjectGroup, 'x')))),
      'ServerLimitExceeded',
    ],
    [structure(Tag.DefaultsInformation, Array(101).fill(defaults.value[0])), 'ServerLimitExceeded'],
  ]
  const scoped = (...nodes: readonly TtlvNode[]) => one(...nodes, attributes(length(128)))
  const wrong: readonly (readonly [TtlvNode, string])[] = [
    [scoped(structure(Tag.ObjectTypes, [tapesGroup])), 'InvalidField'],
    [scoped(textString(Tag.ObjectTypes, 'SymmetricKey')), 'InvalidField'],
    [scoped(enumeration(Tag.ObjectType, 0x99)), 'InvalidObjectType'],
    [scoped(objectType('SymmetricKey'), structure(Tag.ObjectGroups, [length(1)])), 'InvalidField'],
  ]
  for (const [rules, reason] of [...refused, ...wrong]) await alice.fails('SetDefaults', [rules], reason)
  await alice.fails('SetConstraints', [], 'MissingData')
  // A user who may not create has no rules for it.
  await kmipClient(kms.user('mallory')).fails('SetConstraints', [constraints], 'PermissionDenied')
})

test('the rules also apply to keys that the same user creates over REST', async () => {
  const rest = kms.user('alice')
  const create = (alg: string) => rest.post('/v1/crypto/keys', { kty: 'oct', alg, tags: ['mine'] })
  const only256 = structure(Tag.Constraint, [
    structure(Tag.ObjectTypes, [objectType('SymmetricKey')]),
    attributes(length(256)),
  ])
  await alice.do('SetConstraints', [structure(Tag.Constraints, [only256])])
  await alice.do('SetDefaults', [
    structure(Tag.DefaultsInformation, [
      structure(Tag.ObjectDefaults, [objectType('SymmetricKey'), attributes(tapesGroup)]),
    ]),
  ])
  const refused = await create('A128GCM')
  assert.equal(refused.status, 422, refused.text)
  assert.match(refused.text, /CryptographicLength is not within the constraints/)
  const { kid } = (await create('A256GCM')).json
  const made = await findObject(kms.environment.db, kid as ObjectId)
  assert.match(made?.attributes.text ?? '', /"tapes"/)
  assert.equal(made?.state, 'Active')
  assert.deepEqual((await rest.get(`/v1/crypto/keys/${kid}`)).json.tags, ['mine'])
  const data = Buffer.from('x').toString('base64url')
  assert.equal((await rest.post('/v1/crypto/encrypt', { kid, alg: 'dir', enc: 'A256GCM', data })).status, 200)
  await alice.do('SetConstraints', [structure(Tag.Constraints, [])])
  assert.ok((await create('A128GCM')).json.kid)
})
