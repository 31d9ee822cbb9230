import assert from 'node:assert/strict'
import { it } from 'node:test'
import { countSuperAdmins } from './admins/admin-store.ts'
import { fromBase32 } from './base32.ts'
import { codeAt } from './methods/totp/code.ts'
import { scene } from './testing/scene.ts'
import { startAuth, type TestService } from './testing/start.ts'

/** Two nodes of one installation with a realm, a user and an administrator of that realm. */
async function twoNodes(): Promise<
  AsyncDisposable & { readonly near: TestService; readonly far: TestService }
> {
  const near = await startAuth({ adminPassword: 'correct horse' })
  const far = await near.beside()
  const { realm, user, admin } = scene(near)
  await realm('r')
  for (const name of ['ann', 'chief']) await user('r', name)
  await admin('chief', ['r'], { userpass: 'chief' })
  return {
    near,
    far,
    async [Symbol.asyncDispose]() {
      await far[Symbol.asyncDispose]()
      await near[Symbol.asyncDispose]()
    },
  }
}

const count = (statuses: readonly number[], status: number): number =>
  statuses.filter((one) => one === status).length

it('revocations by one node apply to the next request on the other: sessions, powers, tokens, realms', async () => {
  await using nodes = await twoNodes()
  const { near, far } = nodes
  const [here, there] = [scene(near), scene(far)]
  for (let round = 0; round < 20; round++) {
    const cookie = await here.logIn('r', 'ann')
    const who = (await there.as(cookie, 'GET', '/whoami')).json
    assert.equal(who.sub, 'ann', 'signed by the one, known to the other')
    assert.equal((await here.asSuper('DELETE', '/sessions', { session_ids: [who.jti] })).status, 204)
    assert.equal((await there.as(cookie, 'GET', '/whoami')).status, 401)
  }
  const chief = await there.logIn('r', 'chief')
  assert.equal((await there.as(chief, 'GET', '/realms/r/userpass')).status, 200)
  assert.equal((await here.asSuper('DELETE', '/admins/chief/realms/r')).status, 200)
  assert.equal((await there.as(chief, 'GET', '/realms/r/userpass')).status, 403)

  await here.asSuper('POST', '/auth/approle/role/worker', { bind_secret_id: false })
  const { role_id } = (await there.asSuper('GET', '/auth/approle/role/worker/role-id')).json.data
  const token = (await far.call('POST', '/auth/approle/login', { json: { role_id } })).json.auth.client_token
  const lookUp = (node: TestService) => node.call('GET', '/auth/token/lookup-self', { token })
  assert.deepEqual([(await lookUp(near)).status, (await lookUp(far)).status], [200, 200])
  assert.equal((await near.call('POST', '/auth/token/revoke-self', { token })).status, 204)
  assert.equal((await lookUp(far)).status, 403)

  const ann = await there.logIn('r', 'ann')
  assert.equal((await here.asSuper('DELETE', '/admins/realms/r')).status, 204)
  assert.equal((await there.as(ann, 'GET', '/whoami')).status, 401)
  const basic = 'ann:correct horse'
  assert.equal((await far.call('POST', '/login?realm=r', { basic })).status, 401)
})

it('single-use credentials are used once by both nodes together: TOTP codes, secret ids (A05, A20)', async () => {
  await using nodes = await twoNodes()
  const { near, far } = nodes
  const { asSuper } = scene(near)
  const both = (index: number): TestService => (index % 2 === 0 ? near : far)

  await asSuper('POST', '/auth/approle/role/worker', {})
  const { role_id } = (await asSuper('GET', '/auth/approle/role/worker/role-id')).json.data
  for (let round = 0; round < 5; round++) {
    const made = await asSuper('POST', '/auth/approle/role/worker/secret-id', { num_uses: 1 })
    const { secret_id } = made.json.data
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        both(index).call('POST', '/auth/approle/login', { json: { role_id, secret_id } }),
      ),
    )
    const statuses = answers.map(({ status }) => status)
    assert.equal(count(statuses, 200), 1, statuses.join())
    assert.equal(count(statuses, 403), 49, statuses.join())
  }

  const { secret_base32: secret } = (await asSuper('POST', '/realms/r/totp/generate', { username: 'ann' }))
    .json
  const codeNow = () =>
    codeAt(fromBase32(secret) ?? Buffer.alloc(0), Math.floor(near.services.now() / 30), 'SHA1')
  const proof = { username: 'ann', token: codeNow(), secret }
  assert.equal((await asSuper('POST', '/realms/r/totp/verify', proof)).status, 200)
  for (let round = 0; round < 5; round++) {
    near.clock.advance(60)
    const json = { totp_code: codeNow() }
    const call = { basic: 'ann:correct horse', json }
    const answers = await Promise.all(
      Array.from({ length: 4 }, (_, index) => both(index).call('POST', '/login?realm=r', call)),
    )
    const statuses = answers.map(({ status }) => status)
    assert.equal(count(statuses, 200), 1, statuses.join())
    assert.equal(count(statuses, 401) + count(statuses, 429), 3, statuses.join())
    near.clock.advance(4000)
  }
})

it('both nodes count failures together, and the last super administrator stays', async () => {
  await using nodes = await twoNodes()
  const { near, far } = nodes
  for (let attempt = 0; attempt < 5; attempt++) {
    const node = attempt % 2 === 0 ? near : far
    assert.equal((await node.call('POST', '/login?realm=r', { basic: 'ann:wrong' })).status, 401)
  }
  for (const node of [near, far]) {
    assert.equal((await node.call('POST', '/login?realm=r', { basic: 'ann:correct horse' })).status, 429)
  }
  for (let round = 0; round < 5; round++) {
    await scene(near).admin(`other${round}`, ['_'], { userpass: 'admin' })
    const answers = await Promise.all([
      scene(near).asSuper('DELETE', '/admins/admin'),
      scene(far).asSuper('DELETE', `/admins/other${round}`),
    ])
    assert.equal((await countSuperAdmins(near.db)).count, 1)
    assert.equal(
      count(
        answers.map(({ status }) => status),
        409,
      ),
      1,
    )
    if (answers[0]?.status === 204) {
      await scene(near).admin('admin', ['_'], { userpass: 'admin' })
      assert.equal((await scene(near).asSuper('DELETE', `/admins/other${round}`)).status, 204)
    }
  }
})
