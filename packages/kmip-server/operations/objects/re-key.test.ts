import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import {
  dateTime,
  Enumeration,
  enumeration,
  integer,
  interval,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import {
  activeSince,
  aesKey,
  inside,
  keyOf,
  linked,
  mask,
  nameNode,
  wrappingSpecification,
} from '../../testing/keys.ts'
import { kmipClient } from '../../testing/kmip-client.ts'
import { startKmipFixture } from '../../testing/kmip-fixture.ts'
import { aesAttributes, attributes, objectType, uid } from '../../testing/nodes.ts'
import { createAesKey, getAttributes, usageLimits } from '../../testing/requests.ts'

const { kms, alice } = await startKmipFixture()

const valueIn = (nodes: readonly TtlvNode[], tag: number) => nodes.find((node) => node.tag === tag)?.value

test('a new key takes over Name, dates and usage limits of the old one, and both are linked', async () => {
  const limits = usageLimits(10n)
  const id = await createAesKey(
    alice,
    nameNode('the key'),
    activeSince,
    dateTime(Tag.DeactivationDate, 4_000_000_000),
    limits,
    textString(Tag.Description, 'kept'),
  )
  const made = await alice.do('ReKey', [uid(id)])
  assert.notEqual(made.id, id)
  const [old, fresh] = [await getAttributes(alice, id), await getAttributes(alice, made.id)]
  assert.equal(linked(old, 'ReplacementObjectLink'), made.id)
  assert.equal(linked(fresh, 'ReplacedObjectLink'), id)
  assert.equal(valueIn(old, Tag.Name), undefined)
  assert.equal(
    inside(
      fresh.find(({ tag }) => tag === Tag.Name),
      Tag.NameValue,
    )?.value,
    'the key',
  )
  assert.equal(valueIn(fresh, Tag.Description), 'kept')
  assert.equal(valueIn(fresh, Tag.ActivationDate), 1000)
  assert.equal(valueIn(fresh, Tag.DeactivationDate), 4_000_000_000)
  assert.equal(valueIn(fresh, Tag.State), Enumeration.State.Active)
  assert.equal(
    inside(
      fresh.find(({ tag }) => tag === Tag.UsageLimits),
      Tag.UsageLimitsCount,
    )?.value,
    10n,
  )
  const digests = [old, fresh].map((nodes) =>
    Buffer.from(
      inside(
        nodes.find(({ tag }) => tag === Tag.Digest),
        Tag.DigestValue,
      )?.value as Uint8Array,
    ),
  )
  assert.ok(digests[0] !== undefined && !digests[0].equals(digests[1] as Buffer), 'another key')
  const located = await alice.do('Locate', [attributes(nameNode('the key'))])
  assert.deepEqual(
    located.nodes.filter(({ tag }) => tag === Tag.UniqueIdentifier).map(({ value }) => value),
    [made.id],
  )
  // Only the latest of a chain is replaced.
  await alice.fails('ReKey', [uid(id)], 'WrongKeyLifecycleState')
  const third = await alice.do('ReKey', [uid(made.id)])
  assert.equal(valueIn(await getAttributes(alice, third.id), Tag.RotateGeneration), 2)
})

test('an offset shifts the dates of the new key by the table of the standard', async () => {
  const { id } = await alice.do('Create', [
    objectType('SymmetricKey'),
    aesAttributes(
      128,
      activeSince,
      dateTime(Tag.ProcessStartDate, 1500),
      dateTime(Tag.DeactivationDate, 2000),
    ),
  ])
  const { id: next } = await alice.do('ReKey', [uid(id), interval(Tag.Offset, 3600)])
  const nodes = await getAttributes(alice, next)
  const initial = valueIn(nodes, Tag.InitialDate) as number
  const activation = valueIn(nodes, Tag.ActivationDate) as number
  assert.equal(activation, initial + 3600)
  assert.equal(valueIn(nodes, Tag.ProcessStartDate), activation + 500)
  assert.equal(valueIn(nodes, Tag.DeactivationDate), activation + 1000)
  assert.equal(valueIn(nodes, Tag.State), Enumeration.State.PreActive)
})

test('a replacement has the same type, and only keys in a replaceable state are replaced', async () => {
  const id = await createAesKey(alice)
  const longer = attributes(integer(Tag.CryptographicLength, 128))
  await alice.fails('ReKey', [uid(id), longer], 'InvalidField')
  const otherName = attributes(nameNode('given'))
  const made = await alice.do('ReKey', [uid(id), otherName])
  assert.equal(
    inside(
      (await getAttributes(alice, made.id)).find(({ tag }) => tag === Tag.Name),
      Tag.NameValue,
    )?.value,
    'given',
  )
  const gone = await alice.do('Create', [objectType('SymmetricKey'), aesAttributes(256)])
  await alice.do('Destroy', [uid(gone.id)])
  await alice.fails('ReKey', [uid(gone.id)], 'ObjectDestroyed')
  const secret = await alice.do('Create', [
    objectType('SecretData'),
    attributes(integer(Tag.CryptographicLength, 256)),
  ])
  await alice.fails('ReKey', [uid(secret.id)], 'InvalidObjectType')
  await kmipClient(kms.user('mallory')).fails('ReKey', [uid(made.id)], 'ObjectNotFound')
})

test('the replacement of a wrapped key is wrapped by the same key', async () => {
  const kek = await alice.do('Register', [
    objectType('SymmetricKey'),
    attributes(mask('WrapKey', 'UnwrapKey'), activeSince),
    aesKey(randomBytes(32)),
  ])
  const plain = await alice.do('Create', [objectType('SymmetricKey'), aesAttributes(256)])
  const got = await alice.do('Get', [uid(plain.id), wrappingSpecification(kek.id, 'NISTKeyWrap')])
  const { id } = await alice.do('Register', [
    objectType('SymmetricKey'),
    attributes(mask('Encrypt')),
    got.nodes[2],
  ] as TtlvNode[])
  const made = await alice.do('ReKey', [uid(id)])
  const wrapped = (await alice.do('Get', [uid(made.id)])).nodes[2]
  assert.equal(inside(wrapped, Tag.KeyBlock, Tag.KeyValue)?.type, 'ByteString')
  assert.equal(linked(await getAttributes(alice, made.id), 'WrappingKeyLink'), kek.id)
  const clear = enumeration(Tag.KeyWrapType, Enumeration.KeyWrapType.NotWrapped)
  const opened = (await alice.do('Get', [uid(made.id), clear])).nodes[2]
  const key = inside(opened, Tag.KeyBlock, Tag.KeyValue, Tag.KeyMaterial)?.value
  assert.ok(key instanceof Uint8Array && key.length === 32)
})

test('both keys of a pair are replaced together', async () => {
  const pair = await alice.do('CreateKeyPair', [
    structure(Tag.CommonAttributes, [
      enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.ECDSA),
      integer(Tag.CryptographicLength, 256),
      nameNode('pair'),
    ]),
    structure(Tag.PrivateKeyAttributes, [mask('Sign'), activeSince]),
    structure(Tag.PublicKeyAttributes, [mask('Verify'), activeSince]),
  ])
  const [secret, open] = [
    pair.get(Tag.PrivateKeyUniqueIdentifier) as string,
    pair.get(Tag.PublicKeyUniqueIdentifier) as string,
  ]
  const made = await alice.do('ReKeyKeyPair', [textString(Tag.PrivateKeyUniqueIdentifier, secret)])
  const [newSecret, newOpen] = [
    made.get(Tag.PrivateKeyUniqueIdentifier) as string,
    made.get(Tag.PublicKeyUniqueIdentifier) as string,
  ]
  for (const [before, after, other, type] of [
    [secret, newSecret, newOpen, 'PublicKeyLink'],
    [open, newOpen, newSecret, 'PrivateKeyLink'],
  ] as const) {
    const [old, fresh] = [await getAttributes(alice, before), await getAttributes(alice, after)]
    assert.equal(linked(old, 'ReplacementObjectLink'), after)
    assert.equal(linked(fresh, 'ReplacedObjectLink'), before)
    assert.equal(linked(fresh, type), other)
    assert.equal(valueIn(old, Tag.Name), undefined)
    assert.equal(
      inside(
        fresh.find(({ tag }) => tag === Tag.Name),
        Tag.NameValue,
      )?.value,
      'pair',
    )
    assert.equal(valueIn(fresh, Tag.State), Enumeration.State.Active)
    assert.equal(valueIn(fresh, Tag.CryptographicUsageMask), valueIn(old, Tag.CryptographicUsageMask))
  }
  await alice.fails(
    'ReKeyKeyPair',
    [textString(Tag.PrivateKeyUniqueIdentifier, secret)],
    'WrongKeyLifecycleState',
  )
  await alice.fails(
    'ReKeyKeyPair',
    [textString(Tag.PrivateKeyUniqueIdentifier, newOpen)],
    'InvalidObjectType',
  )
})

