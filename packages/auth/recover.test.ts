import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fromBase32 } from './base32.ts'
import { codeAt } from './methods/totp/code.ts'
import { recoverAdmin } from './recover.ts'
import { scene } from './testing/scene.ts'
import { startAuth, type TestService } from './testing/start.ts'

const period = 30

/** Enrolls the administrator of a fresh installation for TOTP; passwords that must be changed open no session. */
async function enrolled(auth: TestService) {
  const { asSuper } = scene(auth)
  const { json: realm } = await asSuper('GET', '/admins/realms/_')
  const auth_params = { ...realm.auth_params, username_password_params: { allow_expired_passwords: false } }
  const strict = await asSuper('PUT', '/admins/realms/_', { ...realm, auth_params })
  assert.equal(strict.status, 200, strict.text)
  const made = await asSuper('POST', '/realms/_/totp/generate?realm=_', { username: 'admin', issuer: 'w' })
  const secret = fromBase32(made.json.secret_base32) ?? Buffer.alloc(0)
  const code = (offset = 0) => codeAt(secret, Math.floor(auth.services.now() / period) + offset, 'SHA1')
  const proof = { username: 'admin', issuer: 'w', secret: made.json.secret_base32, token: code() }
  assert.equal((await asSuper('POST', '/realms/_/totp/verify?realm=_', proof)).status, 200)
  auth.clock.advance(period)
  const wrong = () => ['000000', '000001', '000002', '000003'].find((each) => isNoCode(each)) ?? ''
  const isNoCode = (text: string) => [-1, 0, 1].every((offset) => code(offset) !== text)
  const { db, seal, config } = auth.services
  return {
    code,
    wrong,
    recover: (password: string, changePassword: boolean) =>
      recoverAdmin({
        ...{ db, seal, config, now: auth.services.now() * 1000, id: 'admin', by: 'root' },
        ...{ password, changePassword, removeTotp: false },
      }),
    async logIn(password: string, totp_code?: string) {
      const { status, json } = await auth.call('POST', '/login?realm=_', {
        ...{ basic: `admin:${password}`, json: { totp_code } },
      })
      return [status, json.next_step]
    },
    change: async (password: string, new_password: string, totp_code?: string) =>
      (
        await auth.call('POST', '/password?realm=_', {
          ...{ basic: `admin:${password}`, json: { new_password, totp_code } },
        })
      ).status,
  }
}

describe('recovery of an administrator with a second factor', () => {
  it('forces a password change that requires codes, each of which is accepted once', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { code, wrong, recover, logIn, change } = await enrolled(auth)
    const [given, chosen] = ['the password of a recovery', 'a password that the user chose']
    assert.deepEqual(await recover(given, true), { keepsTotp: true })
    assert.deepEqual(await logIn('correct horse', code()), [401, undefined])

    assert.deepEqual(await logIn(given), [200, 'TotpRequired'])
    assert.deepEqual(await logIn(given, wrong()), [401, undefined])
    assert.deepEqual(await logIn(given, code()), [200, 'ChangePassword'])
    assert.equal(await change(given, chosen), 401, 'without a code')
    assert.equal(await change(given, chosen, wrong()), 401)
    assert.equal(await change(given, chosen, code()), 401, 'the login used this code up')
    // The name is throttled after so many failures.
    auth.clock.advance(1200)
    assert.deepEqual(await logIn(given), [200, 'TotpRequired'], 'nothing was changed')
    assert.equal(await change(given, chosen, code()), 204)
    assert.deepEqual(await logIn(chosen, code()), [401, undefined], 'the change used this code up')
    auth.clock.advance(period)
    assert.deepEqual(await logIn(given, code()), [401, undefined], 'the password of the recovery has ended')
    assert.deepEqual(await logIn(chosen, code()), [200, 'Authenticated'])
  })

  it('requires the correct code where the password is kept', async () => {
    await using auth = await startAuth({ adminPassword: 'correct horse' })
    const { code, wrong, recover, logIn } = await enrolled(auth)
    const given = 'the password of a recovery'
    await recover(given, false)
    assert.deepEqual(await logIn(given), [200, 'TotpRequired'])
    assert.deepEqual(await logIn(given, wrong()), [401, undefined])
    assert.deepEqual(await logIn('correct horse', code()), [401, undefined])
    assert.deepEqual(await logIn(given, code()), [200, 'Authenticated'])
    assert.deepEqual(await logIn(given, code()), [401, undefined], 'once')
  })
})
