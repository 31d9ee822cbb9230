import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { it } from 'node:test'
import { fromBase32 } from '../../base32.ts'
import { scene } from '../../testing/scene.ts'
import { startAuth } from '../../testing/start.ts'

/** An independent implementation of RFC 6238: the code that an authenticator app computes from the otpauth URL. */
function appCode(url: URL, unixSeconds: number): string {
  const read = (name: string): string => url.searchParams.get(name) ?? ''
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(unixSeconds / Number(read('period')))))
  const mac = createHmac(read('algorithm'), fromBase32(read('secret')) ?? '')
    .update(counter)
    .digest()
  const at = (mac[mac.length - 1] ?? 0) & 15
  return String((mac.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(Number(read('digits')), '0')
}

it('apps that read the otpauth URL log in with every algorithm and step; a change of the realm keeps enrollments', async () => {
  await using auth = await startAuth({ adminPassword: 'correct horse' })
  const { asSuper, realm, user } = scene(auth)
  const passwords = { username_password_params: { allow_expired_passwords: false } }
  const cases = [
    [undefined, 'SHA1', 30],
    [{}, 'SHA1', 30],
    [{ algorithm: 'sha1', step: 15 }, 'SHA1', 15],
    [{ algorithm: 'SHA256' }, 'SHA256', 30],
    [{ algorithm: 'SHA512', step: 60 }, 'SHA512', 60],
  ] as const
  for (const [index, [totp_params, algorithm, step]] of cases.entries()) {
    const id = `r${index}`
    await realm(id, { auth_params: { ...passwords, totp_params } })
    await user(id, 'zoë & co')
    const made = await asSuper('POST', `/realms/${id}/totp/generate`, {
      username: 'zoë & co',
      issuer: 'Shop: 1&2',
    })
    const url = new URL(made.json.otpauth_url)
    // An issuer with a colon is only in the parameter.
    assert.equal(decodeURIComponent(url.pathname), '/zoë & co')
    assert.equal(url.searchParams.get('issuer'), 'Shop: 1&2')
    assert.deepEqual(
      ['algorithm', 'digits', 'period'].map((name) => url.searchParams.get(name)),
      [algorithm, '6', String(step)],
    )
    const proof = {
      username: 'zoë & co',
      token: appCode(url, auth.services.now()),
      secret: made.json.secret_base32,
      issuer: 'x',
    }
    assert.equal((await asSuper('POST', `/realms/${id}/totp/verify`, proof)).status, 200)
    const ages = { session_max_age_seconds: 9, session_max_stale_age_seconds: 9 }
    const other = { ...ages, auth_params: { ...passwords, totp_params: { algorithm: 'SHA1', step: 300 } } }
    assert.equal((await asSuper('PUT', `/admins/realms/${id}`, other)).status, 200)
    auth.clock.advance(step)
    const login = await auth.call('POST', `/login?realm=${id}`, {
      basic: 'zoë & co:correct horse',
      json: { totp_code: appCode(url, auth.services.now()) },
    })
    assert.equal(login.json.next_step, 'Authenticated', `${algorithm} ${step}`)
  }
})
