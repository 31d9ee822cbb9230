import assert from 'node:assert/strict'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { grant, startSharedKms } from '@warder/kms/testing'

const kms = await startSharedKms()

type Json = { readonly tag: string; readonly type?: string; readonly value: unknown }
const text = (tag: string, value: string): Json => ({ tag, type: 'TextString', value })
const named = (tag: string, value: string): Json => ({ tag, type: 'Enumeration', value })
const structure = (tag: string, ...value: readonly Json[]): Json => ({ tag, type: 'Structure', value })
const uid = (id: string) => text('UniqueIdentifier', id)

/** A request as cloudproof_kms_js sends it. */
const fetchHeaders = { 'content-type': 'application/json; charset=utf-8', 'sec-fetch-mode': 'cors' }

function ask(user: string, operation: string, ...value: readonly Json[]) {
  const body = JSON.stringify({ tag: operation, type: 'Structure', value })
  return kms.user(user).call('POST', '/kmip/2_1', { headers: fetchHeaders, text: body })
}

async function answered(user: string, operation: string, ...value: readonly Json[]) {
  const { status, json, text: told } = await ask(user, operation, ...value)
  assert.equal(status, 200, told)
  return json
}

const memberValue = ({ value }: { value: readonly Json[] }, tag: string) =>
  value.find((member) => member.tag === tag)?.value

async function created(user: string): Promise<string> {
  const attributes = structure('Attributes', named('CryptographicAlgorithm', 'AES'))
  const json = await answered(user, 'Create', named('ObjectType', 'SymmetricKey'), attributes)
  return String(memberValue(json, 'UniqueIdentifier'))
}

async function findAttribute(user: string, id: string, name: string): Promise<unknown> {
  const json = await answered(user, 'GetAttributes', uid(id), named('AttributeReference', name))
  return memberValue({ value: memberValue(json, 'Attributes') as readonly Json[] }, name)
}

test('a key that is created without a usage mask gets the uses of its algorithm', async () => {
  const id = await created('alice')
  // Encrypt, Decrypt, WrapKey, UnwrapKey.
  assert.equal(await findAttribute('alice', id, 'CryptographicUsageMask'), 4 + 8 + 16 + 32)
})

test('a revocation with a text as reason deactivates a key that was never activated', async () => {
  const id = await created('alice')
  await answered('alice', 'Revoke', uid(id), text('RevocationReason', 'no longer needed'))
  assert.equal(await findAttribute('alice', id, 'State'), 'Deactivated')
  assert.equal((await ask('alice', 'Revoke', uid(id), text('RevocationReason', 'again'))).status, 422)
  await answered('alice', 'Destroy', uid(id))
})

test('a revocation by the number of a reason or in the standard form succeeds; an unknown number fails', async () => {
  const id = await created('alice')
  const number = (value: number): Json => ({ tag: 'RevocationReason', type: 'Integer', value })
  assert.equal((await ask('alice', 'Revoke', uid(id), number(99))).json.result_reason, 'InvalidField')
  const standard = structure('RevocationReason', named('RevocationReasonCode', 'Superseded'))
  await answered('alice', 'Revoke', uid(id), standard)
  assert.equal(await findAttribute('alice', id, 'State'), 'Deactivated')
  await answered('alice', 'Revoke', uid(id), number(2))
  assert.equal(await findAttribute('alice', id, 'State'), 'Compromised')
})

test('the right to revoke suffices to deactivate a key that was never active', async () => {
  const id = await created('alice')
  await grant(kms.user('alice'), id, 'bob', 'revoke')
  await answered('bob', 'Revoke', uid(id), text('RevocationReason', 'gone'))
  assert.equal(await findAttribute('alice', id, 'State'), 'Deactivated')
  assert.equal(await findAttribute('alice', id, 'ActivationDate'), undefined)
  assert.notEqual((await ask('alice', 'Activate', uid(id))).status, 200)
  await answered('alice', 'Destroy', uid(id))
})

test('the length of a DER encoding as CryptographicLength is ignored; any other wrong length is refused', async () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const der = privateKey.export({ format: 'der', type: 'sec1' })
  const imported = (bits: number) => {
    const length = { tag: 'CryptographicLength', type: 'Integer', value: bits }
    const attributes = structure('Attributes', named('ObjectType', 'PrivateKey'), length)
    const bytes = { tag: 'ByteString', type: 'ByteString', value: der.toString('hex') }
    const block = structure(
      'KeyBlock',
      named('KeyFormatType', 'ECPrivateKey'),
      structure('KeyValue', structure('KeyMaterial', bytes), attributes),
      length,
    )
    return [uid(randomUUID()), named('ObjectType', 'PrivateKey'), attributes, structure('Object', block)]
  }
  const json = await answered('alice', 'Import', ...imported(der.length * 8))
  assert.equal(
    await findAttribute('alice', String(memberValue(json, 'UniqueIdentifier')), 'CryptographicLength'),
    256,
  )
  assert.equal((await ask('alice', 'Import', ...imported(der.length * 8 + 8))).status, 400)
})

test('other requests get the responses of the standard', async () => {
  const id = await created('alice')
  const own = await answered('alice', 'Get', uid(id))
  assert.equal(memberValue(own, 'SymmetricKey'), undefined)
  assert.ok(memberValue(own, 'Object'))
  const usual = await kms.user('alice').post('/kmip/2_1', { tag: 'Get', value: [uid(id)] })
  assert.equal(memberValue(usual.json, 'Object'), undefined)
  assert.ok(memberValue(usual.json, 'SymmetricKey'))
})
