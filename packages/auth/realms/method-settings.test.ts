import assert from 'node:assert/strict'
import { it } from 'node:test'
import { failure } from '@warder/base'
import Type from 'typebox'
import { methodSettings, nullable, readAuthParams } from './realm.ts'

const saved = { realmId: 'r', now: 1 }
const cards = methodSettings(
  'card_params',
  Type.Object({
    issuers: Type.Array(Type.Object({ name: Type.String(), url: nullable(Type.String()) })),
    pin: nullable(Type.Object({ length: Type.Integer() })),
    tries: Type.Optional(Type.Integer()),
  }),
)

it('stores the members of the schema in its order, without null members', () => {
  const input = {
    tries: 0,
    other: true,
    pin: null,
    issuers: [
      { url: null, name: 'a', more: 1 },
      { url: 'b', name: '' },
    ],
  }
  const kept = readAuthParams([cards], { unknown_params: {}, card_params: input }, saved)
  assert.equal(
    JSON.stringify(kept),
    '{"card_params":{"issuers":[{"name":"a"},{"name":"","url":"b"}],"tries":0}}',
  )
  assert.equal(cards.of({ auth_params: kept })?.issuers[1]?.url, 'b')
})

it('disables a method whose member is absent or null', () => {
  for (const input of [{}, { card_params: null }]) {
    const auth_params = readAuthParams([cards], input, saved)
    assert.deepEqual(auth_params, {})
    assert.equal(cards.of({ auth_params }), undefined)
  }
})

it('a check can change the stored value, and its error names the member', () => {
  const checked = methodSettings('pin_params', Type.Object({ length: Type.Integer() }), ({ length }, at) => {
    if (length < 4) throw failure('bad_request', `${at}.length: must be at least 4.`)
    return { digits: length }
  })
  assert.deepEqual(readAuthParams([checked], { pin_params: { length: 6 } }, saved), {
    pin_params: { digits: 6 },
  })
  assert.throws(() => readAuthParams([checked], { pin_params: { length: 3 } }, saved), {
    kind: 'bad_request',
    message: 'auth_params.pin_params.length: must be at least 4.',
  })
})
