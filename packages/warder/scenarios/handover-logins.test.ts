import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { peerSecret, scene, startAuth } from '@warder/auth/testing'
import { Secret } from '@warder/base'
import { type Answer, type Started, startKms } from '@warder/kms/testing'
import { startSharedInstallation } from '../testing/installation.ts'
import { until } from '../testing/until.ts'

/** Both services in this process, with one clock. */
async function startTogether(config: object = {}, secret: string | null = peerSecret) {
  await using opened = new AsyncDisposableStack()
  const auth = opened.use(await startAuth({ adminPassword: 'correct horse' }))
  const caFile = join(auth.home, 'ca.pem')
  writeFileSync(caFile, auth.authority.certificatePem)
  const kms = opened.use(
    await startKms({
      clock: auth.clock,
      ...(secret !== null && { peerSecret: Secret.fromText(secret) }),
      config: {
        auth_verifier_url: `https://127.0.0.1:${auth.port}`,
        auth_verifier_ca_cert: caFile,
        auth_public_url: 'https://auth.example',
        kms_public_url: 'https://kms.example',
        // Nothing follows the feed here.
        auth_feed_when_lost: 'accept',
        role_sources: ['staff,session,r'],
        ...config,
      },
    }),
  )
  const { realm, user, logIn, as } = scene(auth)
  await realm('r')
  await user('r', 'ann', { roles: ['auditor'] })
  await user('r', 'mallory')
  const running = opened.move()
  return { auth, kms, logIn, as, [Symbol.asyncDispose]: () => running.disposeAsync() }
}

type Both = Awaited<ReturnType<typeof startTogether>>

/** Cookies of a browser at the kms. */
class Browser {
  readonly jar = new Map<string, string>()
  readonly #kms: Pick<Started, 'with'>

  constructor(kms: Pick<Started, 'with'>) {
    this.#kms = kms
  }

  async go(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const cookie = [...this.jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await this.#kms.with({ ...headers, ...(cookie !== '' && { cookie }) }).get(path)
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/Max-Age=0/.test(line)) this.jar.delete(name)
      else this.jar.set(name, value)
    }
    return answer
  }
}

/** What the page of auth does with the session of its user. @returns the path at the kms to which it goes */
async function give(
  { as }: Both,
  sent: Answer,
  session: string,
  origin = 'https://kms.example',
): Promise<string> {
  assert.equal(sent.status, 302, sent.text)
  const page = new URL(String(sent.headers.location))
  assert.equal(`${page.origin}${page.pathname}`, 'https://auth.example/ui/handover')
  const request = page.searchParams.get('request')
  const given = await as(session, 'POST', '/account/handover', { request })
  assert.equal(given.status, 200, given.text)
  const back = new URL(given.json.location)
  assert.equal(`${back.origin}${back.pathname}`, `${origin}/ui/handover_callback`)
  return `${back.pathname}${back.search}`
}

const login = (to?: string): string =>
  `/ui/login_handover${to === undefined ? '' : `?to=${encodeURIComponent(to)}`}`

test('a session of auth becomes one of the page, for the browser that began, and once', async () => {
  await using both = await startTogether()
  const { kms, logIn } = both
  const session = await logIn('r', 'ann')
  const one = new Browser(kms)
  const back = await give(both, await one.go(login('/ui/keys/a?tab=uses#dates')), session)
  const kept = one.jar.get('auth_handover') ?? ''
  const done = await one.go(back)
  assert.deepEqual([done.status, done.headers.location], [302, '/ui/keys/a?tab=uses#dates'], done.text)
  assert.match(String(done.headers['set-cookie']), /auth_session=[^;]+;.*Max-Age=(?:3600|3599)\b/)
  assert.deepEqual([...one.jar.keys()], ['auth_session'])
  const { until: end, ...me } = (await one.go('/me')).json
  assert.deepEqual(me, { user: 'r/ann', roles: ['role:staff/auditor'] })
  const exp = (await both.as(session, 'GET', '/whoami?realm=r')).json.exp * 1000
  assert.ok(Math.abs(Date.parse(end) - exp) <= 1000, 'the end of the session at auth')
  assert.ok(!kms.log.join('').includes(session) && !JSON.stringify(kms.audit).includes(session))
  assert.equal((await one.go(back)).status, 401, 'the cookie of the login is gone')
  one.jar.set('auth_handover', kept)
  assert.equal((await one.go(back)).status, 401, 'the code was used')
  const next = new Browser(kms)
  const to = await give(both, await next.go(login()), session)
  assert.equal((await next.go(to)).headers.location, '/ui/')
})

