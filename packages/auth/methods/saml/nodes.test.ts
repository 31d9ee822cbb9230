import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { firstSpKey } from '../../service.ts'
import { readCookie, startAuth } from '../../testing/start.ts'
import {
  createPendingLimiter,
  findPending,
  pendingInsertion,
  removeExcessPending,
  removeExpiredMessages,
} from './pending-store.ts'
import { listSpKeys } from './sp-key-store.ts'
import { startSaml } from './testing/saml-scene.ts'
import { randomId } from './testing/test-idp.ts'

describe('two nodes of one database', () => {
  it('finish a login that the other node started, and accept its session', async () => {
    await using saml = await startSaml()
    await using far = await saml.auth.beside()
    const login = await saml.begin()
    const response = saml.idp.response({ requestId: login.requestId, now: saml.now() })
    const answer = await saml.post(login, response, { client: far })
    assert.equal(answer.status, 200, answer.text)
    assert.equal((await saml.auth.call('GET', '/whoami', { cookie: readCookie(answer) })).json.sub, 'ann')
  })

  it('create one session for a response that is posted many times concurrently (parallel replay)', async () => {
    await using saml = await startSaml()
    await using far = await saml.auth.beside()
    const login = await saml.begin()
    const response = saml.idp.response({ requestId: login.requestId, now: saml.now() })
    const posts = Array.from({ length: 12 }, (_, index) =>
      saml.post(login, response, { client: index % 2 === 0 ? saml.auth : far }),
    )
    const answers = await Promise.all(posts)
    assert.equal(answers.filter(({ status }) => status === 200).length, 1)
    for (const { status, json } of answers) {
      if (status === 200) continue
      assert.match(json.description, /unknown or expired sign-in request|already been used/)
    }
    const sessions = await saml.scene.asSuper('POST', '/sessions/realms/r/clients', [
      { username: 'ann', auth_scheme: 'Saml' },
    ])
    assert.equal(sessions.json.session_ids.length, 1, sessions.text)
  })

  it('accept an assertion once, whatever login it is posted to (replay)', async () => {
    await using saml = await startSaml()
    await using far = await saml.auth.beside()
    const assertionId = randomId()
    assert.equal((await saml.logIn({ assertionId })).status, 200)
    const login = await saml.begin({ client: far })
    const again = saml.idp.response({ requestId: login.requestId, now: saml.now(), assertionId })
    const answer = await saml.post(login, again, { client: far })
    assert.deepEqual(
      [answer.status, answer.json.description],
      [401, 'SAML error: assertion has already been used'],
    )
    // IDs are compared exactly.
    assert.equal((await saml.logIn({ assertionId: assertionId.toUpperCase() })).status, 200)
  })

  it('delete only records that can no longer be used', async () => {
    await using saml = await startSaml()
    const assertionId = randomId()
    await saml.logIn({ assertionId })
    await saml.begin()
    const sweep = () => removeExpiredMessages(saml.auth.db.commit, saml.now())
    assert.equal(await sweep(), 0)
    saml.auth.clock.advance(480)
    assert.equal(await sweep(), 0, 'the assertion could still be accepted')
    saml.auth.clock.advance(1)
    assert.equal(await sweep(), 1)
    saml.auth.clock.advance(119)
    assert.equal(await sweep(), 1, 'the login that was not finished')
  })
})

describe('unfinished logins', () => {
  it('are deleted, the oldest first, beyond the limits per realm and in total', async () => {
    await using saml = await startSaml()
    const { db } = saml.auth
    const expiresAt = (index: number) => saml.now() + 100 + index
    const pending = (realm: string, index: number) =>
      ({
        purpose: 'login',
        requestId: `_${realm}${index}`,
        realm,
        returnUrl: 'https://app.example/',
        expiresAt: expiresAt(index),
        recipient: undefined,
      }) as const
    const begin = (realm: string, count: number) =>
      db.commit(Array.from({ length: count }, (_, index) => pendingInsertion(pending(realm, index))))
    const left = async (realm: string, count: number) => {
      const rows = await Promise.all(
        Array.from({ length: count }, (_, index) => findPending(db, pending(realm, index), saml.now())),
      )
      return rows.flatMap((row, index) => (row === undefined ? [] : [index]))
    }
    await begin('a', 8)
    await begin('b', 3)
    assert.equal(await removeExcessPending(db, { ofRealm: 8, inAll: 11 }), 0)
    assert.equal(await removeExcessPending(db, { ofRealm: 5, inAll: 11 }), 3)
    assert.deepEqual(
      [await left('a', 8), await left('b', 3)],
      [
        [3, 4, 5, 6, 7],
        [0, 1, 2],
      ],
    )
    assert.equal(await removeExcessPending(db, { ofRealm: 5, inAll: 4 }), 4)
    assert.deepEqual([await left('a', 8), await left('b', 3)], [[4, 5, 6, 7], []])
    const crowd = createPendingLimiter(db, { ofRealm: 1, inAll: 10 }, 2)
    await crowd.count()
    assert.equal((await left('a', 8)).length, 4, 'it does not look each time')
    await crowd.count()
    assert.deepEqual(await left('a', 8), [7])
  })

  it('are swept in one run, however many have expired', async () => {
    await using saml = await startSaml()
    const { db } = saml.auth
    const expired = {
      purpose: 'login',
      realm: 'r',
      returnUrl: 'https://app.example/',
      recipient: undefined,
    } as const
    const rows = Array.from({ length: 2500 }, (_, index) =>
      pendingInsertion({ ...expired, requestId: `_${index}`, expiresAt: saml.now() }),
    )
    await db.commit(rows)
    assert.equal(await removeExpiredMessages(db.commit, saml.now()), 2500)
  })
})

describe('the key of the service provider', () => {
  it('is generated once after the first start', async () => {
    const own = { saml_sp_key_files: [], saml_sp_certificate_files: [] }
    await using auth = await startAuth({ config: own })
    const work = firstSpKey()
    assert.equal(await work.due?.(auth.environment), true)
    await work.run(auth.environment)
    assert.equal((await listSpKeys(auth.db)).length, 1)
    assert.equal(await work.due?.(auth.environment), false)
    await work.run(auth.environment)
    assert.equal((await listSpKeys(auth.db)).length, 1)
    const configured = {
      ...auth.environment,
      config: { ...auth.environment.config, saml_sp_key_files: ['x'] },
    }
    assert.equal(await firstSpKey().due?.(configured), false)
  })

  it('is generated when it is needed, once for all nodes, and stored encrypted', async () => {
    const own = { saml_sp_key_files: [], saml_sp_certificate_files: [] }
    await using saml = await startSaml({}, { config: own })
    await using far = await saml.auth.beside()
    const [here, there] = await Promise.all(
      [saml.auth, far].map(async (node) => (await node.call('GET', '/saml/r/metadata')).text),
    )
    assert.equal(here, there)
    assert.equal(here?.match(/use="signing"/g)?.length, 1)
    const login = await saml.begin({ client: far })
    const response = saml.idp.response({ requestId: login.requestId, now: saml.now() })
    assert.equal((await saml.post(login, response)).status, 200)
    const [key] = await saml.auth.services.spKeys.list()
    assert.equal(key.privateKey.asymmetricKeyDetails?.modulusLength, 3072)
  })
})
