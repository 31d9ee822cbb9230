import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { formatKeySet, signToken, startIssuer } from '../testing/issuer.ts'
import { scene } from '../testing/scene.ts'
import { startAuth, testAuthority } from '../testing/start.ts'

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const p521 = generateKeyPairSync('ec', { namedCurve: 'P-521' })

describe('orchestrator workloads', () => {
  it('exchange a service-account token for a machine token if the role allows the account', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'warder-k8s-'))
    await using issuer = await startIssuer(await testAuthority(), folder)
    await using auth = await startAuth({ adminPassword: 'correct horse', outboundCa: issuer.caFile })
    const { asSuper } = scene(auth)
    issuer.serve('/keys', {
      body: formatKeySet({ key: rsa.publicKey, kid: 'r' }, { key: p521.publicKey, kid: 'e' }),
    })
    const base = { jwks_url: `${issuer.url}/keys`, token_ttl: 60 }
    const save = (name: string, fields: Record<string, unknown>) =>
      asSuper('POST', `/auth/orchestrator/role/${name}`, { ...base, ...fields })
    const lists = (names: string[], namespaces: string[]) => ({
      bound_service_account_names: names,
      bound_service_account_namespaces: namespaces,
    })
    assert.equal((await save('exact', lists(['app'], ['prod']))).status, 204)
    assert.equal((await save('wild', lists(['*'], ['*']))).status, 204)
    assert.equal((await save('empty', {})).status, 204)
    const bound = { ...lists(['*'], ['*']), expected_issuer: 'https://k8s', bound_audiences: ['warder'] }
    assert.equal((await save('bound', bound)).status, 204)
    for (const bad of ['http://idp/keys', 'file:///etc/passwd', 'keys', '']) {
      assert.equal((await save('bad', { jwks_url: bad })).status, 400, bad)
    }
    assert.deepEqual((await asSuper('GET', '/auth/kubernetes/role/bound')).json.data, { ...base, ...bound })
    // An update changes only the members that it contains.
    assert.equal((await save('bound', { token_num_uses: 3 })).status, 204)
    const limited = { ...base, ...bound, token_num_uses: 3 }
    assert.deepEqual((await asSuper('GET', '/auth/kubernetes/role/bound')).json.data, limited)
    assert.equal((await save('bound', { expected_issuer: '', audience: '', token_num_uses: 0 })).status, 204)
    const opened = { ...base, ...lists(['*'], ['*']) }
    assert.deepEqual((await asSuper('GET', '/auth/kubernetes/role/bound')).json.data, opened)
    assert.equal((await save('bound', bound)).status, 204)
    // Vault's name for one audience.
    const audience = { ...lists(['*'], ['*']), audience: 'warder', alias_name_source: 'serviceaccount_name' }
    assert.equal((await save('audience', { ...audience, token_policies: 'a,b' })).status, 204)
    assert.equal((await save('other', { ...audience, bound_audiences: ['warder'] })).status, 204)
    for (const refused of [
      { ...audience, bound_audiences: ['other'] },
      { ...audience, alias_name_source: 'serviceaccount_uid' },
      { ...audience, token_period: 60 },
      { ...audience, audiences: ['warder'] },
    ])
      assert.equal((await save('other', refused)).status, 400, JSON.stringify(refused))
    const exp = auth.services.now() + 300
    const sub = 'system:serviceaccount:prod:app'
    const token = (claims: Record<string, unknown> = {}) =>
      signToken(rsa.privateKey, { alg: 'RS256', kid: 'r' }, { sub, exp, ...claims })
    const login = (role: string, jwt: string, path = '/auth/orchestrator/login') =>
      auth.call('POST', path, { body: JSON.stringify({ role, jwt }) })

    const answer = await login('exact', token())
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(answer.json.auth.metadata, {
      role: 'exact',
      service_account_name: 'app',
      service_account_namespace: 'prod',
    })
    for (const [aud, status] of [
      ['warder', 200],
      ['else', 400],
      [undefined, 400],
    ] as const)
      assert.equal((await login('audience', token({ aud }))).status, status, String(aud))
    assert.deepEqual((await login('audience', token({ aud: 'warder' }))).json.auth.policies, ['a', 'b'])
    const secret = answer.json.auth.client_token
    const { data } = (await auth.call('GET', '/auth/token/lookup-self', { token: secret })).json
    assert.equal(data.entity_id, 'prod/app')
    // The same account name by a role of another realm, whose administrator chose the key set, is another
    // machine.
    const { realm } = scene(auth)
    await realm('r')
    const foreign = { ...base, ...lists(['*'], ['*']) }
    assert.equal((await asSuper('POST', '/auth/orchestrator/role/foreign?realm=r', foreign)).status, 204)
    const other = (await login('foreign', token())).json.auth.client_token
    const lookedUp = await auth.call('GET', '/auth/token/lookup-self', { token: other })
    assert.equal(lookedUp.json.data.entity_id, 'r/prod/app')
    assert.equal((await asSuper('DELETE', '/auth/orchestrator/role/foreign')).status, 204)
    for (const path of ['/auth/kubernetes/login', '/v1/auth/kubernetes/login']) {
      assert.equal((await login('wild', token(), path)).status, 200)
    }
    assert.equal((await login('bound', token({ iss: 'https://k8s', aud: ['warder'] }))).status, 200)

    for (const [role, jwt] of [
      ['exact', token({ sub: 'system:serviceaccount:prod:other' })],
      ['exact', token({ sub: 'system:serviceaccount:dev:app' })],
      ['exact', token({ sub: 'system:serviceaccount:prod:ap' })],
      ['empty', token()],
    ] as const) {
      assert.equal((await login(role, jwt)).status, 403)
    }
    const sentences = new Set<string>()
    for (const [role, jwt] of [
      ['none', token()],
      ['wild', token({ exp: auth.services.now() - 120 })],
      ['wild', token({ exp: undefined })],
      ['wild', token({ nbf: exp })],
      ['wild', token({ sub: 'system:serviceaccount:prod:app:x' })],
      ['wild', token({ sub: 'system:serviceaccount:prod:*' })],
      ['wild', token({ sub: 'system:node:prod' })],
      ['wild', signToken(p521.privateKey, { alg: 'ES512', kid: 'e' }, { sub, exp })],
      ['wild', signToken(p521.privateKey, { alg: 'ES512', kid: 'r' }, { sub, exp })],
      ['bound', token({ iss: 'https://other', aud: ['warder'] })],
      ['bound', token({ iss: 'https://k8s', aud: ['other'] })],
      ['bound', token({ iss: 'https://k8s' })],
      ['wild', 'a.b.c'],
    ] as const) {
      const refused = await login(role, jwt)
      assert.equal(refused.status, 400, `${role} ${jwt}`)
      sentences.add(refused.json.description)
    }
    assert.deepEqual([...sentences], ['The role or the token is not valid.'])
    assert.deepEqual((await asSuper('GET', '/auth/orchestrator/role?list=true')).json.data.keys, [
      'audience',
      'bound',
      'empty',
      'exact',
      'other',
      'wild',
    ])
    assert.equal((await asSuper('DELETE', '/auth/orchestrator/role/exact')).status, 204)
    assert.equal((await asSuper('DELETE', '/auth/orchestrator/role/exact')).status, 204)
    assert.equal((await auth.call('GET', '/auth/token/lookup-self', { token: secret })).status, 403)
    rmSync(folder, { recursive: true, force: true })
  })
})
