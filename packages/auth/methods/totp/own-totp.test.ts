import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fromBase32 } from '../../base32.ts'
import { scene } from '../../testing/scene.ts'
import { readCookie, startAuth, type TestService } from '../../testing/start.ts'
import { codeAt } from './code.ts'

interface Options {
  readonly secret_base32: string
  readonly enrollment: string
}

/** The code of an app at the moment, or some steps from it. */
const computeCode = (auth: TestService, { secret_base32: secret }: Options, offset = 0): string =>
  codeAt(fromBase32(secret) ?? Buffer.alloc(0), Math.floor(auth.services.now() / 30) + offset, 'SHA1')

/** A service with a realm `r` and users `ann` and `ben`. */
async function start() {
  const auth = await startAuth({ adminPassword: 'correct horse' })
  const made = scene(auth)
  await made.realm('r')
  for (const name of ['ann', 'ben']) await made.user('r', name)
  const login = (json: object = {}, name = 'ann') =>
    auth.call('POST', '/login?realm=r', { basic: `${name}:correct horse`, json })
  const enroll = async (cookie: string) => {
    const options = (await made.as(cookie, 'POST', '/account/totp/options')).json as Options
    const json = { enrollment: options.enrollment, code: computeCode(auth, options) }
    const answer = await made.as(cookie, 'POST', '/account/totp', json)
    assert.equal(answer.status, 200, answer.text)
    return { options, codes: answer.json.recovery_codes as string[] }
  }
  return { auth, ...made, login, enroll, [Symbol.asyncDispose]: () => auth[Symbol.asyncDispose]() }
}

describe('a user enrolls TOTP', () => {
  it('with a session of their own, confirmed by a code, and removes it', async () => {
    await using test = await start()
    const { auth, as, logIn, login } = test
    const cookie = await logIn('r', 'ann')
    const options = await as(cookie, 'POST', '/account/totp/options')
    assert.equal(options.status, 200, options.text)
    assert.equal(options.headers['cache-control'], 'no-store')
    assert.match(options.json.otpauth_url, /^otpauth:\/\/totp\/r:ann\?secret=[A-Z2-7]{32}&issuer=r&/)
    const confirm = (code: string, by = cookie, enrollment = options.json.enrollment) =>
      as(by, 'POST', '/account/totp', { enrollment, code })
    const wrong = computeCode(auth, options.json) === '000000' ? '000001' : '000000'
    assert.equal((await confirm(wrong)).status, 400)
    assert.equal((await login()).json.next_step, 'Authenticated', 'nothing is stored before the code')
    const code = computeCode(auth, options.json)
    for (const by of [await logIn('r', 'ben'), await logIn('r', 'ann')])
      assert.equal((await confirm(code, by)).status, 400, 'the enrollment of another session')
    assert.equal((await confirm(code, cookie, 'AAAA')).status, 400)
    const enrolled = await confirm(code)
    assert.equal(enrolled.status, 200, enrolled.text)
    assert.equal(new Set(enrolled.json.recovery_codes).size, 10)
    const asked = await login()
    assert.deepEqual(asked.json, { next_step: 'TotpRequired', session_id: null })
    assert.equal((await login({ totp_code: code })).status, 401, 'the confirming code is used')
    assert.equal(
      (await login({ totp_code: computeCode(auth, options.json, 1) })).json.next_step,
      'Authenticated',
    )
    const text = JSON.stringify(auth.events)
    for (const secret of [
      options.json.secret_base32,
      options.json.enrollment,
      ...enrolled.json.recovery_codes,
    ])
      assert.ok(!text.includes(secret), 'no secret is in the audit log')
    assert.equal((await as(cookie, 'DELETE', '/account/totp')).status, 204)
    assert.equal((await login()).json.next_step, 'Authenticated')
    const left = await as(cookie, 'GET', '/account')
    assert.deepEqual([left.json.totp, left.json.recovery_codes], [false, 0])
    auth.clock.advance(300)
    await as(cookie, 'GET', '/whoami')
    auth.clock.advance(300)
    assert.equal((await confirm(computeCode(auth, options.json))).status, 400, 'after ten minutes')
  })

  it('not with an old session, nor as a user of a certificate', async () => {
    await using test = await start()
    const { auth, as, logIn } = test
    const cookie = await logIn('r', 'ann')
    auth.clock.advance(550)
    await as(cookie, 'GET', '/whoami')
    auth.clock.advance(350)
    for (const path of ['/account/totp/options', '/account/recovery-codes'])
      assert.equal((await as(cookie, 'POST', path)).status, 403, path)
    assert.equal((await as(cookie, 'DELETE', '/account/totp')).status, 403)
  })
})

