import assert from 'node:assert/strict'
import { test } from 'node:test'
import { destructionWaits, throughLife } from '../testing/key-life.ts'
import { requestMetadata, startXks } from './fixtures/xks.ts'

test('AWS KMS is told of a key that is disabled, awaits its destruction, was deactivated or destroyed in its own words', async () => {
  await using xks = await startXks({ config: destructionWaits })
  const { kms, kid } = xks
  const body = {
    requestMetadata: requestMetadata('Encrypt'),
    encryptionAlgorithm: 'AES_GCM',
    plaintext: 'a2V5',
  }
  const { plaintext, ...decrypt } = { ...body, ...(await xks.send(`keys/${kid}/encrypt`, body)).json }
  const told = async (operation: string, sent: object) => {
    const { status, json } = await xks.send(`keys/${kid}/${operation}`, sent)
    return status === 200 ? (json.keyStatus ?? 200) : `${status} ${json.errorName}`
  }
  const life = await throughLife(kms, 'alice', kid, async () => [
    await told('metadata', { requestMetadata: requestMetadata('DescribeKey') }),
    await told('encrypt', body),
    await told('decrypt', decrypt),
  ])
  const [usable, gone] = [['ENABLED', 200, 200], Array(3).fill('404 KeyNotFoundException')]
  const disabled = ['DISABLED', '400 InvalidStateException', '400 InvalidStateException']
  assert.deepEqual(life, {
    active: usable,
    disabled,
    enabled: usable,
    'awaiting destruction': disabled,
    restored: usable,
    deactivated: disabled,
    destroyed: gone,
  })
  assert.equal(plaintext, 'a2V5')
})
