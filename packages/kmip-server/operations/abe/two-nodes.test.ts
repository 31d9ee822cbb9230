import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeMasterKey } from '@warder/covercrypt'
import { listAttributes as allAttributes } from '@warder/covercrypt/testing'
import { bothEngines, startTwoNodes } from '@warder/kms/testing'
import { AbeClient, vendor } from '../../testing/abe.ts'
import { kmipClient } from '../../testing/kmip-client.ts'
import { uid } from '../../testing/nodes.ts'
import { revocation } from '../../testing/requests.ts'

const blue = 'Team::Blue'

for (const engine of await bothEngines()) {
  test(`two nodes on ${engine.name} change one master key at once: no user key is lost, no id is given twice`, {
    skip: engine.skip,
  }, async () => {
    await using nodes = await startTwoNodes(engine)
    const here = new AbeClient(kmipClient(nodes.near.user('alice')))
    const there = new AbeClient(kmipClient(nodes.onFar('alice')))
    const { master, publicKey } = await here.pair({ Team: ['Blue'] })
    const first = await here.user(master, blue)
    const copy = here.importing(
      'PrivateKey',
      await here.get(first),
      vendor('cover_crypt_access_policy', blue),
    )
    const stale = (await here.kmip.do('Import', copy)).id
    const old = await there.encrypt(publicKey, blue, 'old')

    const [made] = await Promise.all([
      Promise.all([here, there, here, there].map((node) => node.user(master, blue))),
      there.rotate(master, { RekeyAccessPolicy: blue }),
    ])
    const users = [first, ...made]
    assert.equal(decodeMasterKey(await here.get(master)).users.length, users.length)

    await there.rotate(master, { RekeyAccessPolicy: blue })
    const sealed = await here.encrypt(publicKey, blue, 'new')
    for (const user of users)
      assert.deepEqual(await Promise.all([here, there].map((node) => node.decrypt(user, sealed))), [
        'new',
        'new',
      ])
    assert.equal(await there.decrypt(stale, sealed), undefined, 'this node knows the rotation of the other')
    assert.equal(await here.decrypt(stale, old), 'old')

    await Promise.all([
      here.rotate(master, { AddAttribute: [['Team::Green', 'Classic', null]] }),
      there.rotate(master, { AddAttribute: [['Team::Grey', 'Classic', null]] }),
    ])
    const ids = allAttributes(decodeMasterKey(await here.get(master)).structure).map(({ id }) => id)
    assert.equal(new Set(ids).size, 3)

    await there.kmip.do('Revoke', [uid(master), revocation('AffiliationChanged')])
    await here.kmip.fails('Create', here.wish(master, blue), 'CryptographicFailure')
    await here.kmip.fails(
      'ReKeyKeyPair',
      here.rotation(master, { PruneAccessPolicy: blue }),
      'CryptographicFailure',
    )
  })
}
