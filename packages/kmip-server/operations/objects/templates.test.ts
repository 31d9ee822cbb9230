import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  boolean,
  byteString,
  Enumeration,
  enumeration,
  integer,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { startSharedKms } from '@warder/kms/testing'
import { activeSince, inside, keyOf, mask, nameNode } from '../../testing/keys.ts'
import { kmipClient } from '../../testing/kmip-client.ts'
import { attributes, objectType, uid } from '../../testing/nodes.ts'
import { getAttributes } from '../../testing/requests.ts'

const kms = await startSharedKms()

const legacy = ['1.0', '1.1', '1.2', '1.3', '1.4'] as const
const group = (name: string): TtlvNode => textString(Tag.ObjectGroup, name)
const site = (value: string): TtlvNode =>
  structure(Tag.Attribute, [
    textString(Tag.VendorIdentification, 'x'),
    textString(Tag.AttributeName, 'Site'),
    textString(Tag.AttributeValue, value),
  ])
/** The attributes of a new object, with the names of templates, as a 1.x client puts them into a TemplateAttribute. */
const from = (names: readonly string[], ...own: readonly TtlvNode[]): TtlvNode =>
  structure(Tag.Attributes, [structure(Tag.Template, names.map(nameNode)), ...own])
/** A Register request of a template. */
const template = (name: string, ...held: readonly TtlvNode[]): readonly TtlvNode[] => [
  objectType('Template'),
  attributes(nameNode(name)),
  structure(Tag.Template, [structure(Tag.Attributes, held)]),
]

const listValues = (nodes: readonly TtlvNode[], tag: number): readonly unknown[] =>
  nodes.filter((node) => node.tag === tag).map(({ value }) => value)

for (const version of legacy) {
  for (const encoding of version === '1.2' ? (['ttlv', 'json', 'xml'] as const) : (['ttlv'] as const)) {
    test(`objects get the attributes of the templates that they name, in KMIP ${version} as ${encoding}`, async () => {
      const user = `user ${version} ${encoding}`
      const old = kmipClient(kms.user(user), { version, encoding })
      const first = await old.do(
        'Register',
        template('disks', ...keyOf('AES', 256), mask('Encrypt', 'Decrypt'), group('disks'), site('Lyon')),
      )
      await old.do('Register', template('short', integer(Tag.CryptographicLength, 128), group('all')))

      const plain = await old.do('Create', [objectType('SymmetricKey'), from(['disks'], nameNode('a'))])
      const record = kms.audit.findLast(({ operation }) => operation === 'kmip.Create')
      assert.deepEqual(record?.details?.templates, [first.id], 'and the record says which')
      const made = await getAttributes(kmipClient(kms.user(user)), plain.id)
      assert.deepEqual(
        [Tag.CryptographicLength, Tag.CryptographicUsageMask, Tag.ObjectGroup].map((tag) =>
          listValues(made, tag),
        ),
        [[256], [12], ['disks']],
      )
      assert.deepEqual(
        made.filter(({ tag }) => tag === Tag.Attribute),
        [site('Lyon')],
      )
      assert.equal(
        inside(
          made.find(({ tag }) => tag === Tag.Name),
          Tag.NameValue,
        )?.value,
        'a',
      )

      // The last template takes precedence, the request's own attributes over it; multi-valued attributes are combined.
      const both = await old.do('Create', [objectType('SymmetricKey'), from(['disks', 'short'])])
      const mixed = await getAttributes(kmipClient(kms.user(user)), both.id)
      assert.deepEqual(listValues(mixed, Tag.CryptographicLength), [128])
      assert.deepEqual(listValues(mixed, Tag.ObjectGroup).toSorted(), ['all', 'disks'])
      const own = await old.do('Create', [
        objectType('SymmetricKey'),
        from(['disks', 'short'], integer(Tag.CryptographicLength, 192), group('own')),
      ])
      const said = await getAttributes(kmipClient(kms.user(user)), own.id)
      assert.deepEqual(listValues(said, Tag.CryptographicLength), [192])
      assert.deepEqual(listValues(said, Tag.ObjectGroup).toSorted(), ['all', 'disks', 'own'])

      const got = await old.do('Get', [uid(first.id)])
      assert.equal(got.get(Tag.ObjectType), Enumeration.ObjectType.Template)
      const held = inside(
        got.nodes.find(({ tag }) => tag === Tag.Template),
        Tag.Attributes,
      )
      assert.ok(held?.type === 'Structure')
      assert.deepEqual(
        held.value.map(({ tag }) => tag),
        [
          Tag.CryptographicAlgorithm,
          Tag.CryptographicLength,
          Tag.CryptographicUsageMask,
          Tag.ObjectGroup,
          Tag.Attribute,
        ],
      )
    })
  }
}