describe('a recovery code', () => {
  it('replaces a code once, in any spelling, and is counted', async () => {
    await using test = await start()
    const { auth, as, logIn, login, enroll } = test
    const cookie = await logIn('r', 'ann')
    const { codes } = await enroll(cookie)
    const [first = '', second = '', third = ''] = codes
    assert.match(first, /^(?:[a-z2-7]{5}-){5}[a-z2-7]$/)
    assert.equal((await login({ totp_code: first })).json.next_step, 'Authenticated')
    assert.equal((await login({ totp_code: first })).status, 401)
    assert.equal(auth.events.at(-1)?.reason, 'wrong_recovery_code')
    auth.clock.advance(5)
    const spelled = second.toUpperCase().replaceAll('-', ' ')
    assert.equal((await login({ totp_code: spelled })).json.next_step, 'Authenticated')
    assert.equal((await as(cookie, 'GET', '/account')).json.recovery_codes, 8)
    assert.equal((await login({ totp_code: third }, 'ben')).json.next_step, 'Authenticated', 'ben needs none')
    await enroll(await logIn('r', 'ben'))
    assert.equal((await login({ totp_code: third }, 'ben')).status, 401, 'of another user')
    const change = { basic: 'ann:correct horse', json: { new_password: 'a longer secret', totp_code: third } }
    assert.equal((await auth.call('POST', '/password?realm=r', change)).status, 204)
  })

  it('that arrives in many logins at once lets one of them in', async () => {
    await using test = await start()
    const { auth, logIn, login, enroll } = test
    const { codes } = await enroll(await logIn('r', 'ann'))
    const begun = () => auth.counted.get('auth_sessions_total{event="begun"}') ?? 0
    const before = begun()
    const answers = await Promise.all(Array.from({ length: 5 }, () => login({ totp_code: codes[0] })))
    assert.equal(answers.filter(({ json }) => json.next_step === 'Authenticated').length, 1)
    assert.ok(answers.every(({ status }) => [200, 401, 429].includes(status)))
    assert.equal(begun() - before, 1)
  })

  it('ends when the user renews the codes, which needs a second factor', async () => {
    await using test = await start()
    const { as, logIn, login, enroll } = test
    const cookie = await logIn('r', 'ann')
    assert.equal((await as(cookie, 'POST', '/account/recovery-codes')).status, 409)
    const { codes } = await enroll(cookie)
    const renewed = await as(cookie, 'POST', '/account/recovery-codes')
    assert.deepEqual([renewed.status, renewed.json.recovery_codes.length], [200, 10])
    assert.equal((await login({ totp_code: codes[0] })).status, 401)
    assert.equal((await login({ totp_code: renewed.json.recovery_codes[0] })).status, 200)
  })

  it('is counted with the failures of codes when it is wrong', async () => {
    await using test = await start()
    const { logIn, login, enroll } = test
    await enroll(await logIn('r', 'ann'))
    const guess = () => login({ totp_code: 'aaaaa-aaaaa-aaaaa-aaaaa-aaaaa-a' })
    for (let count = 0; count < 5; count++) assert.equal((await guess()).status, 401)
    assert.equal((await guess()).status, 429)
  })
})

