import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failure } from '@warder/base'
import { quietLog } from '@warder/base/testing'
import { type Started, startKms } from '@warder/kms/testing'
import type { IncomingRequest } from '@warder/server'
import { authenticateBy, type CascadeStep } from './cascade.ts'
import { sessionCookie } from './session-cookie.ts'

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const people = { auth_verifier_url: 'https://127.0.0.1:1', auth_verifier_realm: 'people' }
const realm = { aud: ['people'], as_rid: 'people' }
const createSession = ({ environment }: Started, name: string): string => {
  const [cookie = ''] = sessionCookie(environment, { name, realm: 'people' }).split(';')
  return cookie
}

// Specification §5 rule 1
test('the first credential that succeeds decides: a refused one before it does no harm, and is logged', async () => {
  await using kms = await startKms({ clientCertificates: true, config: people })
  const cookie = createSession(kms, 'carol')
  const stale = bearer(kms.token({ sub: 'alice', ...realm, exp: 1 }))
  const live = bearer(kms.token({ sub: 'alice', ...realm }))
  const who = async (answer: ReturnType<ReturnType<typeof kms.with>['get']>) => {
    const { status, json } = await answer
    return [status === 200 ? json.user : status, kms.audit.at(-1)?.auth_method]
  }
  assert.deepEqual(await who(kms.with({ cookie, ...stale }).get('/me')), ['carol', 'session'])
  const line = kms.log.find((one) => one.includes('another one was accepted')) ?? ''
  assert.match(line, /bearer token/)
  assert.match(line, new RegExp(kms.audit.at(-1)?.request_id ?? 'none'))
  for (const headers of [
    { cookie, ...live },
    { cookie: 'auth_session=x', ...live },
  ])
    assert.deepEqual(await who(kms.with(headers).get('/me')), ['alice', 'auth_verifier'])
  const certified = (headers: Readonly<Record<string, string>>) =>
    who(kms.certified().call('GET', '/me', { headers }))
  for (const headers of [live, stale, { cookie }, { 'x-secret-token': 'nobody-configured-it' }])
    assert.deepEqual(await certified(headers), ['kmip-client', 'tls_auth'])
  for (const headers of [
    stale,
    { cookie: 'auth_session=x', ...stale },
    { cookie: `${cookie}; auth_session=x`, ...stale },
    { cookie: `${cookie}; ${cookie}` },
  ])
    assert.deepEqual(await who(kms.with(headers).get('/me')), [401, 'none'])
})

test('an app token that cannot be looked up ends the request, whatever else it carries', async () => {
  const config = { ...people, vault_auth_verifier_url: 'https://127.0.0.1:1' }
  for (const app_tokens_by_default of [undefined, true]) {
    await using kms = await startKms({
      clientCertificates: true,
      config: { ...config, app_tokens_by_default },
    })
    const app = (token: string) =>
      kms.certified().call('GET', '/me', { headers: { 'x-secret-token': token } })
    assert.equal((await app('wt.unknown')).status, 503)
    // Malformed: nothing is looked up. It fails closed only where the operator has set where app tokens are looked up.
    assert.equal((await app('not a token')).status, app_tokens_by_default === true ? 200 : 401)
  }
})

test('a foreign page is refused whichever credential of its visitor would succeed', async () => {
  await using kms = await startKms({ config: people })
  const headers = { cookie: createSession(kms, 'carol'), origin: 'https://evil.example', ...bearer('a.b.c') }
  assert.equal((await kms.with(headers).post('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })).status, 403)
})

const request = { id: '1' } as IncomingRequest
const refuses =
  (kind: 'unauthorized' | 'overloaded', late = false) =>
  () => {
    if (late) return Promise.reject(failure(kind, undefined, { detail: `${kind} late` }))
    throw failure(kind, undefined, { detail: kind })
  }
const accepts = () => ({ name: 'alice', method: 'session' })
const ask = async (...steps: CascadeStep[]) =>
  authenticateBy({ steps, defaultUsername: 'admin', forceDefaultUsername: false, log: quietLog })(request)

test('a credential that one extractor refused is not offered to another one', async () => {
  const offered: CascadeStep = { credential: 'bearer token', extract: accepts }
  const other: CascadeStep = { credential: 'session cookie', extract: accepts }
  for (const late of [false, true]) {
    const refused: CascadeStep = { credential: 'bearer token', extract: refuses('unauthorized', late) }
    await assert.rejects(ask(refused, offered), { kind: 'unauthorized' })
    assert.equal((await ask(refused, offered, other))?.name, 'alice')
  }
})

test('what fails closed, cannot be checked, or is no failure of the caller ends the request', async () => {
  const next: CascadeStep = { credential: 'session cookie', extract: accepts }
  for (const late of [false, true]) {
    const extract = refuses('unauthorized', late)
    await assert.rejects(ask({ credential: 'app token', extract, failsClosed: true }, next), {
      kind: 'unauthorized',
    })
    await assert.rejects(ask({ credential: 'app token', extract: refuses('overloaded', late) }, next), {
      kind: 'overloaded',
    })
  }
  const broken = () => {
    throw new TypeError('broken')
  }
  await assert.rejects(ask({ credential: 'app token', extract: broken }, next), TypeError)
})

test('the reason that is given is that of the first refusal', async () => {
  await assert.rejects(
    ask(
      { credential: 'client certificate', extract: refuses('unauthorized', true) },
      { credential: 'session cookie', extract: refuses('unauthorized') },
    ),
    { detail: 'unauthorized late' },
  )
})