test('a template is an object with a Name and without the states of a key', async () => {
  const old = kmipClient(kms.user('carla'), { version: '1.2' })
  const { id } = await old.do('Register', template('t', ...keyOf('AES', 128), mask('Encrypt')))
  const found = await old.do('Locate', [
    attributes(nameNode('t'), enumeration(Tag.ObjectType, Enumeration.ObjectType.Template)),
  ])
  assert.equal(found.id, id)
  const tags = (await getAttributes(kmipClient(kms.user('carla')), id)).map(({ tag }) => tag)
  assert.ok(tags.includes(Tag.Name) && tags.includes(Tag.InitialDate) && tags.includes(Tag.ObjectType))
  for (const tag of [Tag.State, Tag.CryptographicUsageMask, Tag.Digest, Tag.LeaseTime, Tag.Extractable])
    assert.ok(!tags.includes(tag), String(tag))
  await old.fails('Activate', [uid(id)], 'InvalidField')
  await old.fails('Encrypt', [uid(id), byteString(Tag.Data, Buffer.from('x'))], 'PermissionDenied')
  const objects = await old.do('Query', [
    enumeration(Tag.QueryFunction, Enumeration.QueryFunction.QueryObjects),
  ])
  assert.ok(objects.nodes.some(({ value }) => value === Enumeration.ObjectType.Template))
  const rest = kms.user('carla')
  const plain = Buffer.from('x').toString('base64url')
  for (const [path, body] of [
    ['encrypt', { kid: id, alg: 'dir', enc: 'A256GCM', data: plain }],
    ['sign', { kid: id, alg: 'ES256', data: plain }],
    ['mac', { kid: id, alg: 'HS256', data: plain }],
  ] as const) {
    const answer = await rest.post(`/v1/crypto/${path}`, body)
    assert.ok(answer.status >= 400 && answer.status < 500, `${path}: ${answer.status} ${answer.text}`)
  }
  assert.ok((await rest.get(`/v1/crypto/keys/${id}`)).status < 500)
  await old.do('Destroy', [uid(id)])
  await old.fails('Create', [objectType('SymmetricKey'), from(['t'])], 'ItemNotFound')
  await old.fails('Create', [objectType('SymmetricKey'), from(['never'])], 'ItemNotFound')
})

test('a Name inside a template belongs to the template, not to the objects created from it', async () => {
  const old = kmipClient(kms.user('hana'), { version: '1.0' })
  const { id } = await old.do('Register', [
    objectType('Template'),
    attributes(nameNode('outside')),
    structure(Tag.Template, [
      structure(Tag.Attributes, [
        nameNode('inside'),
        nameNode('outside'),
        ...keyOf('AES', 128),
        mask('Encrypt'),
      ]),
    ]),
  ])
  const isTemplate = enumeration(Tag.ObjectType, Enumeration.ObjectType.Template)
  for (const name of ['inside', 'outside']) {
    assert.equal((await old.do('Locate', [attributes(nameNode(name), isTemplate)])).id, id)
    const made = await old.do('Create', [objectType('SymmetricKey'), from([name])])
    const given = await getAttributes(kmipClient(kms.user('hana')), made.id)
    assert.deepEqual(listValues(given, Tag.CryptographicLength), [128])
    assert.deepEqual(listValues(given, Tag.Name), [], 'what is made has no name unless it is given one')
  }
  const names = listValues(await getAttributes(kmipClient(kms.user('hana')), id), Tag.Name)
  assert.equal(names.length, 2)
})

test('pairs and registered objects take templates too', async () => {
  const old = kmipClient(kms.user('dora'), { version: '1.3' })
  await old.do('Register', template('pair', ...keyOf('EC', 256), group('pairs')))
  await old.do('Register', template('signs', mask('Sign'), activeSince))
  const made = await old.do('CreateKeyPair', [
    structure(Tag.CommonAttributes, [structure(Tag.Template, [nameNode('pair')])]),
    structure(Tag.PrivateKeyAttributes, [structure(Tag.Template, [nameNode('signs')])]),
    structure(Tag.PublicKeyAttributes, [mask('Verify')]),
  ])
  const half = async (tag: number) => getAttributes(kmipClient(kms.user('dora')), String(made.get(tag)))
  const secret = await half(Tag.PrivateKeyUniqueIdentifier)
  const open = await half(Tag.PublicKeyUniqueIdentifier)
  for (const list of [secret, open]) assert.deepEqual(listValues(list, Tag.ObjectGroup), ['pairs'])
  const { Sign, Verify } = Enumeration.CryptographicUsageMask
  assert.deepEqual(
    [secret, open].map((list) => listValues(list, Tag.CryptographicUsageMask)),
    [[Sign], [Verify]],
  )
  assert.deepEqual(listValues(secret, Tag.State), [Enumeration.State.Active])
})

test("another user's template is not found, and a template has no attributes that only the server sets", async () => {
  const mine = kmipClient(kms.user('erna'), { version: '1.4' })
  const other = kmipClient(kms.user('fred'), { version: '1.4' })
  await mine.do('Register', template('secret plan', ...keyOf('AES', 256), mask('Encrypt')))
  await other.fails('Create', [objectType('SymmetricKey'), from(['secret plan'])], 'ItemNotFound')
  await mine.fails(
    'Register',
    template('bad', enumeration(Tag.State, Enumeration.State.Active)),
    'PermissionDenied',
  )
  await mine.fails('Register', template('bad', boolean(Tag.AlwaysSensitive, true)), 'PermissionDenied')
  await mine.fails('Register', [objectType('Template'), attributes(nameNode('empty'))], 'MissingData')
  const many = Array.from({ length: 17 }, (_, index) => `t${index}`)
  await mine.fails('Create', [objectType('SymmetricKey'), from(many)], 'InvalidField')
})

test('2.x clients neither create nor get templates', async () => {
  const old = kmipClient(kms.user('gina'), { version: '1.4' })
  const modern = kmipClient(kms.user('gina'))
  const { id } = await old.do('Register', template('t', mask('Encrypt')))
  await modern.fails('Get', [uid(id)], 'InvalidObjectType')
  await modern.fails('Register', template('u', mask('Encrypt')), 'InvalidField')
  const refused = await modern.ask('Create', [
    objectType('SymmetricKey'),
    from(['t'], ...keyOf('AES', 128), mask('Encrypt')),
  ])
  assert.equal(refused.status, 'OperationFailed')
})
