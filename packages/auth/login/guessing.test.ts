import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fromBase32 } from '../base32.ts'
import { codeAt } from '../methods/totp/code.ts'
import { scene } from '../testing/scene.ts'
import { startAuth, type TestService } from '../testing/start.ts'

const start = () => startAuth({ adminPassword: 'correct horse' })
const listStatuses = (answers: readonly { readonly status: number }[]) => answers.map(({ status }) => status)

async function withUser(auth: TestService, username: string): Promise<void> {
  const { realm, user } = scene(auth)
  await realm('r')
  await user('r', username)
}

describe('guessing a password', () => {
  it('shares one counter for all variants of a name: case, blanks, NFC, NFD, full width, a %20 (A01)', async () => {
    await using auth = await start()
    await withUser(auth, 'zoë@home')
    const attempt = (name: string) => auth.call('POST', '/login?realm=r', { basic: `${name}:wrong guess` })
    const variants = ['zoë@home', 'ZOË@HOME', ' zoë@home ', 'zoe\u0308@home', 'zoë＠ｈｏｍｅ']
    for (const name of variants) assert.equal((await attempt(name)).status, 401, name)
    const encoded = ['zoë@home%20', '%20zo%C3%AB%40home', 'ZO%c3%8b@home']
    for (const name of [...variants, '\tzoë@home\u00a0', 'Zoe\u0308@Home', ...encoded]) {
      assert.equal((await attempt(name)).status, 429, JSON.stringify(name))
    }
    for (const name of ['zoë@home%', 'zoë@home%2520', 'zoë@home%ff']) {
      assert.equal((await attempt(name)).status, 401, `${name} stands for another name, or for none`)
    }
    assert.equal((await auth.call('POST', '/login?realm=r', { basic: 'zoë@home:correct horse' })).status, 429)
  })

  it('is counted by realm and name: other realms and other users do not wait', async () => {
    await using auth = await start()
    await withUser(auth, 'ann')
    const { realm, user } = scene(auth)
    await realm('s')
    await user('s', 'ann')
    await user('r', 'bob')
    const attempt = (name: string, basic: string) => auth.call('POST', `/login?realm=${name}`, { basic })
    for (let count = 0; count < 5; count++) await attempt('r', 'ann:wrong')
    assert.equal((await attempt('r', 'ann:correct horse')).status, 429)
    assert.equal((await attempt('s', 'ann:correct horse')).status, 200)
    assert.equal((await attempt('r', 'bob:correct horse')).status, 200)
  })

  it('uses the same counter for password changes', async () => {
    await using auth = await start()
    await withUser(auth, 'ann')
    const change = (basic: string) =>
      auth.call('POST', '/password?realm=r', { basic, json: { new_password: 'another horse' } })
    for (let count = 0; count < 3; count++) assert.equal((await change('ann:wrong')).status, 401)
    for (let count = 0; count < 2; count++) {
      assert.equal((await auth.call('POST', '/login?realm=r', { basic: 'ann:wrong' })).status, 401)
    }
    assert.equal((await change('ann:correct horse')).status, 429)
    assert.equal((await auth.call('POST', '/login?realm=r', { basic: 'ann:correct horse' })).status, 429)
  })

  it('does not lock out users at other addresses (A08), and ignores X-Forwarded-For (A09)', async () => {
    await using auth = await start()
    await withUser(auth, 'ann')
    const spoofs = ['10.0.0.1', '10.0.0.2, 127.0.0.1', '::1', '2001:db8::1', 'x', ' ']
    for (const spoof of spoofs.slice(0, 5)) {
      const headers = { 'x-forwarded-for': spoof, forwarded: `for=${spoof}` }
      const answer = await auth.call('POST', '/login?realm=r', { basic: 'ann:wrong', headers })
      assert.equal(answer.status, 401)
    }
    for (const spoof of spoofs) {
      const headers = { 'x-forwarded-for': spoof, 'x-real-ip': spoof }
      const answer = await auth.call('POST', '/login?realm=r', { basic: 'ann:correct horse', headers })
      assert.equal(answer.status, 429, spoof)
    }
    assert.ok(auth.events.every(({ client_ip }) => client_ip === '127.0.0.1'))
    const elsewhere = auth.clientWith({ localAddress: '127.0.0.2' })
    const own = await elsewhere.call('POST', '/login?realm=r', { basic: 'ann:correct horse' })
    assert.equal(own.status, 200, 'the user, at another address')
    assert.equal(
      (await auth.call('POST', '/login?realm=r', { basic: 'ann:wrong' })).status,
      429,
      'a success elsewhere does not reset the counter of the attacker',
    )
  })

  it('tests five of two hundred concurrent guesses, while other users log in (A07)', async () => {
    await using auth = await start()
    await withUser(auth, 'ann')
    await scene(auth).user('r', 'bob')
    const many = (basic: string, count: number) =>
      Promise.all(Array.from({ length: count }, () => auth.call('POST', '/login?realm=r', { basic })))
    const [guesses, right] = await Promise.all([many('ann:wrong', 200), many('bob:correct horse', 3)])
    const heard = guesses.filter(({ status }) => status === 401).length
    assert.ok(heard >= 5 && heard <= 10, `${heard} were heard`)
    assert.ok(guesses.every(({ status }) => [401, 429, 503].includes(status)))
    assert.deepEqual(listStatuses(right), [200, 200, 200])
  })

  it('is reset after an hour without a failure', async () => {
    await using auth = await start()
    await withUser(auth, 'ann')
    const attempt = (basic: string) => auth.call('POST', '/login?realm=r', { basic })
    for (let count = 0; count < 4; count++) assert.equal((await attempt('ann:wrong')).status, 401)
    auth.clock.advance(3700)
    for (let count = 0; count < 4; count++) assert.equal((await attempt('ann:wrong')).status, 401)
    assert.equal((await attempt('ann:correct horse')).status, 200)
  })
})

