import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startSaml } from './methods/saml/testing/saml-scene.ts'
import { formatKeySet, signToken, startIssuer } from './testing/issuer.ts'
import { scene } from './testing/scene.ts'
import { peerSecret, readCookie, startAuth, testAuthority } from './testing/start.ts'

const persons = (realm: string, name: string) => `/realms/${realm}/persons/${name}`

test('a reused name belongs to another person, whatever schemes both log in with', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'warder-persons-'))
  await using issuer = await startIssuer(await testAuthority(), folder)
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  issuer.serve('/keys', { body: formatKeySet({ key: pair.publicKey, kid: 'k' }) })
  await using auth = await startAuth({ adminPassword: 'correct horse', outboundCa: issuer.caFile })
  const { realm, user, logIn, as, asSuper } = scene(auth)
  await realm('r', {
    auth_params: {
      username_password_params: { allow_expired_passwords: false },
      client_certificate_params: {},
      jwt_params: {
        idp_params: [{ jwt_issuer_uri: 'https://idp.example', jwks_uri: `${issuer.url}/keys` }],
      },
    },
  })
  const client = auth.clientWith(await auth.authority.issue('ann', 'client'))
  const now = Math.floor(auth.clock.now() / 1000)
  const claims = { iss: 'https://idp.example', sub: 'ann', exp: now + 3000 }
  const token = signToken(pair.privateKey, { alg: 'ES256', kid: 'k' }, claims)
  const schemes = {
    async password() {
      await user('r', 'ann')
      const cookie = await logIn('r', 'ann')
      return { cookie, end: '/realms/r/userpass/ann' }
    },
    async jwt() {
      const answer = await auth.call('POST', '/login?realm=r', {
        headers: { authorization: `Bearer ${token}` },
      })
      assert.equal(answer.status, 200, answer.text)
      return { cookie: readCookie(answer), end: '/realms/r/jwt-subjects/ann' }
    },
    async certificate() {
      const answer = await client.call('POST', '/login?realm=r')
      assert.equal(answer.status, 200, answer.text)
      return { cookie: readCookie(answer), end: persons('r', 'ann') }
    },
  }
  const ids = new Set<string>()
  let rounds = 0
  for (let twice = 0; twice < 2; twice++)
    for (const [scheme, logInBy] of Object.entries(schemes)) {
      const { cookie, end } = await logInBy()
      const { as_sid } = (await as(cookie, 'GET', '/whoami')).json
      ids.add(as_sid)
      rounds += 1
      assert.equal(ids.size, rounds, scheme)
      assert.equal((await asSuper('GET', persons('r', 'ann'))).json.person, true, scheme)
      assert.equal((await asSuper('DELETE', end)).status, 204, scheme)
      assert.equal((await as(cookie, 'GET', '/whoami')).status, 401, `session of ${scheme}`)
      assert.equal((await asSuper('GET', persons('r', 'ann'))).status, 404, scheme)
    }
  rmSync(folder, { recursive: true, force: true })
})

test('users of SAML are distinguished from later users of the same name', async () => {
  await using saml = await startSaml()
  const { asSuper } = saml.scene
  const sid = async (nameId: string) => {
    const cookie = readCookie(await saml.logIn({ nameId }))
    return { cookie, ...(await saml.auth.call('GET', '/whoami?realm=r', { cookie })).json }
  }
  const [ann, bob, again] = [await sid('ann'), await sid('bob'), await sid('ann')]
  assert.deepEqual([ann.sub, bob.sub, again.as_sid], ['ann', 'bob', ann.as_sid])
  assert.notEqual(ann.as_sid, bob.as_sid)
  const known = await saml.auth.call('GET', '/known?realm=r&username=ann&entity=ann', {
    headers: { 'x-warder-peer': peerSecret },
  })
  assert.equal(known.json.user, true)
  assert.equal((await asSuper('DELETE', persons('r', 'ann'))).status, 204)
  for (const { cookie } of [ann, again])
    assert.equal((await saml.auth.call('GET', '/whoami?realm=r', { cookie })).status, 401)
  assert.equal((await saml.auth.call('GET', '/whoami?realm=r', { cookie: bob.cookie })).status, 200)
  assert.notEqual((await sid('ann')).as_sid, ann.as_sid)
})

test('a registered name cannot be removed as a person, and only administrators of the realm remove one', async () => {
  await using auth = await startAuth({ adminPassword: 'correct horse' })
  const { realm, user, logIn, as, asSuper } = scene(auth)
  await realm('r')
  await user('r', 'ann')
  const cookie = await logIn('r', 'ann')
  assert.equal((await as(cookie, 'DELETE', persons('r', 'ann'))).status, 403)
  assert.equal((await as(cookie, 'GET', persons('r', 'ann'))).status, 403)
  assert.equal((await asSuper('DELETE', persons('r', 'ann'))).status, 409)
  assert.equal((await as(cookie, 'GET', '/whoami')).status, 200)
  assert.equal((await asSuper('GET', persons('r', 'nobody'))).status, 404)
  assert.equal((await asSuper('GET', persons('none', 'ann'))).status, 404)
  assert.equal((await auth.call('DELETE', persons('r', 'ann'))).status, 401)
})