test('a pair is not replaced by one on another curve', async () => {
  const curve = (name: 'P_256' | 'P_384') =>
    structure(Tag.CommonAttributes, [
      structure(Tag.CryptographicDomainParameters, [
        enumeration(Tag.RecommendedCurve, Enumeration.RecommendedCurve[name]),
      ]),
    ])
  const pair = await alice.do('CreateKeyPair', [
    structure(Tag.CommonAttributes, keyOf('ECDSA', 256)),
    structure(Tag.PrivateKeyAttributes, [mask('Sign'), activeSince]),
    structure(Tag.PublicKeyAttributes, [mask('Verify'), activeSince]),
  ])
  const secret = pair.get(Tag.PrivateKeyUniqueIdentifier) as string
  const ask = [textString(Tag.PrivateKeyUniqueIdentifier, secret)]
  await alice.fails('ReKeyKeyPair', [...ask, curve('P_384')], 'InvalidField')
  assert.equal(linked(await getAttributes(alice, secret), 'ReplacementObjectLink'), undefined)
  await alice.do('ReKeyKeyPair', [...ask, curve('P_256')])
})

test('an offset beyond the range of dates is refused, and the key stays unchanged', async () => {
  const end = dateTime(Tag.DeactivationDate, 8_640_000_000_000)
  const id = await createAesKey(alice, activeSince, end)
  await alice.fails('ReKey', [uid(id), interval(Tag.Offset, 1)], 'InvalidField')
  assert.equal(linked(await getAttributes(alice, id), 'ReplacementObjectLink'), undefined)
  await alice.do('ReKey', [uid(id)])
})

test('a requested Name is added to the inherited one, in each replacement', async () => {
  const id = await createAesKey(alice, activeSince, nameNode('first'))
  const again = (name: string) => ({
    operation: 'ReKey' as const,
    payload: [name === 'second' ? uid(id) : undefined, attributes(nameNode(name))],
  })
  const { items } = await alice.send([again('second'), again('third'), again('third')])
  assert.deepEqual(
    items.map(({ status }) => status),
    ['Success', 'Success', 'Success'],
  )
  const latest = items[2]?.payload?.find(({ tag }) => tag === Tag.UniqueIdentifier)?.value
  const names = (await getAttributes(alice, String(latest))).filter(({ tag }) => tag === Tag.Name)
  assert.deepEqual(
    names.map((node) => inside(node, Tag.NameValue)?.value),
    ['first', 'second', 'third'],
  )
  assert.ok((await getAttributes(alice, id)).every(({ tag }) => tag !== Tag.Name))
})
