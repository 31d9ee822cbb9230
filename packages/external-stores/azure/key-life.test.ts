import assert from 'node:assert/strict'
import { test } from 'node:test'
import { destructionWaits, rotate, throughLife } from '../testing/key-life.ts'
import { aesKey, rsaKey, startEkm } from './fixtures/ekm.ts'

const value = Buffer.alloc(32, 7).toString('base64url')

test('Managed HSM is told of a key that is disabled, awaits its destruction, was deactivated or destroyed by its codes', async () => {
  await using ekm = await startEkm({ config: destructionWaits })
  const { kms } = ekm
  const disabled = Array(3).fill('403 KeyDisabled')
  const usable = Array(3).fill(200)
  for (const [kid, alg] of [
    [await aesKey(kms), 'A256KW'],
    [await rsaKey(kms), 'RSA-OAEP-256'],
  ] as const) {
    const wrapped = (await ekm.send(`${kid}/wrapkey`, { alg, value })).json.value
    const told = async (operation: string, body = {}) => {
      const { status, json } = await ekm.send(`${kid}/${operation}`, body)
      return status === 200 ? 200 : `${status} ${json.code}`
    }
    const life = await throughLife(kms, 'alice', kid, async () => [
      await told('metadata'),
      await told('wrapkey', { alg, value }),
      await told('unwrapkey', { alg, value: wrapped }),
    ])
    assert.deepEqual(life, {
      active: usable,
      disabled,
      enabled: usable,
      'awaiting destruction': disabled,
      restored: usable,
      deactivated: disabled,
      destroyed: Array(3).fill('404 KeyNotFound'),
    })
  }
})

test('the id of an external key stays the one key that Managed HSM knows when it is rotated here', async () => {
  await using ekm = await startEkm()
  for (const [kid, alg] of [
    [await aesKey(ekm.kms), 'A256KWP'],
    [await rsaKey(ekm.kms), 'RSA-OAEP-256'],
  ] as const) {
    const metadata = await ekm.send(`${kid}/metadata`)
    const wrapped = (await ekm.send(`${kid}/wrapkey`, { alg, value })).json.value
    const version = await rotate(ekm.kms, 'alice', kid)
    assert.deepEqual((await ekm.send(`${kid}/metadata`)).json, metadata.json)
    assert.deepEqual((await ekm.send(`${kid}/unwrapkey`, { alg, value: wrapped })).json, { value })
    const again = (await ekm.send(`${kid}/wrapkey`, { alg, value })).json.value
    assert.deepEqual((await ekm.send(`${kid}/unwrapkey`, { alg, value: again })).json, { value })
    // Grants name keys: a version alone was granted to nobody at Azure.
    assert.equal((await ekm.send(`${version}/metadata`)).json.code, 'KeyNotFound')
  }
})
