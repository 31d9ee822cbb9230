import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openApiDocument } from '@warder/server'
import { accessTable } from '@warder/server/testing'
import { authOperations, version } from './operations.ts'
import { startAuth } from './testing/start.ts'

const samples: Readonly<Record<string, string>> = {
  realm_id: '_',
  session_id: '00000000-0000-4000-8000-000000000000',
  admin_id: 'admin',
  username: 'admin',
  name: 'role',
  passkey_id: 'AAAA',
}

describe('the table of operations', () => {
  it('allows unauthenticated callers only the public operations', () => {
    const open = accessTable(authOperations)
      .filter((row) => row.public && !row.path.startsWith('/v1/') && !row.path.includes('kubernetes'))
      .map(({ method, path }) => `${method} ${path}`)
    assert.deepEqual(open, [
      'GET /',
      'GET /.well-known/certificate-jwks.json',
      'GET /.well-known/jwks.json',
      'GET /.well-known/session-issuers',
      'POST /auth/approle/login',
      'PUT /auth/approle/login',
      'POST /auth/orchestrator/login',
      'PUT /auth/orchestrator/login',
      'GET /auth/token/lookup-self',
      'POST /auth/token/renew-self',
      'PUT /auth/token/renew-self',
      'POST /auth/token/revoke-self',
      'PUT /auth/token/revoke-self',
      'POST /handover/program',
      'POST /login',
      'POST /passkeys/login',
      'POST /passkeys/login/options',
      'POST /password',
      'GET /public/realms/{realm_id}/logins',
      'GET /public/version',
      'POST /saml/{realm_id}/acs',
      'GET /saml/{realm_id}/login',
      'GET /saml/{realm_id}/metadata',
      'POST /saml/{realm_id}/session',
      'POST /saml/{realm_id}/session/end',
      'GET /saml/{realm_id}/slo',
      'POST /totp/enroll',
      'POST /totp/enroll/options',
      'GET /ui',
      'GET /ui/',
      'GET /ui/assets/{file}',
      'GET /ui/authority.crt',
      'GET /ui/info',
      'GET /ui/login',
      'GET /ui/{room*}',
    ])
  })

  it('refuses all other operations without a credential and with a forged one', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const [header, payload] = (await auth.superCookie()).split('.')
    const forged = `${header}.${payload}.${'A'.repeat(86)}`
    for (const row of accessTable(authOperations)) {
      if (row.public) continue
      const path = row.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => samples[name] ?? name)
      for (const call of [
        {},
        { cookie: forged },
        { token: 'wt.forged' },
        { bearer: await auth.superCookie() },
      ]) {
        const answer = await auth.call(row.method, path, { ...call, json: {} })
        assert.equal(answer.status, 401, `${row.method} ${path}`)
      }
    }
  })

  it('tells the page what it needs before a login, but not whether the first password is still valid', async () => {
    const kms_public_url = 'https://kms.example'
    await using auth = await startAuth({ adminPassword: 'correct horse', config: { kms_public_url } })
    const { status, json, headers } = await auth.call('GET', '/ui/info')
    assert.deepEqual([status, headers['cache-control']], [200, 'no-store'])
    assert.deepEqual(json, {
      service: 'auth',
      version: json.version,
      other: { service: 'kms', url: kms_public_url },
      ways: [],
      realms: [],
      // The certificates of tests are not in the home.
      authority_sha256: null,
      has_credential: false,
    })
    const cookie = 'the session may have ended'
    assert.equal((await auth.call('GET', '/ui/info', { cookie })).json.has_credential, true)
    assert.equal((await auth.call('GET', '/ui/authority.crt')).status, 404)
  })

  it('refuses query parameters that it does not declare, but for the tolerated ones', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const cookie = await auth.superCookie()
    let refused = 0
    for (const { route, access, foreignParameters } of authOperations) {
      if (access.name === 'machine token') continue
      const sample = (_all: string, name: string) => (name === 'generation' ? '1' : (samples[name] ?? name))
      const path = route.path.replaceAll(/\{(\w+)\}/g, sample)
      const { status, text } = await auth.call(route.methods[0] ?? '', `${path}?relm=_`, { cookie, json: {} })
      const isRefused = status === 400 && /relm: is not a known parameter/.test(text)
      if (isRefused) refused++
      else assert.ok(foreignParameters !== undefined || status === 401, `${route.path} ${status} ${text}`)
    }
    assert.ok(refused > 60, `${refused} operations refuse it`)
  })

  it('generates an OpenAPI document with every path', () => {
    const document = openApiDocument({
      title: 'auth',
      version,
      serverUrl: 'https://localhost',
      operations: authOperations,
    })
    const paths = Object.keys(document.paths as object)
    for (const { route } of authOperations)
      assert.ok(paths.includes(route.path.replace('*}', '}')), route.path)
  })
})
