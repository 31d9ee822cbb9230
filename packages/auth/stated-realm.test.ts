import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { accessTable } from '@warder/server/testing'
import { authOperations } from './operations.ts'
import { scene } from './testing/scene.ts'
import { startAuth } from './testing/start.ts'

const samples: Readonly<Record<string, string>> = {
  generation: '1',
  realm_id: 'r',
  session_id: '00000000-0000-4000-8000-000000000000',
  admin_id: 'nobody',
  username: 'nobody',
  subject: 'nobody',
  passkey_id: 'AAAA',
}
const credential = {
  ...{ id: 'AAAA', rawId: 'AAAA', type: 'public-key' },
  response: { clientDataJSON: 'AAAA', attestationObject: 'AAAA' },
}
const ages = { session_max_age_seconds: 60, session_max_stale_age_seconds: 30 }

describe('a request whose ?realm= names another realm', () => {
  it('is refused in the same way by every operation, and changes nothing', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { as, asSuper, realm, user, logIn } = scene(auth)
    await realm('r')
    await realm('r2')
    await user('r', 'ann')
    const ann = await logIn('r', 'ann')
    const before = await asSuper('GET', '/admins/realms')
    const bodies: Readonly<Record<string, unknown>> = {
      'POST /certify': { verification_key: 'x' },
      'POST /sessions/{session_id}': { authenticated_clients: [] },
      'POST /sessions/realms/{realm_id}/clients': [],
      'DELETE /sessions': { session_ids: [] },
      'POST /admins/realms': { id: 'new', auth_params: {}, ...ages },
      'PUT /admins/realms/{realm_id}': { auth_params: {}, ...ages },
      'POST /admins': { id: 'new', realms: ['r'] },
      'PUT /admins/{admin_id}': { id: 'nobody', realms: ['r'] },
      'PUT /realms/{realm_id}/jwt-subjects/{subject}': { jwt_issuer_uri: 'https://idp.example' },
      'POST /account/handover': { request: 'x' },
      'POST /account/totp': { enrollment: 'x', code: '1' },
      'POST /account/passkeys': { name: 'x', credential },
      'PUT /account/passkeys/{passkey_id}': { name: 'x' },
      'POST /realms/{realm_id}/saml/test': { saml_response: 'PA==' },
      'POST /realms/{realm_id}/totp/generate': { username: 'ann', issuer: 'W' },
      'POST /realms/{realm_id}/totp/verify': { username: 'ann', token: '1', secret: 'A', issuer: 'W' },
    }
    /** Parameters that are required. */
    const queries: Readonly<Record<string, string>> = {
      'GET /v1/audit/counts': '&since=2026-01-01T00:00:00Z',
    }
    for (const { method, path, public: open } of accessTable(authOperations)) {
      if (open || path.includes('/auth/')) continue
      const address = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => samples[name] ?? name)
      const body = bodies[`${method} ${path}`] ?? {}
      const query = queries[`${method} ${path}`] ?? ''
      for (const named of ['r2', 'nowhere', '', '%20_']) {
        const answer = await asSuper(method, `${address}?realm=${named}${query}`, body)
        assert.equal(answer.status, 401, `${method} ${path} ${named} ${answer.text}`)
      }
    }
    assert.deepEqual((await asSuper('GET', '/admins/realms')).json, before.json)
    assert.equal((await as(ann, 'GET', '/whoami')).status, 200)
  })

  it('is accepted when it names the realm of the path, or that of the caller', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { as, asSuper, realm, user, logIn } = scene(auth)
    await realm('r')
    await user('r', 'ann')
    const ann = await logIn('r', 'ann')
    const json = { username: 'ann', issuer: 'W' }
    for (const query of ['', '?realm=r', '?realm=_'])
      assert.equal((await asSuper('POST', `/realms/r/totp/generate${query}`, json)).status, 200, query)
    assert.equal((await as(ann, 'GET', '/whoami?realm=r')).status, 200)
    assert.equal((await asSuper('GET', '/admins?realm=_')).status, 200)
  })

  it('does not move a machine role, and a list of roles does not contain those of another realm', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper, realm } = scene(auth)
    await realm('r')
    await realm('s')
    const pods = { jwks_url: 'https://pods.example/keys' }
    for (const [kind, fields] of [
      ['approle', {}],
      ['orchestrator', pods],
    ] as const) {
      const role = `/auth/${kind}/role`
      assert.equal((await asSuper('POST', `${role}/one?realm=r`, fields)).status, 204)
      assert.equal((await asSuper('POST', `${role}/one?realm=s`, fields)).status, 409)
      assert.equal((await asSuper('POST', `${role}/one`, fields)).status, 204)
      const keys = async (query: string) => (await asSuper('GET', `${role}?list=true${query}`)).json.data.keys
      assert.deepEqual(
        [await keys(''), await keys('&realm=r'), await keys('&realm=s')],
        [['one'], ['one'], []],
      )
    }
  })
})

describe('the deletion of every session of a realm', () => {
  it('that does not exist answers 204', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper } = scene(auth)
    assert.equal((await asSuper('DELETE', '/sessions/realms/unknown')).status, 204)
  })
})