describe('guessing a TOTP code', () => {
  it('has one counter for all logins and addresses, which wrong passwords do not increase (A06)', async () => {
    await using auth = await start()
    await withUser(auth, 'ann')
    const { asSuper } = scene(auth)
    const made = await asSuper('POST', '/realms/r/totp/generate', { username: 'ann', issuer: 'x' })
    const { secret_base32: secret } = made.json
    const bytes = fromBase32(secret) ?? Buffer.alloc(0)
    const code = (offset = 0): string => codeAt(bytes, Math.floor(auth.services.now() / 30) + offset, 'SHA1')
    const verified = { username: 'ann', token: code(), secret, issuer: 'x' }
    assert.equal((await asSuper('POST', '/realms/r/totp/verify', verified)).status, 200)
    auth.clock.advance(60)
    const wrong = ['000000', '000001', '000002', '000003'].find((one) =>
      [-1, 0, 1].every((offset) => one !== code(offset)),
    )
    const from = (last: number, totp_code: string | undefined) =>
      auth
        .clientWith({ localAddress: `127.0.0.${last}` })
        .call('POST', '/login?realm=r', { basic: 'ann:correct horse', json: { totp_code } })
    for (let last = 10; last < 15; last++) assert.equal((await from(last, wrong)).status, 401)
    assert.equal((await from(15, wrong)).status, 429, 'an address that has not tried yet')
    assert.equal((await from(16, code())).status, 429)
    assert.equal((await from(16, undefined)).json.next_step, 'TotpRequired', 'a password alone is heard')
    auth.clock.advance(2)
    assert.equal((await from(17, code())).status, 200, 'and the wait is short')
  })

  it('accepts no code twice, nor in other spellings: blanks, full width, line ends (A04)', async () => {
    await using auth = await start()
    await withUser(auth, 'ann')
    const { asSuper } = scene(auth)
    const made = await asSuper('POST', '/realms/r/totp/generate', { username: 'ann' })
    const { secret_base32: secret } = made.json
    const bytes = fromBase32(secret) ?? Buffer.alloc(0)
    const code = (offset = 0): string => codeAt(bytes, Math.floor(auth.services.now() / 30) + offset, 'SHA1')
    await asSuper('POST', '/realms/r/totp/verify', { username: 'ann', token: code(-1), secret })
    const login = (totp_code: unknown) =>
      auth.call('POST', '/login?realm=r', { basic: 'ann:correct horse', json: { totp_code } })
    const used = code()
    assert.equal((await login(used)).status, 200)
    const fullWidth = [...used].map((digit) => String.fromCodePoint(0xff10 + Number(digit))).join('')
    const variants = [used, `${used} `, `${used.slice(0, 3)} ${used.slice(3)}`, fullWidth, `${used}\n`]
    for (const variant of variants) {
      const answer = await login(variant)
      assert.ok([401, 429].includes(answer.status), JSON.stringify(variant))
      assert.equal(answer.headers['set-cookie'], undefined)
    }
    assert.equal((await login(Number(used))).status, 400, 'a number is no text')
    assert.equal((await login([used])).status, 400)
  })
})