describe('a one-time link', () => {
  const link = '/realms/r/totp/ann/link'

  it('enrolls its user once, and shows the administrator no secret', async () => {
    await using test = await start()
    const { auth, asSuper, login, logIn } = test
    const made = await asSuper('POST', link)
    assert.deepEqual([made.status, Object.keys(made.json).sort()], [201, ['expires_at', 'token']], made.text)
    const { token } = made.json
    const begin = () => auth.call('POST', '/totp/enroll/options', { json: { token } })
    const options = await begin()
    assert.deepEqual([options.status, options.json.realm_id, options.json.username], [200, 'r', 'ann'])
    assert.equal(options.headers['cache-control'], 'no-store')
    const finish = (given: Options, code = computeCode(auth, given)) =>
      auth.call('POST', '/totp/enroll', { json: { token, enrollment: given.enrollment, code } })
    assert.equal((await finish(options.json, '000000x')).status, 400)
    const several = await Promise.all([1, 2, 3].map(begin))
    const answers = await Promise.all(several.map(({ json }) => finish(json)))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401])
    assert.equal((await begin()).status, 401)
    assert.equal((await finish(options.json)).status, 401)
    const codes = answers.find(({ status }) => status === 200)?.json.recovery_codes
    assert.equal((await login()).json.next_step, 'TotpRequired')
    assert.equal((await login({ totp_code: codes[0] })).json.next_step, 'Authenticated')
    assert.ok(!JSON.stringify(auth.events).includes(token), 'the audit log does not contain the link')
    await logIn('r', 'ben')
  })

  it('is refused when it has expired, was replaced, is of a deleted user, or is not one', async () => {
    await using test = await start()
    const { auth, asSuper, user } = test
    const issue = async (json: object = {}) => (await asSuper('POST', link, json)).json.token as string
    const begin = (token: string) => auth.call('POST', '/totp/enroll/options', { json: { token } })
    const first = await issue()
    const second = await issue({ expires_in_seconds: 60 })
    assert.equal((await begin(first)).status, 401)
    assert.equal((await begin(second)).status, 200)
    auth.clock.advance(60)
    assert.equal((await begin(second)).status, 401)
    const third = await issue()
    await asSuper('DELETE', '/realms/r/userpass/ann')
    await user('r', 'ann')
    assert.equal((await begin(third)).status, 401)
    assert.equal((await begin('A'.repeat(43))).status, 401)
    assert.equal((await begin('short')).status, 400)
    for (const json of [{ expires_in_seconds: 59 }, { expires_in_seconds: 604_801 }])
      assert.equal((await asSuper('POST', link, json)).status, 400)
    assert.equal((await asSuper('POST', '/realms/r/totp/nobody/link')).status, 404)
  })

  it('does not enroll with the secret of a session, or of another link', async () => {
    await using test = await start()
    const { auth, as, asSuper, logIn } = test
    const { token } = (await asSuper('POST', link)).json
    const other = (await asSuper('POST', '/realms/r/totp/ben/link')).json.token
    const ofSession = (await as(await logIn('r', 'ann'), 'POST', '/account/totp/options')).json
    const ofOther = (await auth.call('POST', '/totp/enroll/options', { json: { token: other } })).json
    for (const options of [ofSession, ofOther]) {
      const json = { token, enrollment: options.enrollment, code: computeCode(auth, options) }
      assert.equal((await auth.call('POST', '/totp/enroll', { json })).status, 400)
    }
  })

  it('is made by administrators of the realm alone', async () => {
    await using test = await start()
    const { as, realm, user, admin, logIn } = test
    await realm('s')
    await user('s', 'chief')
    await user('r', 'chief')
    await admin('chief of s', ['s'], { userpass: 'chief' })
    await admin('chief of r', ['r'], { userpass: 'ben' })
    assert.equal((await as(await logIn('s', 'chief'), 'POST', link)).status, 403)
    assert.equal((await as(await logIn('r', 'chief'), 'POST', link)).status, 403)
    assert.equal((await as(await logIn('r', 'ben'), 'POST', link)).status, 201)
  })
})

it('a session that began before a second login is another one (session fixation)', async () => {
  await using test = await start()
  const { auth, as, logIn } = test
  const fixed = await logIn('r', 'ben')
  const answer = await auth.call('POST', '/login?realm=r', { basic: 'ann:correct horse', cookie: fixed })
  const own = readCookie(answer)
  assert.notEqual(own, fixed)
  assert.equal((await as(fixed, 'GET', '/whoami')).json.sub, 'ben')
  assert.equal((await as(own, 'GET', '/whoami')).json.sub, 'ann')
})
