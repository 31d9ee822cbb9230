import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  byteString,
  Enumeration,
  enumeration,
  integer,
  interval,
  structure,
  Tag,
  type TtlvNode,
  textString,
} from '@warder/kmip-codec'
import { grant, startSharedKms } from '@warder/kms/testing'
import { kmipClient } from '../../testing/kmip-client.ts'
import { aesAttributes, objectType, uid } from '../../testing/nodes.ts'
import { createAesKey, getAttributes } from '../../testing/requests.ts'

let ahead = 0
const kms = await startSharedKms({
  clock: { now: () => Date.now() + ahead, monotonic: () => performance.now() },
})

const clear = Buffer.from('attack at dawn, with sixteen bytes more than that.')
const client = (user = 'alice') => kmipClient(kms.user(user))
type Client = ReturnType<typeof client>

const mode = (name: 'GCM' | 'CBC') =>
  structure(Tag.CryptographicParameters, [
    enumeration(Tag.BlockCipherMode, Enumeration.BlockCipherMode[name]),
    ...(name === 'GCM'
      ? [integer(Tag.TagLength, 16)]
      : [enumeration(Tag.PaddingMethod, Enumeration.PaddingMethod.PKCS5)]),
    enumeration(Tag.CryptographicAlgorithm, Enumeration.CryptographicAlgorithm.AES),
  ])

const sealed = (who: Client, id: string, how: 'GCM' | 'CBC' = 'GCM') =>
  who.do('Encrypt', [
    uid(id),
    mode(how),
    ...(how === 'CBC' ? [byteString(Tag.IVCounterNonce, Buffer.alloc(16, 7))] : []),
    byteString(Tag.Data, clear),
  ])
type Sealed = Awaited<ReturnType<typeof sealed>>

const opening = (id: string, { nodes }: Sealed, how: 'GCM' | 'CBC' = 'GCM'): readonly TtlvNode[] => [
  uid(id),
  mode(how),
  ...nodes.filter(({ tag }) => tag !== Tag.UniqueIdentifier),
  ...(how === 'CBC' ? [byteString(Tag.IVCounterNonce, Buffer.alloc(16, 7))] : []),
]
const opened = async (who: Client, id: string, jwe: Sealed) => {
  const { nodes } = await who.do('Decrypt', opening(id, jwe))
  return Buffer.from(nodes.find(({ tag }) => tag === Tag.Data)?.value as Uint8Array).toString()
}

async function make(alice: Client): Promise<string> {
  const id = await createAesKey(alice)
  await alice.do('Activate', [uid(id)]).catch(() => undefined)
  return id
}

const readAttributes = async (who: Client, id: string) => {
  const all = await getAttributes(who, id)
  return (tag: number) => all.find((node) => node.tag === tag)?.value
}

test('the identifier of a key that ReKey replaced encrypts with the newest version and decrypts with all versions', async () => {
  const alice = client()
  const id = await make(alice)
  const first = await sealed(alice, id)
  assert.equal(first.id, id)
  const { id: second } = await alice.do('ReKey', [uid(id)])
  const { id: third } = await alice.do('ReKey', [uid(second)])
  const made = await sealed(alice, id)
  assert.equal(made.id, third, 'the answer names the version')
  for (const jwe of [first, made]) assert.equal(await opened(alice, id, jwe), clear.toString())
  assert.equal(await opened(alice, third, made), clear.toString())
  await alice.fails(
    'Encrypt',
    [uid(second), mode('GCM'), byteString(Tag.Data, clear)],
    'WrongKeyLifecycleState',
  )
  const said = await Promise.all([id, second, third].map((one) => readAttributes(alice, one)))
  assert.deepEqual(
    said.map((of) => [of(Tag.RotateName), of(Tag.RotateGeneration), of(Tag.RotateLatest)]),
    [
      [id, 0, false],
      [id, 1, false],
      [id, 2, true],
    ],
  )
})

test('REST and KMIP see the same versions', async () => {
  const [alice, user] = [client(), kms.user('alice')]
  const { json: made } = await user.post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  const { json: rotated } = await user.post(`/v1/crypto/keys/${made.kid}/rotate`, {})
  const { id } = await alice.do('ReKey', [uid(rotated.version_kid)])
  const { json } = await user.get(`/v1/crypto/keys/${made.kid}/versions`)
  assert.deepEqual(
    json.versions.map(({ kid }: { kid: string }) => kid),
    [id, rotated.version_kid, made.kid],
  )
  await alice.fails('ReKey', [uid(made.kid)], 'WrongKeyLifecycleState')
})

test('owners and grantees name versions by @latest, @first and @N', async () => {
  const [alice, bob] = [client(), client('bob')]
  const id = await make(alice)
  const first = await sealed(alice, id)
  const { id: second } = await alice.do('ReKey', [uid(id)])
  const grant = { unique_identifier: id, user_id: 'bob', operation_types: ['encrypt', 'decrypt'] }
  await bob.fails(
    'Encrypt',
    [uid(`${id}@latest`), mode('GCM'), byteString(Tag.Data, clear)],
    'ObjectNotFound',
  )
  assert.equal((await kms.user('alice').post('/access/grant', grant)).status, 200)
  const made = await sealed(bob, `${id}@latest`)
  assert.equal(made.id, second)
  assert.equal(await opened(bob, `${id}@1`, made), clear.toString())
  assert.equal(await opened(bob, `${id}@first`, first), clear.toString())
  await bob.fails('Decrypt', opening(`${id}@0`, made), 'CryptographicFailure')
  for (const name of [`${id}@2`, `${id}@-1`, `${second}@latest`, 'nothing@latest'])
    await bob.fails('Decrypt', opening(name, made), 'ObjectNotFound')
})

