import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fromBase32, toBase32 } from '../../base32.ts'
import { scene } from '../../testing/scene.ts'
import { startAuth } from '../../testing/start.ts'
import { codeAt, matchingStep } from './code.ts'

describe('TOTP codes', () => {
  it('are those of RFC 6238 appendix B, cut to six digits', () => {
    const seed = (length: number): Buffer => Buffer.from('1234567890'.repeat(7).slice(0, length))
    for (const [time, algorithm, length, code] of [
      [59, 'SHA1', 20, '287082'],
      [1111111109, 'SHA1', 20, '081804'],
      [20000000000, 'SHA1', 20, '353130'],
      [59, 'SHA256', 32, '119246'],
      [1234567890, 'SHA256', 32, '819424'],
      [59, 'SHA512', 64, '693936'],
      [2000000000, 'SHA512', 64, '618901'],
    ] as const) {
      assert.equal(codeAt(seed(length), Math.floor(time / 30), algorithm), code)
    }
  })

  it('match one step on either side, and only as six ASCII digits', () => {
    const secret = Buffer.alloc(20, 7)
    const params = { algorithm: 'SHA1', period: 30 } as const
    const now = 1_000_000_000
    const step = Math.floor(now / 30)
    for (const offset of [-2, -1, 0, 1, 2]) {
      const found = matchingStep(secret, codeAt(secret, step + offset, 'SHA1'), now, params)
      assert.equal(found, Math.abs(offset) < 2 ? step + offset : undefined)
    }
    const code = codeAt(secret, step, 'SHA1')
    const fullWidth = [...code].map((digit) => String.fromCodePoint(0xff10 + Number(digit))).join('')
    for (const variant of [
      `${code} `,
      ` ${code}`,
      `${code.slice(0, 3)} ${code.slice(3)}`,
      `${code}\n`,
      `0${code}`,
      code.slice(1),
      fullWidth,
      '',
    ]) {
      assert.equal(matchingStep(secret, variant, now, params), undefined, JSON.stringify(variant))
    }
  })

  it('secrets round-trip through base32, whose texts are canonical', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        assert.deepEqual(Buffer.from(fromBase32(toBase32(bytes)) ?? []), Buffer.from(bytes))
      }),
    )
    for (const text of ['A', 'AB1', 'A!', 'MZ', 'ＡＢ']) assert.equal(fromBase32(text), undefined, text)
  })
})