test("another browser's callback begins no session, whatever that browser has begun itself", async () => {
  await using both = await startTogether()
  const { kms, logIn } = both
  const [mallory, victim] = [new Browser(kms), new Browser(kms)]
  const [hers, own] = [await logIn('r', 'mallory'), await logIn('r', 'ann')]
  const attack = await give(both, await mallory.go(login()), hers)
  assert.equal((await victim.go(attack)).status, 401, 'session fixation')
  assert.equal(victim.jar.size, 0)
  const begun = await victim.go(login())
  assert.equal((await victim.go(attack)).status, 401, 'beside a login of its own')
  const back = await give(both, begun, own)
  const [code, state] = ['code', 'state'].map((name) =>
    new URLSearchParams(back.slice(back.indexOf('?'))).get(name),
  )
  assert.equal((await victim.go(attack.replace(/state=[^&]+/, `state=${state}`))).status, 401, 'her code')
  assert.equal((await mallory.go(attack.replace(/code=[^&]+/, `code=${code}`))).status, 401, 'a stolen code')
  for (const [path, status] of [
    [back.replace(/code=[^&]+&/, ''), 401],
    [back.replace(/state=[^&]+&/, ''), 401],
    [back.replace(/&realm=r$/, ''), 401],
    [back.replace(/&realm=r$/, '&realm=s'), 401],
    [back.replace(/&realm=r$/, '&realm=..%2Fr'), 401],
    [`${back}&state=${state}`, 400],
    [`${back}&to=/ui/x`, 400],
  ] as const)
    assert.equal((await victim.go(path)).status, status, path)
  const right = victim.jar.get('auth_handover') ?? ''
  victim.jar.set('auth_handover', `${right.slice(0, -4)}AAAA`)
  assert.equal((await victim.go(back)).status, 401, 'a cookie that was not sealed here')
  victim.jar.set('auth_handover', `${right}; auth_handover=${right}`)
  assert.equal((await victim.go(back)).status, 401, 'two cookies')
  victim.jar.set('auth_handover', right)
  assert.equal((await victim.go(back)).status, 302)
  assert.equal((await victim.go('/me')).json.user, 'r/ann')
  const again = await mallory.go(login())
  const replayed = (await give(both, again, hers)).replace(
    /state=[^&]+/,
    /state=[^&]+/.exec(attack)?.[0] ?? '',
  )
  assert.equal((await mallory.go(replayed)).status, 401, 'the state of an earlier login')
})