test('no identifier of another object redirects requests for a version or an object', async () => {
  const [alice, mallory, bob] = [client(), client('mallory'), client('bob')]
  const called = async (who: Client, user: string, id: string): Promise<string> => {
    const made = await who.do('Create', [objectType('SymmetricKey'), aesAttributes(256, uid(id))])
    await who.do('Activate', [uid(id)]).catch(() => undefined)
    await grant(kms.user(user), id, '*', 'encrypt', 'decrypt')
    return made.id
  }
  const later = (): void => {
    ahead += 1000
  }
  const id = await make(alice)
  const { id: second } = await alice.do('ReKey', [uid(id)])
  later()
  for (const form of ['latest', '0', 'first']) await called(mallory, 'mallory', `${id}@${form}`)
  assert.equal((await sealed(alice, `${id}@latest`)).id, second, 'not the key of mallory')
  const chosen = await called(alice, 'alice', 'ledger@latest')
  later()
  await called(mallory, 'mallory', 'ledger')
  for (const who of [alice, bob]) assert.equal((await sealed(who, chosen)).id, chosen)
  // Of one owner the object that is called so comes first, whichever was made before.
  await called(alice, 'alice', 'invoices')
  later()
  const own = await called(alice, 'alice', 'invoices@0')
  assert.equal((await sealed(alice, own)).id, own)
})

test('versions below min_decrypt_version do not decrypt over KMIP, and replaced ones do not encrypt, however they are named', async () => {
  const [alice, user] = [client(), kms.user('alice')]
  const id = await make(alice)
  const put = (min_decrypt_version: number) =>
    user.call('PUT', `/v1/crypto/keys/${id}/rotation`, { json: { min_decrypt_version } })
  const first = await sealed(alice, id)
  const plain = await sealed(alice, id, 'CBC')
  const { id: second } = await alice.do('ReKey', [uid(id)])
  const between = await sealed(alice, id)
  const { id: third } = await alice.do('ReKey', [uid(second)])
  const made = await sealed(alice, id)
  assert.equal((await put(3)).status, 200)
  const state = 'WrongKeyLifecycleState'
  for (const name of [`${id}@first`, `${id}@0`]) await alice.fails('Decrypt', opening(name, first), state)
  for (const name of [second, `${id}@1`]) await alice.fails('Decrypt', opening(name, between), state)
  for (const jwe of [first, between]) await alice.fails('Decrypt', opening(id, jwe), 'CryptographicFailure')
  await alice.fails('Decrypt', opening(id, plain, 'CBC'), state)
  for (const name of [id, third, `${id}@latest`])
    assert.equal(await opened(alice, name, made), clear.toString())
  for (const name of [second, `${id}@1`, `${id}@first`])
    await alice.fails('Encrypt', [uid(name), mode('GCM'), byteString(Tag.Data, clear)], state)
  assert.equal((await put(1)).status, 200)
  for (const jwe of [first, between]) assert.equal(await opened(alice, id, jwe), clear.toString())
})

test('until the newest version is active the previous version encrypts, but never a linked key or a version that is too old', async () => {
  const [alice, user] = [client(), kms.user('alice')]
  const [id, other] = [await make(alice), await make(alice)]
  const first = await sealed(alice, id)
  const { id: later } = await alice.do('ReKey', [uid(id), interval(Tag.Offset, 3600)])
  assert.equal((await sealed(alice, id)).id, id)
  const put = (min_decrypt_version: number) =>
    user.call('PUT', `/v1/crypto/keys/${id}/rotation`, { json: { min_decrypt_version } })
  assert.equal((await put(2)).status, 200)
  await alice.fails('Encrypt', [uid(id), mode('GCM'), byteString(Tag.Data, clear)], 'WrongKeyLifecycleState')
  await alice.fails('Decrypt', opening(id, first), 'WrongKeyLifecycleState')
  assert.equal((await put(1)).status, 200)
  assert.equal(await opened(alice, id, first), clear.toString())
  const link = structure(Tag.Link, [
    enumeration(Tag.LinkType, Enumeration.LinkType.ReplacedObjectLink),
    textString(Tag.LinkedObjectIdentifier, other),
  ])
  await alice.do('ModifyAttribute', [
    uid(later),
    structure(Tag.CurrentAttribute, [
      structure(Tag.Link, [
        enumeration(Tag.LinkType, Enumeration.LinkType.ReplacedObjectLink),
        textString(Tag.LinkedObjectIdentifier, id),
      ]),
    ]),
    structure(Tag.NewAttribute, [link]),
  ])
  await alice.fails('Encrypt', [uid(id), mode('GCM'), byteString(Tag.Data, clear)], 'WrongKeyLifecycleState')
})

test('if ciphertexts do not tell their version, the identifier of a replaced key stands for its first version and does not encrypt', async () => {
  const alice = client()
  const id = await make(alice)
  const first = await sealed(alice, id, 'CBC')
  const { id: second } = await alice.do('ReKey', [uid(id)])
  const iv = byteString(Tag.IVCounterNonce, Buffer.alloc(16, 7))
  const protect = [mode('CBC'), iv, byteString(Tag.Data, clear)]
  await alice.fails('Encrypt', [uid(id), ...protect], 'WrongKeyLifecycleState')
  const { nodes } = await alice.do('Decrypt', opening(id, first, 'CBC'))
  assert.deepEqual(Buffer.from(nodes.find(({ tag }) => tag === Tag.Data)?.value as Uint8Array), clear)
  const made = await alice.do('Encrypt', [textString(Tag.UniqueIdentifier, `${id}@latest`), ...protect])
  assert.equal(made.id, second)
})