describe('TOTP at login', () => {
  it('is enrolled with a proof, required at logins, accepted once, and removed', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper, realm, user, admin } = scene(auth)
    await realm('r', {
      auth_params: {
        username_password_params: { allow_expired_passwords: false },
        totp_params: { algorithm: 'SHA256', step: 60 },
      },
    })
    await user('r', 'ann')
    await admin('ann', ['r'], { userpass: 'ann' })
    const made = await asSuper('POST', '/realms/r/totp/generate?realm=r', { username: 'ann', issuer: 'A b' })
    assert.equal(made.status, 200, made.text)
    const { secret_base32: secret, otpauth_url: url } = made.json
    assert.equal(
      url,
      `otpauth://totp/A%20b:ann?secret=${secret}&issuer=A%20b&algorithm=SHA256&digits=6&period=60`,
    )
    const bytes = fromBase32(secret) ?? Buffer.alloc(0)
    assert.equal(bytes.length, 20)
    const step = (): number => Math.floor(auth.services.now() / 60)
    const code = (offset = 0): string => codeAt(bytes, step() + offset, 'SHA256')
    const verify = (token: string, members: Record<string, unknown> = {}) =>
      asSuper('POST', '/realms/r/totp/verify?realm=r', {
        username: 'ann',
        token,
        secret,
        issuer: 'x',
        ...members,
      })
    const wrongCode = code() === '000000' ? '000001' : '000000'
    assert.equal((await verify(wrongCode)).status, 400)
    for (const bad of ['', 'not base32!', 'ABCDEFGH', 'A'.repeat(200)]) {
      assert.equal((await verify(code(), { secret: bad })).status, 400, bad)
    }
    assert.equal((await verify(code(), { username: 'nobody' })).status, 404)
    assert.equal((await asSuper('POST', '/realms/none/totp/generate', { username: 'ann' })).status, 404)
    const login = (totp_code?: unknown) =>
      auth.call('POST', '/login?realm=r', { basic: 'ann:correct horse', json: { totp_code } })
    assert.equal((await login()).json.next_step, 'Authenticated', 'nothing is active yet')
    const enrolled = await verify(code(-1))
    assert.equal(enrolled.status, 200)
    assert.equal(enrolled.text, '')
    const shown = (await asSuper('GET', '/admins/ann')).json
    assert.deepEqual([shown.totp_enabled, shown.totp_secret, shown.totp_auth_url], [true, null, null])
    const listed = (await asSuper('GET', '/admins')).json as { id: string; totp_enabled: boolean }[]
    assert.deepEqual(
      listed.map(({ id, totp_enabled }) => [id, totp_enabled]),
      [
        ['admin', false],
        ['ann', true],
      ],
    )

    for (const none of [undefined, null]) {
      assert.deepEqual((await login(none)).json, { next_step: 'TotpRequired', session_id: null })
    }
    assert.equal((await login(wrongCode)).status, 401)
    assert.equal((await login(code(-1))).status, 401, 'the step that enrolled is used up')
    assert.equal(
      (await auth.call('POST', '/login?realm=r', { basic: 'ann:bad', json: { totp_code: code() } })).status,
      401,
    )
    // Parallel uses of one code: one session (A05).
    const race = await Promise.all(Array.from({ length: 8 }, () => login(code())))
    assert.equal(race.filter(({ json }) => json.next_step === 'Authenticated').length, 1)
    auth.clock.advance(1200)
    assert.equal((await login(code())).status, 200)
    assert.equal((await login(code())).status, 401)

    // Changing the own password requires a code, too.
    const change = (totp_code?: string) =>
      auth.call('POST', '/password?realm=r', {
        basic: 'ann:correct horse',
        json: { new_password: 'another horse', totp_code },
      })
    assert.equal((await change()).status, 401)
    auth.clock.advance(120)
    assert.equal((await change(code())).status, 204)
    assert.equal((await asSuper('DELETE', '/realms/r/totp/ann?realm=r')).status, 200)
    assert.equal((await asSuper('DELETE', '/realms/r/totp/ann?realm=r')).status, 200)
    await auth.logIn('r', 'ann:another horse')
    assert.ok(!JSON.stringify(auth.events).includes(secret))
  })

  it('supports an issuer with a colon, as apps parse a Key URI', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { asSuper, realm } = scene(auth)
    const idp_params = [{ jwt_issuer_uri: 'https://idp.example', jwks_uri: 'https://idp.example/keys' }]
    await realm('r', { auth_params: { username_password_params: null, jwt_params: { idp_params } } })
    const assigned = { jwt_issuer_uri: 'https://idp.example' }
    for (const name of ['ann', 'a:b'])
      assert.ok(
        (await asSuper('PUT', `/realms/r/jwt-subjects/${encodeURIComponent(name)}`, assigned)).status < 300,
      )
    /** The issuer that apps show: the parameter, else the text before the first colon of the decoded label. */
    const shown = async (username: string, issuer: string) => {
      const made = await asSuper('POST', '/realms/r/totp/generate', { username, issuer })
      assert.equal(made.status, 200, made.text)
      const url = new URL(made.json.otpauth_url)
      const [, before, account = ''] = /^\/(?:([^:]*):)?(.*)$/s.exec(decodeURIComponent(url.pathname)) ?? []
      return [before, url.searchParams.get('issuer'), account]
    }
    assert.deepEqual(await shown('ann', 'Acme: Shop'), [undefined, 'Acme: Shop', 'ann'])
    assert.deepEqual(await shown('ann', 'Acme'), ['Acme', 'Acme', 'ann'])
    assert.deepEqual(await shown('a:b', 'Acme'), ['Acme', 'Acme', 'a:b'])
    assert.deepEqual(await shown('a:b', 'Acme: Shop'), ['Acme Shop', 'Acme: Shop', 'a:b'])
  })
})