test('a refused login leads browsers to the login of the console, which says why, and programs get JSON', async () => {
  await using both = await startTogether({ auth_verifier_realm: '_', role_sources: [] })
  const { auth, kms, logIn } = both
  const html = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' }
  const one = new Browser(kms)
  const assertProblem = async (path: string, status: number, problem: string, from = one): Promise<void> => {
    const shown = await from.go(path, html)
    const label = `${problem}: ${shown.text}`
    assert.deepEqual([shown.status, shown.headers.vary], [status, 'Accept'], label)
    assert.match(String(shown.headers['content-type']), /^text\/html/, label)
    assert.match(String(shown.headers['content-security-policy']), /^default-src 'none'/)
    const targets = [...shown.text.matchAll(/(?:url=|href=")([^"]+)"/g)].map(([, target]) => target)
    assert.deepEqual(targets, Array(2).fill(`/ui/login?problem=${problem}`))
    // The page is the same, whatever the request contains.
    for (const value of new URLSearchParams(path.split('?')[1]).values())
      if (value.length > 1) assert.ok(!shown.text.includes(value), label)
    const program = await from.go(path)
    assert.deepEqual([program.status, program.headers.location], [status, undefined])
    assert.equal(typeof program.json.error, 'string')
  }
  const hostile = encodeURIComponent('"><script>alert(1)</script>')
  await assertProblem(`/ui/handover_callback?code=${hostile}&state=${hostile}&realm=_`, 401, 'not_started')
  await assertProblem('/ui/login_handover?to=https://evil.example/', 400, 'address')
  await assertProblem('/ui/login_saml?realm=_', 404, 'not_configured')
  const refused = await give(both, await one.go(login()), await logIn('r', 'ann'))
  await assertProblem(refused, 403, 'realm')
  const started = await one.go(login())
  const admin = await auth.superCookie()
  const back = await give(both, started, admin)
  await assertProblem(back.replace(/state=[^&]+/, `state=${hostile}`), 401, 'other_login')
  await assertProblem(back.replace(/code=[^&]+/, `code=${'A'.repeat(43)}`), 401, 'refused')
  await assertProblem(back, 401, 'not_started', new Browser(kms))
  auth.faults.database = true
  await assertProblem(back, 503, 'unavailable')
  auth.faults.database = false
  const cookie = one.jar.get('auth_handover') ?? ''
  auth.clock.advance(660)
  one.jar.set('auth_handover', cookie)
  await assertProblem(back, 401, 'expired')
  assert.equal((await one.go(back)).json.problem, 'expired', 'programs get it, too')
  const records = kms.audit.filter(({ operation }) => operation === 'ui.handover_callback')
  assert.ok(records.length > 8 && records.every(({ outcome }) => outcome === 'failure'))
})

test('only paths of the page are accepted as the address after the login', async () => {
  await using both = await startTogether()
  const one = new Browser(both.kms)
  const foreign = [
    '//evil.example',
    '/\\evil.example',
    'https://evil.example/ui/',
    'https:/ui/',
    'javascript:x',
  ]
  const outside = ['', '/', '/ui', '/uix/', 'ui/', '/me', '/ui/../me', '/ui/./../../me', '/ui/x/..', '/ui/.']
  const hidden = [
    '/ui//evil.example',
    '/ui/\\evil',
    '/ui/\t/x',
    '/ui/x\r\nSet-Cookie: a=b',
    '/ui/\u0000',
    '/ui/ü',
  ]
  const encoded = [
    '%2f%2fevil',
    '/%2fevil',
    '/ui/%2e%2e/x',
    '/ui/%2E./x',
    '/ui/..%2fx',
    '/ui/%2fevil',
    '/ui/%5cevil',
  ]
  const broken = [
    '/ui/%0d%0ax',
    '/ui/%00',
    '/ui/%',
    '/ui/%ff',
    `/ui/${'x'.repeat(509)}`,
    ' /ui/',
    '/ui/?a=//evil',
  ]
  for (const to of [...foreign, ...outside, ...hidden, ...encoded, ...broken]) {
    const answer = await one.go(login(to))
    assert.deepEqual([answer.status, answer.headers.location], [400, undefined], JSON.stringify(to))
  }
  assert.equal((await one.go(`${login('/ui/a')}&to=%2Fui%2Fb`)).status, 400, 'two')
  assert.equal(one.jar.size, 0)
  for (const to of ['/ui/', '/ui/keys/a%2Fb', '/ui/keys/hsm%3A%3Aone', `/ui/${'x'.repeat(508)}`])
    assert.equal((await one.go(login(to))).status, 302, to)
})

test('a login that takes too long is refused, by either service', async () => {
  await using both = await startTogether()
  const { auth, kms, logIn, as } = both
  const one = new Browser(kms)
  const sent = await one.go(login())
  const late = await give(both, sent, await logIn('r', 'ann'))
  auth.clock.advance(61)
  assert.equal((await one.go(late)).status, 401, 'a code of a minute ago')
  const waiting = await one.go(login())
  auth.clock.advance(601)
  const request = new URL(String(waiting.headers.location)).searchParams.get('request')
  const refused = await as(await logIn('r', 'ann'), 'POST', '/account/handover', { request })
  assert.equal(refused.status, 400, refused.text)
  const begun = await one.go(login())
  const cookie = one.jar.get('auth_handover') ?? ''
  const back = await give(both, begun, await logIn('r', 'ann'))
  auth.clock.advance(660)
  one.jar.set('auth_handover', cookie)
  assert.equal((await one.go(back)).status, 401)
  assert.match(kms.log.at(-1) ?? '', /the login has expired/)
})

test('a session that ends in the middle is not handed over', async () => {
  await using both = await startTogether()
  const { auth, kms, logIn } = both
  const one = new Browser(kms)
  const session = await logIn('r', 'ann')
  const back = await give(both, await one.go(login()), session)
  assert.equal((await auth.call('POST', '/logout', { cookie: session })).status, 204)
  assert.equal((await one.go(back)).status, 401)
  assert.deepEqual([...one.jar.keys()], ['auth_handover'])
})

test('a session of a realm that the kms does not accept is refused, with the reason', async () => {
  await using both = await startTogether({ auth_verifier_realm: '_', role_sources: [] })
  const { kms, logIn, auth } = both
  const one = new Browser(kms)
  const refused = await one.go(await give(both, await one.go(login()), await logIn('r', 'ann')))
  assert.equal(refused.status, 403)
  assert.match(refused.text, /this service accepts another realm/)
  const lied = await give(both, await one.go(login()), await logIn('r', 'ann'))
  assert.equal((await one.go(lied.replace(/realm=r$/, 'realm=_'))).status, 401, 'its code is of its realm')
  const admin = await give(both, await one.go(login()), await auth.superCookie())
  assert.equal((await one.go(admin)).status, 302)
  assert.equal((await one.go('/me')).json.user, 'admin')
})

test('without an authentication service that responds the reply says what to do', async () => {
  await using both = await startTogether()
  const { auth, kms, logIn } = both
  const one = new Browser(kms)
  const back = await give(both, await one.go(login()), await logIn('r', 'ann'))
  auth.faults.database = true
  const away = await one.go(back)
  assert.deepEqual([away.status, away.json.error], [503, 'auth_unavailable'])
  assert.match(away.json.description, /wait and try again. If that does not help, start it/)
  auth.faults.database = false
  assert.equal((await one.go(back)).status, 302, 'the same address works later')
  await using alone = await startTogether({ auth_verifier_url: 'https://127.0.0.1:1' })
  const { status, json } = await new Browser(alone.kms).go(login())
  assert.deepEqual([status, json.error], [503, 'auth_unavailable'])
})

test('a browser returns to the name by which it reaches the kms, if that is one of this machine', async () => {
  await using both = await startTogether({ kms_public_url: undefined })
  const session = await both.logIn('r', 'ann')
  for (const [host, origin] of [
    ['localhost', 'https://localhost'],
    ['127.0.0.1', 'https://127.0.0.1'],
    ['LOCALHOST', 'https://localhost'],
    ['[::1]', 'https://[::1]'],
    ['evil.example', 'https://localhost'],
    ['localhost.evil.example', 'https://localhost'],
    ['127.0.0.1:8443', 'https://localhost'],
  ] as const)
    await give(both, await new Browser(both.kms).go(login(), { host }), session, origin)
})

test('without a shared secret, or with another one, no browser is sent away', async () => {
  {
    await using both = await startTogether({}, null)
    for (const path of [login(), '/ui/handover_callback?code=a&state=b&realm=c']) {
      const { status, text } = await new Browser(both.kms).go(path)
      assert.equal(status, 404, path)
      assert.match(text, /set auth_verifier_url, and the same WARDER_PEER_SECRET for both services/)
    }
  }
  await using other = await startTogether({}, 'the secret of another installation')
  assert.equal((await new Browser(other.kms).go(login())).status, 503)
  assert.match(other.kms.log.join('\n'), /both services need the same WARDER_PEER_SECRET/)
})

function readAuthority(file: string) {
  const certificate = new X509Certificate(readFileSync(file))
  return { pem: certificate.toString(), sha256: certificate.fingerprint256 }
}

test('what starts together hands sessions over, which end at both with one logout', async () => {
  const warder = await startSharedInstallation()
  const [auth, kms] = [warder.client('auth'), warder.client('kms')]
  const port = { auth: new URL(warder.authUrl).port, kms: new URL(warder.kmsUrl).port }
  const logIn = async (host: string) => {
    const session = `_ea_=${await warder.adminToken()}`
    const begun = await kms.ask('/ui/login_handover?to=/ui/keys', { headers: { host } })
    assert.equal(begun.status, 302, begun.text)
    const page = new URL(String(begun.headers.location))
    assert.equal(page.origin, `https://localhost:${port.auth}`)
    const request = page.searchParams.get('request')
    const given = await auth.ask('/account/handover', { json: { request }, headers: { cookie: session } })
    const { location } = JSON.parse(given.text) as { location: string }
    assert.ok(location.startsWith(`https://${host}/ui/handover_callback?`), location)
    const [cookie] = String(begun.headers['set-cookie']).split(';')
    const done = await kms.ask(location.slice(`https://${host}`.length), {
      headers: { cookie: cookie ?? '' },
    })
    assert.equal(done.headers.location, '/ui/keys', done.text)
    return { session, page: { cookie: String([done.headers['set-cookie']].flat()[0]).split(';')[0] ?? '' } }
  }
  const info = async (one: typeof auth) =>
    JSON.parse((await one.ask('/ui/info')).text) as Record<string, unknown>
  const isIn = async (headers: { cookie: string }) => (await kms.ask('/me', { headers })).status === 200
  const atAuth = async (cookie: string) => (await auth.ask('/whoami', { headers: { cookie } })).status
  try {
    const { pem, sha256 } = readAuthority(warder.caFile)
    const welcome =
      warder
        .output()
        .split('\n')
        .find((line) => line.includes('Warder is running.')) ?? '{}'
    const [address, trust = ''] = (JSON.parse(welcome) as { console: readonly string[] }).console
    assert.equal(address, `Console: https://localhost:${port.kms}/ui/`)
    assert.ok(trust.includes(warder.caFile) && trust.includes(sha256), trust)
    const [ofAuth, ofKms] = [await info(auth), await info(kms)]
    const toKms = { service: 'kms', url: `https://localhost:${port.kms}` }
    const toAuth = { service: 'auth', url: `https://localhost:${port.auth}` }
    assert.deepEqual([ofAuth.other, ofAuth.authority_sha256], [toKms, sha256])
    assert.deepEqual([ofKms.other, ofKms.authority_sha256], [toAuth, sha256])
    assert.deepEqual(ofKms.ways, ['handover', 'password', 'saml'])
    for (const one of [auth, kms]) assert.equal((await one.ask('/ui/authority.crt')).text, pem)
    const [one, other] = [await logIn(`localhost:${port.kms}`), await logIn(`127.0.0.1:${port.kms}`)]
    assert.deepEqual([await isIn(one.page), await isIn(other.page)], [true, true])
    const left = await kms.ask('/ui/logout', { method: 'POST', headers: one.page })
    assert.equal(left.status, 204, left.text)
    assert.deepEqual([await isIn(one.page), await atAuth(one.session)], [false, 401])
    assert.deepEqual([await isIn(other.page), await atAuth(other.session)], [true, 200])
    const ended = await auth.ask('/logout', { method: 'POST', headers: { cookie: other.session } })
    assert.equal(ended.status, 204, ended.text)
    await until('the kms knows of it', async () => !(await isIn(other.page)))
  } finally {
    auth.close()
    kms.close()
  }
})
