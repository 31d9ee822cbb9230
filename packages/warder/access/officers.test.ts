import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logInUser, newUser, type RunOptions, runInProcess } from '../testing/in-process.ts'
import { startInstallation } from '../testing/installation.ts'

test('where crypto officers are named, they decide who makes keys, and look after keys without using them', async () => {
  const warder = await startInstallation({ env: { KMS_ROLES_CRYPTO_OFFICER_USERS: 'admin' } })
  try {
    const officer = await logInUser(warder, 'admin', warder.password)
    const bob = await newUser(warder, 'bob')
    const run = (token: string, words: string[], options: RunOptions = {}) =>
      runInProcess(warder, words, { token, ...options })
    const create = ['keys', 'create', '--alg', 'A256GCM', '--json']

    assert.match((await run(officer, ['access', 'me'])).out, /^crypto officer +yes$/m)
    assert.match((await run(bob, ['access', 'me'])).out, /^may create keys +no: a crypto officer decides/m)
    const refused = await run(bob, create)
    assert.equal(refused.code, 1)
    assert.match(
      refused.err,
      /Crypto officers decide who may create keys here; .*warder access grant-create USER/,
    )
    assert.match((await run(bob, ['access', 'grant-create', 'bob'])).err, /your own rights/)
    assert.match((await run(bob, ['access', 'grant-create', 'carl'])).err, /forbidden/)

    assert.equal((await run(officer, ['access', 'grant-create', 'bob'])).code, 0)
    const { kid } = JSON.parse((await run(bob, create)).out)
    assert.equal((await run(officer, ['keys', 'show', kid])).code, 0)
    const use = await run(officer, ['crypto', 'encrypt-data', '--key', kid], { input: Buffer.from('x') })
    assert.match(use.err, /forbidden/)
    assert.equal((await run(officer, ['access', 'grant', kid, 'carl', 'encrypt', '--anyway'])).code, 0)

    const search = ['audit', 'find', '--principal', 'bob', '--operation', 'access.grant']
    assert.match(
      (await run(bob, search)).err,
      /Crypto officers .* grant the right: warder access grant-audit/,
    )
    assert.match((await run(bob, ['access', 'grant-audit', 'bob'])).err, /your own rights/)
    assert.match((await run(officer, ['access', 'grant-audit', '*'])).err, /bad_request/)
    assert.match((await run(officer, ['access', 'grant-audit', 'bbo'])).err, /bbo/)
    assert.match((await run(officer, ['access', 'grant-audit', 'bob'])).out, /^bob may read the audit log/)
    assert.match((await run(bob, search)).out, /^TIME.*\n\S+ +bob +access\.grant /)
    const byRole = await run(officer, ['access', 'grant-audit', 'role:corp/auditor', '--json'])
    assert.deepEqual(JSON.parse(byRole.out), { grant: ['audit'], user: 'role:corp/auditor' })
    assert.equal((await run(officer, ['access', 'revoke-audit', 'bob'])).code, 0)
    assert.equal((await run(bob, search)).code, 1)

    assert.equal((await run(officer, ['access', 'revoke-create', 'bob'])).code, 0)
    assert.equal((await run(bob, create)).code, 1)
    assert.equal((await run(bob, ['keys', 'show', kid])).code, 0, 'what was made stays')
    assert.equal((await run(officer, ['keys', 'destroy', kid, '--yes'])).code, 0)
  } finally {
    await warder.stop()
  }
})
